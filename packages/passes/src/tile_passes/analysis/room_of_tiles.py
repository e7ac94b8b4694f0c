"""Judge whether tiles have room before it is known where they lie."""

from __future__ import annotations

from collections import Counter

from tile_ir import (
    OPS,
    For,
    Func,
    Memory,
    Stmt,
    Store,
    Target,
    buffer_bytes,
    loads,
    walk,
    walk_ops,
)
from tile_ir.analysis import constant_trips
from tile_passes.parallel.nest_form import is_parallel

# Versions of a tile that loads and stores overlap with the work on; what is loaded has two.
VERSIONS = {Memory.L1: 2, Memory.L0C: 1, Memory.UB: 1}

# The part of ub that expressions of T.Parallel keep: what has no room as a whole is computed in
# parts of it, which instructions of a few KB are (docs/hardware/units.md#repeats).
OWN_SHARE = 1 / 8


def overfull(func: Func, target: Target, own_share: float = OWN_SHARE) -> set[Memory]:
    """The memories where not all tiles lie side by side, and what is loaded twice, with room for
    values between operations, a part of ub."""
    used: Counter[Memory] = Counter()
    loaded = {
        op.region("dst").buffer
        for op in walk_ops(func.launch.body)
        if op.opdef is OPS["copy"] and op.region("src").memory is Memory.GM
    }
    for alloc in func.launch.allocs:
        memory = alloc.buffer.memory
        if alloc.alias_of is None and memory in target.capacity:
            versions = 2 if alloc.buffer in loaded else VERSIONS.get(memory, 1)
            used[memory] += versions * buffer_bytes(alloc)
    staged = [_staged_bytes(s) for s in walk(func.launch.body) if is_parallel(s)]
    used[Memory.UB] += max(staged, default=0)
    room = {memory: target.capacity[memory] for memory in used}
    if Memory.UB in room and any(map(is_parallel, walk(func.launch.body))):
        room[Memory.UB] -= int(room[Memory.UB] * own_share)
    return {memory for memory, size in used.items() if size > room.get(memory, 0)}


def _staged_bytes(nest: Stmt) -> int:
    """Of the tiles for elements of gm that a nest of T.Parallel loads: one is filled while the
    other is read, and their values have one more."""
    count, most = 1, 0
    for stmt in walk((nest,)):
        match stmt:
            case For():
                count *= constant_trips(stmt) or 1
            case Store(buffer=buffer) if buffer.memory is not Memory.GM:
                loaded = {e.buffer for e in loads(stmt) if e.buffer.memory is Memory.GM}
                sizes = [2 * b.dtype.size for b in loaded]
                most = max(most, max(sizes) + buffer.dtype.size if sizes else 0)
    return count * most
