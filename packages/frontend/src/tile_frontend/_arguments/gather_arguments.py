"""Build `T.tile.gather_mask` with a pattern or a buffer of indices."""

from __future__ import annotations

from typing import Any

from tile_frontend._arguments.build_op import build_op, first_elements, region_of
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import python_number
from tile_frontend._tracing.values import Pending
from tile_ir import OPS


def gather_mask(dst: Any, src: Any, pattern: Any) -> Pending:
    # A buffer in the place of the pattern holds indices of elements. With a number, as in earlier
    # versions, the indices of so many (value, index) pairs are kept.
    count, name = python_number(pattern), "tile.gather_mask"
    if isinstance(count, int):
        region = region_of(src)
        src, pattern = None if region is None else first_elements(region, 2 * count), "P1010"
        if src is None:
            message = f"gather_mask: src does not hold {count} pairs one behind the other"
            hint = 'a pattern like "P1010" keeps every second element'
            raise Fault("count-range", message, hint, "pattern")
    if isinstance(pattern, str):
        return build_op(OPS["gather_mask"], {"dst": dst, "src": src, "pattern": pattern}, name)
    return build_op(OPS["gather_elements"], {"dst": dst, "src": src, "index": pattern}, name)
