"""Find the room of ub that is in use while a statement runs, and that versions of tiles need.
Buffers that hold nothing then may share their bytes with tiles of the compiler's."""

from __future__ import annotations

from tile_ir import BLOCK_BYTES, Func, Memory, Op, Stmt, accesses, buffer_bytes, round_up, walk
from tile_passes.analysis.live_ranges import interfere
from tile_passes.analysis.liveness import liveness


def bytes_of_versions(func: Func) -> int:
    """The bytes of ub that second versions of the tiles loaded from gm take."""
    loaded = {
        write.buffer
        for stmt in walk(func.launch.body)
        if isinstance(stmt, Op)
        for write, access in accesses(stmt)
        if access.writes and write.memory is Memory.UB
        if any(r.memory is Memory.GM for r, other in accesses(stmt) if other.reads)
    }
    return sum(
        round_up(buffer_bytes(a), BLOCK_BYTES) for a in func.launch.allocs if a.buffer in loaded
    )


def busy_bytes(func: Func) -> dict[Stmt, int]:
    """For each statement the bytes of ub that hold something at some time of it, each buffer of the
    function counted once."""
    static = [a for a in func.launch.allocs if a.buffer.static_shape() is not None]
    live = liveness(static, func.launch.body)
    sizes = [
        round_up(buffer_bytes(a), BLOCK_BYTES) if a.buffer.memory is Memory.UB else 0
        for a in live.buffers
    ]
    found: dict[Stmt, int] = {}
    for first, point in enumerate(live.points):
        last = first + sum(1 for _ in walk((point.stmt,))) - 1
        held = zip(sizes, live.ranges, strict=True)
        used = sum(size for size, ranges in held if interfere(ranges, ((first, last),)))
        found[point.stmt] = max(used, found.get(point.stmt, 0))
    return found
