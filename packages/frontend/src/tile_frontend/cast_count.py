"""`T.tile.cast` with a count: the first `count` elements of both sides as regions."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend.calls import MISSING, OpFunction, bind, build_op
from tile_frontend.faults import Fault
from tile_frontend.first_elements import first_elements
from tile_frontend.values import Pending, Scalar, Tile, View, python_number
from tile_ir import OPS, Region


class CastFunction(OpFunction):
    """Type conversion; a Python count becomes the shape of the operands."""

    def __init__(self) -> None:
        super().__init__(OPS["cast"])

    def __call__(self, *args: Any, **kwargs: Any) -> Pending:
        given = bind(self, args, kwargs)
        count = given.get("count", MISSING)
        number = python_number(count)
        if isinstance(count, Scalar) or not isinstance(number, int):
            return build_op(self.opdef, given, self.__name__)
        sides = {name: _first(given[name], number, name) for name in ("dst", "src")}
        if None not in sides.values():
            given = {**given, **sides, "count": None}
        return build_op(self.opdef, given, self.__name__)


def _first(value: Any, count: int, name: str) -> Region | None:
    """The first `count` elements as a region, or None if they are no box of the buffer."""
    match value:
        case Tile():
            region = Region.whole(value.buffer)
        case View(region=region):
            pass
        case _:
            return None
    extents = region.static_extents()
    if extents is None:
        return None
    total = math.prod(extents)
    if not 0 < count <= total:
        raise Fault(
            "cast-count",
            f"cast: count is {count}, but {name} `{region.buffer.name}` has {total} elements",
            argument="count",
        )
    return first_elements(region, count)
