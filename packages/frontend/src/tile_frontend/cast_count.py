"""`T.tile.cast` with a count: the first `count` elements of both sides as regions."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend.calls import MISSING, OpFunction, bind, build_op
from tile_frontend.faults import Fault
from tile_frontend.values import Pending, Scalar, Tile, View, python_number
from tile_ir import OPS, Region, Slice
from tile_ir.expr import Const
from tile_ir.geometry import is_contiguous


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
    if count == total:
        return region
    if not 0 < count <= total:
        raise Fault(
            "cast-count",
            f"cast: count is {count}, but {name} `{region.buffer.name}` has {total} elements",
            argument="count",
        )
    if not is_contiguous(region):
        return None
    for dim in range(len(extents)):
        inner = math.prod(extents[dim + 1 :])
        if count % inner == 0 and count // inner <= extents[dim]:
            return _cut(region, dim, count // inner)
    return None


def _cut(region: Region, dim: int, size: int) -> Region:
    """One index in front of `dim`, `size` of it, everything behind."""
    dims = (
        *(Slice(s.offset, Const(1)) for s in region.dims[:dim]),
        Slice(region.dims[dim].offset, Const(size)),
        *region.dims[dim + 1 :],
    )
    return Region(region.buffer, dims)
