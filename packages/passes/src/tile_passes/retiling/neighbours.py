"""Blocks that do the tiles of neighbours for speed alone: no operation computes anything else."""

from __future__ import annotations

import math

from tile_ir import Core, Func, Pipe, Target, constant_value
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis import room_of_tiles
from tile_passes.clock.block_work import BlockWork
from tile_passes.retiling.block_axis import BlockAxis
from tile_passes.retiling.choice import (
    Factors,
    Retiling,
    best_factors,
    numbers_of_neighbours,
    retiled,
    rows_and_axes,
)
from tile_passes.retiling.grid import Grid, grid_of, with_places
from tile_passes.retiling.loop_places import with_loop_places

# What the launch must gain at least: nobody asked for it, and the model is a rough one.
LEAST_GAIN = 0.8
# The part of ub that is left to expressions of T.Parallel: no row of theirs is to wait for room.
OWN_SHARE = 0.6
# Unless they take at most this part of the time that another pipe does: nobody waits for them.
ASIDE = 0.5
# How much longer than the shortest a launch may take that leaves more room.
AS_GOOD = 1.1


def plan_neighbours(func: Func, target: Target) -> Retiling:
    """The function whose blocks do as many neighbours as is modelled fastest, or itself; blocks may
    be the iterations of a loop. Those that all run at a time stay: fewer leave cores idle."""
    found = _of_blocks(func, target)
    loose = with_loop_places(func)
    if loose is None:
        return found
    blocks = constant_value(found.func.launch.blocks)
    assert blocks is not None, "the grid has a known size"
    before = _cycles(found.func, blocks, target)
    other = _of_blocks(loose, target)
    if other.func is loose or other.after > LEAST_GAIN * before:
        return found
    return replace(other, before=before)


def _of_blocks(func: Func, target: Target) -> Retiling:
    func = with_places(func)
    grid = grid_of(func)
    if grid is None:
        return Retiling(func, {}, {})
    if grid.blocks <= target.cube_cores:
        return Retiling(func, {}, {grid.block: "all of them run at a time"})
    placed, found, against = rows_and_axes(func, grid, target)
    axes = [a for a in found if _promises(placed, grid, a, target)]
    factors: Factors = {}
    if axes:
        factors = best_factors(placed, grid, axes, target, _cycles, LEAST_GAIN, own_share, AS_GOOD)
    chosen = {a.place: factors.get(a.place, 1) for a in found}
    if not factors:
        return Retiling(func, chosen, against)
    new = retiled(placed, grid, axes, factors)
    before = _cycles(func, grid.blocks, target)
    after = _cycles(new, grid.merged(factors), target)
    if placed is not func and after > LEAST_GAIN * before:
        return Retiling(func, {a.place: 1 for a in found}, against)
    return Retiling(new, chosen, against, before, after)


def _cycles(func: Func, blocks: int, target: Target) -> float:
    """Of the busiest core, whose blocks overlap."""
    return _work(func, target).overlapped(math.ceil(blocks / target.cube_cores))


def own_share(func: Func, target: Target) -> float:
    """The part of ub that is left to expressions of T.Parallel."""
    return room_of_tiles.OWN_SHARE if vector_works_aside(func, target) else OWN_SHARE


def vector_works_aside(func: Func, target: Target) -> bool:
    """Whether the vector pipe is done long before another one."""
    return _work(func, target).share(Core.VECTOR, Pipe.V) <= ASIDE


def _work(func: Func, target: Target) -> BlockWork:
    return BlockWork(func, target, 2 if func.launch.threads == 2 else 1)


def _promises(func: Func, grid: Grid, axis: BlockAxis, target: Target) -> bool:
    """Whether blocks of any number of neighbours along an axis may gain enough: what one more tile
    of a block takes, beside the first."""
    first = _work(func, target).overlapped(1)
    count = next(d.count for d in grid.dims if grid.var(d) == axis.place)
    number = next((n for n in numbers_of_neighbours(axis, count) if n > 1), 1)
    factors = {axis.place: number}
    more = _work(retiled(func, grid, [axis], factors), target).overlapped(1) - first
    return more < LEAST_GAIN * (number - 1) * first
