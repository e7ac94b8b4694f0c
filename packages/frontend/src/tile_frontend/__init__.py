"""The tile language for Ascend NPUs: `import tile_frontend as T`.

The names are those of `language.NAMES`; compiling and running (`T.jit`, `T.compile`, ...) belong
to `tile_runtime`, which is imported when one of them is first used.
"""

from __future__ import annotations

from typing import Any

from tile_frontend import tile
from tile_frontend.calls import with_older_names
from tile_frontend.first_versions import with_operations
from tile_frontend.language import NAMES
from tile_frontend.removed_names import advice
from tile_ir.uncaught import show_errors_plainly

globals().update(with_older_names(with_operations(NAMES, tile), ""))
show_errors_plainly()

HOST_NAMES = (
    "JITKernel", "PassConfigKey", "cache", "compile", "disable_cache", "enable_cache", "jit",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in HOST_NAMES:
        from importlib import import_module

        return getattr(import_module("tile_runtime"), name)
    # Python and IPython ask every module for names of their own: `__path__`, `_repr_html_`.
    asked = name.startswith("__") or name.endswith("_")
    instead = None if asked else advice(__name__, name)
    if instead is not None:
        raise AttributeError(f"T.{name} does not exist: {instead}")
    raise AttributeError(f"module 'tile_frontend' has no attribute {name!r}")


__all__ = sorted({*NAMES, *HOST_NAMES})


def __dir__() -> list[str]:
    return list(__all__)
