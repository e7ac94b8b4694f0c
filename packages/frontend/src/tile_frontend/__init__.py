"""Provide the tile language for Ascend NPUs: `import tile_frontend as T`.

The names are those of `_symbols.NAMES`; compiling and running (`T.jit`, `T.compile`, ...) belong
to `tile_runtime`, which is imported when one of them is first used.
"""

from typing import Any as _Any

from tile_frontend import tile as _tile
from tile_frontend._arguments.op_functions import with_operations as _with_operations
from tile_frontend._dialects.known import advice as _advice_on
from tile_frontend._dialects.known import with_spellings as _with_spellings
from tile_frontend._symbols import GPU_NAMES as _GPU_NAMES
from tile_frontend._symbols import NAMES as _NAMES
from tile_frontend._symbols import NEXT_CHIP_NAMES as _NEXT_CHIP_NAMES
from tile_frontend._symbols import RANK_NAMES as _RANK_NAMES
from tile_frontend._symbols import of_gpus as _of_gpus
from tile_ir.diagnostics.uncaught import show_errors_plainly as _show_errors_plainly

globals().update(
    _GPU_NAMES
    | _NEXT_CHIP_NAMES
    | _RANK_NAMES
    | _with_spellings(_with_operations(_NAMES, _tile), "")
)
_show_errors_plainly()

_HOST_NAMES = (
    "AutoTuner", "JITKernel", "PassConfigKey", "autotune", "cache", "compile", "disable_cache",
    "do_bench", "enable_cache", "jit", "perf_report", "set_autotune_inputs",
)  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _HOST_NAMES:
        from importlib import import_module

        return getattr(import_module("tile_runtime"), name)
    found = _of_gpus(name)
    if found is not None:
        return found
    # Python and IPython ask every module for names of their own: `__path__`, `_repr_html_`.
    asked = name.startswith("__") or name.endswith("_")
    instead = None if asked else _advice_on(__name__, name)
    if instead is not None:
        raise AttributeError(f"T.{name} does not exist: {instead}")
    raise AttributeError(f"module 'tile_frontend' has no attribute {name!r}")


__all__ = sorted({*_NAMES, *_HOST_NAMES})


def __dir__() -> list[str]:
    return list(__all__)
