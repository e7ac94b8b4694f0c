"""`T.tile`: vector operations, destination first. Generated from the op table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend import gather_arguments
from tile_frontend.calls import table_functions
from tile_frontend.cast_count import CastFunction
from tile_frontend.copy_extents import atomic_add
from tile_ir import OPS

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **table_functions("tile", OPS),
    "cast": CastFunction(),
    **gather_arguments.FUNCTIONS,
    "atomic_add": atomic_add,
}
# As plain attributes, so that `T.tile.max` costs nothing and `from ... import` works.
globals().update(_FUNCTIONS)


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"T.tile has no operation `{name}`")


def __dir__() -> list[str]:
    return sorted(_FUNCTIONS)
