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
from tile_ir import OPS, Diagnostic, Region, warn
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
            first = {name: first_elements(region_of(given[name]), number) for name in names}
            if None not in first.values():
                given = {**given, **first, "count": None}
        return build_op(self.opdef, given, self.__name__)

    def _checked(self, given: dict[str, Any], names: list[str], count: int) -> int:
        """The count, which no operand is shorter than. The switch `lax_calls` limits it to the
        length of the shortest operand instead. Some scripts need that: they give the size of the
        tensor for that of the tile, for a compiler that does not compare the two."""
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
                hint = f"write 1 to {total}"
                raise Fault("count-range", message, hint, argument="count")
        return count


def _from_elements(given: dict[str, Any], names: list[str]) -> dict[str, Region]:
    """Operands of which some are elements: each from there on, as much as all of them have."""
    found = {name: r for name in names if (r := region_of(given[name])) is not None}
    shapes = [r.static_extents() for r in found.values()]
    if None in shapes:
        return found
    least = min(math.prod(extents or ()) for extents in shapes)
    return {name: first_elements(r, least) or r for name, r in found.items()}


def gather_mask(dst: Any, src: Any, pattern: Any) -> Pending:
    # A buffer in the place of the pattern holds indices of elements. With a count, as in earlier
    # versions, the indices of so many (value, index) pairs are kept.
    count, name = python_number(pattern), "tile.gather_mask"
    if isinstance(count, int):
        src, pattern = first_elements(region_of(src), 2 * count), "P1010"
        if src is None:
            message = f"gather_mask: src does not hold {count} pairs one behind the other"
            hint = 'a pattern like "P1010" keeps every second element'
            raise Fault("count-range", message, hint, "pattern")
    if isinstance(pattern, str):
        return build_op(OPS["gather_mask"], {"dst": dst, "src": src, "pattern": pattern}, name)
    return build_op(OPS["gather_elements"], {"dst": dst, "src": src, "index": pattern}, name)
