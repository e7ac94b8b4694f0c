"""Operations with a count: the first `count` elements of every operand as regions."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend.calls import MISSING, OpFunction, bind, build_op
from tile_frontend.faults import Fault
from tile_frontend.first_elements import first_elements
from tile_frontend.values import Pending, Scalar, Tile, View, python_number
from tile_ir import OpDef, Region

# Where scripts have to say how many elements are meant.
COUNT_OPTIONAL = ("cast",)


class CountedFunction(OpFunction):
    """An operation with a count; a Python number becomes the shape of the operands, where that is a
    box of the buffer."""

    def __init__(self, opdef: OpDef) -> None:
        super().__init__(opdef)
        self.buffers = tuple(
            o.name for o in opdef.operands if o.memories and o.name in self.parameters
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Pending:
        given = bind(self, args, kwargs)
        count = given.get("count", MISSING)
        if count is MISSING and self.opdef.name not in COUNT_OPTIONAL:
            raise Fault(
                "arity",
                f"T.{self.__name__} misses `count`",
                f"it takes {', '.join(self.parameters)}",
            )
        number = python_number(count)
        if isinstance(count, Scalar) or not isinstance(number, int):
            return build_op(self.opdef, given, self.__name__)
        sides = {name: self.first(given[name], number, name) for name in self.buffers}
        if None not in sides.values():
            given = {**given, **sides, "count": None}
        return build_op(self.opdef, given, self.__name__)

    def first(self, value: Any, count: int, name: str) -> Region | None:
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
                "count-range",
                f"{self.opdef.name}: count is {count}, but {name} `{region.buffer.name}` has "
                f"{total} elements",
                argument="count",
            )
        return first_elements(region, count)
