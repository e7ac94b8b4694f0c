"""Build operations with a count: the first `count` elements of every operand as regions."""

from __future__ import annotations

import math
from typing import Any

from tile_frontend._arguments.build_op import build_op, first_elements, region_of
from tile_frontend._arguments.op_functions import OpFunction
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import Diagnostic, Region, warn
from tile_ir.switches import switch


class CountedFunction(OpFunction):
    """An operation with a count; a Python number becomes the shape of the operands, where that is a
    box of the buffer."""

    def build(self, given: dict[str, Any]) -> Pending:
        names = [o.name for o in self.opdef.operands if o.memories and o.name in given]
        if any(isinstance(given[name], Scalar) for name in names):
            given = {**given, **_from_elements(given, names)}
        number = python_number(given.get("count"))
        if not isinstance(given.get("count"), Scalar) and isinstance(number, int):
            number = self._checked(given, names, number)
            first = {name: _first(given[name], number) for name in names}
            if None not in first.values():
                given = {**given, **first, "count": None}
        return build_op(self.opdef, given, self.__name__)

    def _checked(self, given: dict[str, Any], names: list[str], count: int) -> int:
        """The count, which no operand is shorter than. With the switch `lax_calls` no more than the
        shortest operand has: scripts written for a compiler that does not compare the two give the
        size of the tensor where that of the tile is meant."""
        rooms = {
            name: (region, math.prod(extents))
            for name in names
            if (region := region_of(given[name])) and (extents := region.static_extents())
        }
        least = min((total for _, total in rooms.values()), default=count)
        if switch("lax_calls") and count > least:
            message = f"{self.opdef.name}: count is {count}, but only {least} elements are there"
            here = current(f"T.{self.__name__}").here
            warn([Diagnostic("count-range", message, here, severity="warning")])
            count = least
        for name, (region, total) in rooms.items():
            if not 0 < count <= total:
                message = f"{self.opdef.name}: count is {count}, but {name} `{region.buffer.name}` "
                message += f"has {total} elements"
                raise Fault("count-range", message, argument="count")
        return count


def _from_elements(given: dict[str, Any], names: list[str]) -> dict[str, Region]:
    """Operands of which some are elements: each from there on, as much as all of them have."""
    found = {name: r for name in names if (r := region_of(given[name])) is not None}
    shapes = [r.static_extents() for r in found.values()]
    if None in shapes:
        return found
    least = min(math.prod(extents or ()) for extents in shapes)
    return {name: first_elements(r, least) or r for name, r in found.items()}


def _first(value: Any, count: int) -> Region | None:
    """The first `count` elements as a region, or None if they are no box of the buffer."""
    region = region_of(value)
    return None if region is None else first_elements(region, count)
