"""Operations with a count: the first `count` elements of every operand as regions."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend.arguments.first_elements import first_elements
from tile_frontend.arguments.op_functions import MISSING, OpFunction, build_op
from tile_frontend.tracing.faults import Fault
from tile_frontend.tracing.scalars import Scalar, python_number
from tile_frontend.tracing.subscripts import View
from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Pending, Tile
from tile_ir import Const, Diagnostic, Load, OpDef, Region, Slice, is_constant, simplify, warn
from tile_ir.switches import switch

# Where scripts have to say how many elements are meant.
COUNT_OPTIONAL = ("cast",)


class CountedFunction(OpFunction):
    """An operation with a count; a Python number becomes the shape of the operands, where that is a
    box of the buffer."""

    def __init__(self, opdef: OpDef) -> None:
        super().__init__(opdef)
        self.buffer_names = tuple(
            o.name for o in opdef.operands if o.memories and o.name in self.parameters
        )

    def default(self, name: str) -> Any:
        needed = name == "count" and self.opdef.name not in COUNT_OPTIONAL
        return MISSING if needed else super().default(name)

    def build(self, given: dict[str, Any]) -> Pending:
        count = given.get("count", MISSING)
        if count is MISSING and self.default("count") is MISSING:
            raise Fault(
                "arity",
                f"T.{self.__name__} misses `count`",
                f"it takes {', '.join(self.parameters)}",
            )
        number = python_number(count)
        if any(isinstance(given[name], Scalar) for name in self.buffer_names):
            given = {**given, **self.from_elements(given)}
        if isinstance(count, Scalar) or not isinstance(number, int):
            return build_op(self.opdef, given, self.__name__)
        if switch("lax_calls"):
            number = self.at_most_all(given, number)
        sides = {name: self.first(given[name], number, name) for name in self.buffer_names}
        if None not in sides.values():
            given = {**given, **sides, "count": None}
        return build_op(self.opdef, given, self.__name__)

    def from_elements(self, given: dict[str, Any]) -> dict[str, Region]:
        """Operands of which some are elements: each from there on, as much as all of them have."""
        found = {name: r for name in self.buffer_names if (r := region_of(given[name])) is not None}
        shapes = [r.static_extents() for r in found.values()]
        if None in shapes:
            return found
        least = min(math.prod(extents or ()) for extents in shapes)
        return {name: first_elements(r, least) or r for name, r in found.items()}

    def at_most_all(self, given: dict[str, Any], count: int) -> int:
        """The count, but no more than the smallest operand has: scripts written for a compiler that
        does not compare the two give the size of the tensor where that of the tile is meant."""
        shapes = [r.static_extents() for name in self.buffer_names if (r := region_of(given[name]))]
        room = min((math.prod(extents) for extents in shapes if extents is not None), default=count)
        if count <= room:
            return count
        message = f"{self.opdef.name}: count is {count}, but only {room} elements are there"
        here = current(f"T.{self.__name__}").here
        warn([Diagnostic("count-range", message, here, severity="warning")])
        return room

    def first(self, value: Any, count: int, name: str) -> Region | None:
        """The first `count` elements as a region, or None if they are no box of the buffer."""
        region = region_of(value)
        if region is None:
            return None
        extents = region.static_extents()
        if extents is None:
            return None
        total = math.prod(extents)
        if not 0 < count <= total:
            raise Fault(
                "count-range",
                f"{self.opdef.name}: count is {count}, but {name} `{region.buffer.name}` has "
                f"{total} elements",
                argument="count",
            )
        return first_elements(region, count)


def region_of(value: Any) -> Region | None:
    """The region an operand stands for: an element means all from there on."""
    match value:
        case Region():
            return value
        case Tile():
            return Region.whole(value.buffer)
        case View(region=region):
            return region
        case Scalar(expr=Load() as load) if load.indices:
            return _from(load)
    return None


def _from(load: Load) -> Region:
    """The elements from one on, as far as they are a box of the buffer: behind the last index that
    is not zero, everything."""
    last = max((d for d, i in enumerate(load.indices) if not is_constant(i, 0)), default=0)
    dims = []
    for d, (index, size) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
        extent = Const(1) if d < last else simplify(size - index)
        dims.append(Slice(index, extent))
    return Region(load.buffer, tuple(dims))
