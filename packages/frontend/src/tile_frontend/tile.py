"""`T.tile`: vector operations, destination first. Generated from the op table."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from tile_frontend._arguments import counted_call as _counted
from tile_frontend._arguments import sort_arguments as _sort
from tile_frontend._arguments.atomic_arguments import FUNCTIONS as _ATOMICS
from tile_frontend._arguments.fill_arguments import FUNCTIONS as _FILLS
from tile_frontend._arguments.image_columns import FUNCTIONS as _IMAGES
from tile_frontend._arguments.online_softmax import softmax_flash_v2 as _softmax_flash_v2
from tile_frontend._arguments.op_functions import OpFunction as _OpFunction
from tile_frontend._arguments.op_functions import table_functions as _table_functions
from tile_frontend._arguments.reduce_arguments import FUNCTIONS as _REDUCTIONS
from tile_frontend._arguments.turn_arguments import FUNCTIONS as _TURNS
from tile_frontend._dialects.known import advice as _advice_on
from tile_frontend._dialects.known import with_spellings as _with_spellings
from tile_ir import OPS as _OPS

_FUNCTIONS: dict[str, _Callable[..., _Any]] = {
    **_table_functions("tile", _OPS),
    **{
        name: _counted.CountedFunction(opdef)
        for name, opdef in _OPS.items()
        if opdef.namespace == "tile"
        and any(o.name == "count" and o.optional for o in opdef.operands)
    },
    **_sort.FUNCTIONS,
    **_FILLS,
    **_TURNS,
    **_IMAGES,
    **_ATOMICS,
    "gather_mask": _OpFunction(_OPS["gather_mask"], _counted.gather_mask, buffers=3),
    "softmax_flash_v2": _softmax_flash_v2,
}
# As plain attributes, so that `T.tile.max` costs nothing and `from ... import` works.
globals().update(_with_spellings(_FUNCTIONS, "tile"))
# Earlier versions have the reductions and the scale of a cast here.
globals().update({name: f for name, f in _REDUCTIONS.items() if name != "reduce"})
globals()["set_deq_scale"] = _table_functions("", _OPS)["set_deq_scale"]
__all__ = sorted(_FUNCTIONS)


def __getattr__(name: str) -> _Callable[..., _Any]:
    instead = _advice_on(__name__, name)
    raise AttributeError(f"T.tile has no operation `{name}`{f': {instead}' if instead else ''}")


def __dir__() -> list[str]:
    return list(__all__)
