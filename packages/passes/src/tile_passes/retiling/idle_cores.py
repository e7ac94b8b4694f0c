"""Blocks that leave cores idle: some rows of their tiles become blocks of their own."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Func, Target, constant_value
from tile_passes.clock.block_work import BlockWork
from tile_passes.retiling.block_axis import Against
from tile_passes.retiling.rows_alone import RowsAlone, rows_alone
from tile_passes.retiling.split_tiles import in_parts

# What the launch must gain at least, as a part of its time and in cycles: nobody asked for it, the
# model is a rough one, and launches of a few microseconds mostly wait for their start.
LEAST_GAIN, LEAST_CYCLES = 0.8, 4000


def with_more_blocks(func: Func, target: Target) -> Func:
    """The function with some rows of a tile for each block, in as many blocks as are modelled
    fastest, at most one for each core; or itself. Every row is computed as before."""
    count = constant_value(func.launch.blocks)
    if count is None or 2 * count > target.cube_cores:
        return func
    before = _cycles(func, count, target)
    best, least = func, min(LEAST_GAIN * before, before - LEAST_CYCLES)
    if least <= 0:
        return func
    for rows in _choices(func, target):
        for parts in range(2, target.cube_cores // count + 1):
            if rows.size % parts:
                continue
            try:
                new = in_parts(func, rows, parts, target)
            except Against:
                continue
            after = _cycles(new, count * parts, target)
            if after < least:
                best, least = new, after
    return best


def _choices(func: Func, target: Target) -> Iterator[RowsAlone]:
    """Rows of tiles that no other rows are needed for, in the whole kernel."""
    seen: list[RowsAlone] = []
    for alloc in func.launch.allocs:
        if alloc.buffer.memory not in target.capacity or alloc.buffer.static_shape() is None:
            continue
        for dim in range(alloc.buffer.rank):
            if any((alloc.buffer, dim) in other.dims for other in seen):
                continue
            try:
                rows = rows_alone(func, func.launch.body, alloc.buffer, dim)
            except Against:
                continue
            seen.append(rows)
            yield rows


def _cycles(func: Func, blocks: int, target: Target) -> float:
    """Of a block while so many run, which share the bandwidth."""
    lanes = 2 if func.launch.threads == 2 else 1
    return BlockWork(func, target, lanes, blocks).overlapped(1)
