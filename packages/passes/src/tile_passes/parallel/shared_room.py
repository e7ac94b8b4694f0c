"""What is in use of a memory while a statement runs: buffers that hold nothing then may share their
bytes with tiles of the compiler's."""

from __future__ import annotations

from functools import reduce
from operator import or_

from tile_ir import BLOCK_BYTES, Func, Memory, Stmt, buffer_bytes, round_up, walk
from tile_passes.analysis.liveness import liveness


def busy_bytes(func: Func) -> dict[Stmt, int]:
    """For each statement the bytes of ub that hold something at some time of it, each buffer of the
    function counted once."""
    static = [a for a in func.launch.allocs if a.buffer.static_shape() is not None]
    live = liveness(static, func.launch.body)
    sizes = [
        round_up(buffer_bytes(a), BLOCK_BYTES) if a.buffer.memory is Memory.UB else 0
        for a in live.buffers
    ]
    held = [0] * len(live.points)
    for number, ranges in enumerate(live.ranges):
        for low, high in ranges:
            for at in range(low, high + 1):
                held[at] |= 1 << number
    found: dict[Stmt, int] = {}
    for at, point in enumerate(live.points):
        inside = sum(1 for _ in walk((point.stmt,)))
        now = reduce(or_, held[at : at + inside])
        used = sum(size for number, size in enumerate(sizes) if now >> number & 1)
        found[point.stmt] = max(used, found.get(point.stmt, 0))
    return found
