"""`T.tile`: vector operations, destination first. Generated from the op table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend import gather_arguments, sort_arguments
from tile_frontend.broadcast_arguments import BroadcastFunction
from tile_frontend.calls import table_functions, with_older_names
from tile_frontend.copy_extents import atomic_add
from tile_frontend.counted_call import CountedFunction
from tile_frontend.online_softmax import softmax_flash_v2
from tile_frontend.reduce_arguments import NAMES as REDUCTIONS
from tile_frontend.reduce_arguments import reduction
from tile_frontend.removed_names import advice
from tile_frontend.row_sums import sum_experiment
from tile_frontend.window_arguments import im2col
from tile_ir import OPS

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **table_functions("tile", OPS),
    **{
        name: CountedFunction(opdef)
        for name, opdef in OPS.items()
        if opdef.namespace == "tile"
        and any(o.name == "count" and o.optional for o in opdef.operands)
    },
    **gather_arguments.FUNCTIONS,
    **sort_arguments.FUNCTIONS,
    "broadcast": BroadcastFunction(),
    "softmax_flash_v2": softmax_flash_v2,
    "sum_experiment": sum_experiment,
    "atomic_add": atomic_add,
    "im2col": im2col,
}
# As plain attributes, so that `T.tile.max` costs nothing and `from ... import` works.
globals().update(with_older_names(_FUNCTIONS, "tile"))
# Earlier versions have the reductions and the scale of a cast here.
globals().update({name: reduction(name) for name in REDUCTIONS})
globals()["set_deq_scale"] = table_functions("", OPS)["set_deq_scale"]
__all__ = sorted(_FUNCTIONS)


def __getattr__(name: str) -> Callable[..., Any]:
    instead = advice(__name__, name)
    raise AttributeError(f"T.tile has no operation `{name}`{f': {instead}' if instead else ''}")


def __dir__() -> list[str]:
    return list(__all__)
