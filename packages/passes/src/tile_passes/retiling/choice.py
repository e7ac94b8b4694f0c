"""How many neighbouring blocks become one, along each dimension of the grid: as many as make the
launch shortest by the time model and leave room in every memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Let,
    Memory,
    Op,
    Region,
    Stmt,
    Target,
    Var,
    buffer_bytes,
    constant_value,
    expressions,
    is_constant,
    map_expressions,
    replace_buffers,
    rewrite,
    simplify,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.room_of_tiles import OWN_SHARE, VERSIONS, overfull
from tile_passes.clock.block_work import BlockWork
from tile_passes.lanes.plan import plan_lanes
from tile_passes.retiling.beyond_grid import stores_nothing_beyond
from tile_passes.retiling.block_axis import (
    Against,
    BlockAxis,
    block_axis,
)
from tile_passes.retiling.grid import Grid, grid_of, merged_count, merged_grid, with_places
from tile_passes.retiling.iterations import begun_elsewhere, joined_iterations
from tile_passes.retiling.joined_rows import with_joined_rows
from tile_passes.retiling.longer_tiles import longer_buffer, longer_region
from tile_passes.retiling.loop_places import with_loop_places
from tile_passes.retiling.single_rows import with_single_rows

# The largest product of a block has so many of the smallest tiles that scripts have, of 16 by 16.
MOST_TILES = 128
# What the launch must gain at least, for a model that leaves out how pipes wait for each other.
LEAST_GAIN = 0.95
# How many times the blocks of a grid are done at most, with those behind its end.
MOST_BEYOND = 1.125

Factors = Mapping[Var, int]
# Cycles of a launch of so many blocks.
Price = Callable[[Func, int, Target], float]
# The part of ub that expressions of T.Parallel of a function keep.
OwnShare = Callable[[Func, Target], float]


@dataclass(frozen=True, slots=True)
class Retiling:
    """The decision: the new function, how many neighbours are one along the places that can,
    why others can not, and the modelled cycles of the launch before and after."""

    func: Func
    factors: Factors
    against: Mapping[Var, str]
    before: float = 0.0
    after: float = 0.0


def plan_tiles(func: Func, target: Target) -> Retiling:
    """The function with iterations and tiles as the chip likes them, or itself; blocks may be the
    iterations of a loop."""
    found = _of_blocks(func, target)
    loose = with_loop_places(func)
    if loose is None:
        return found
    other = _of_blocks(loose, target)
    if not other.factors or other.after > LEAST_GAIN * found.after:
        return found
    return replace(other, before=found.before)


def _of_blocks(func: Func, target: Target) -> Retiling:
    func = with_places(func)
    grid = grid_of(func)
    if grid is None:
        return Retiling(func, {}, {})
    new = joined_iterations(func)
    if new is not func and not has_room(new, target):
        new = func
    before = _cycles(new, grid.blocks, target)
    placed, axes, against = rows_and_axes(new, grid, target)
    factors = best_factors(placed, grid, axes, target, _cycles, LEAST_GAIN) if axes else {}
    blocks, after = grid.blocks, before
    if factors:
        longer = retiled(placed, grid, axes, factors)
        fewer = grid.merged(factors)
        cycles = _cycles(longer, fewer, target)
        # Rows that tiles get may be more work than what neighbours share.
        if placed is new or cycles < LEAST_GAIN * after:
            new, blocks, after = longer, fewer, cycles
        else:
            factors = {}
    if blocks > target.cube_cores:
        places = [grid.var(d) // factors.get(grid.var(d), 1) for d in grid.dims]
        new = begun_elsewhere(new, simplify(sum(places[1:], places[0])))
    return Retiling(new, {a.place: factors.get(a.place, 1) for a in axes}, against, before, after)


def rows_and_axes(
    func: Func, grid: Grid, target: Target
) -> tuple[Func, list[BlockAxis], dict[Var, str]]:
    """The function with rows in its tiles, or those of a group in one dimension, for places along
    which blocks can become one then, all those places, and why others can not."""
    axes, against = axes_of(func, grid, target)
    rows = func
    for place in against:
        rows = _with_rows_at(rows, place, target) or rows
    return (func, axes, against) if rows is func else (rows, *axes_of(rows, grid, target))


def _with_rows_at(func: Func, place: Var, target: Target) -> Func | None:
    for with_rows in (with_single_rows, with_joined_rows):
        try:
            found = with_rows(func, place)
            block_axis(found, place, target)
        except Against:
            continue
        return found
    return None


def axes_of(func: Func, grid: Grid, target: Target) -> tuple[list[BlockAxis], dict[Var, str]]:
    """The dimensions of the grid along which blocks can become one, and why others can not."""
    found: list[BlockAxis] = []
    against: dict[Var, str] = {}
    for dim in grid.dims:
        place = grid.var(dim)
        try:
            axis = block_axis(func, place, target)
        except Against as reason:
            against[place] = str(reason)
            continue
        taken = {d for other in found for d in other.dims}
        loops = {x for other in found for x in other.loops}
        if taken & axis.dims or loops & axis.loops:
            against[place] = "another dimension of the grid goes along with its tiles"
        else:
            axis.open_end = stores_nothing_beyond(func, place, dim.count)
            found.append(axis)
    return found, against


def retiled(func: Func, grid: Grid, axes: Sequence[BlockAxis], factors: Factors) -> Func:
    """The function whose blocks do the work of so many neighbours."""
    axes = [a for a in axes if factors[a.place] > 1]
    growth = {d: factors[a.place] for a in axes for d in a.dims}
    iterations = {x.var: factors[a.place] for a in axes for x in a.loops}
    slices = {s: factors[a.place] for a in axes for s in a.slices}
    buffers: dict[Buffer, Buffer] = {}
    for (buffer, dim), times in growth.items():
        buffers[buffer] = longer_buffer(buffers.get(buffer, buffer), dim, times)

    def longer(stmt: Stmt) -> Stmt:
        match stmt:
            case For(var=var, stop=stop) if var in iterations:
                return replace(stmt, stop=Const((constant_value(stop) or 1) * iterations[var]))
            case Op():
                return _longer_op(stmt, slices, growth)
        return stmt

    blocks, block, body = merged_grid(func, grid, {a.place: factors[a.place] for a in axes})
    allocs = tuple(replace(a, buffer=buffers.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    # Slices are those of the operations as they were.
    body = replace_buffers(rewrite(body, longer), buffers)
    # The only place along a dimension: edges of the tensor stand at known rows there.
    only = [d.let.var for d in grid.dims if d.let and d.count <= factors.get(d.let.var, 1)]
    body = _with_known(body, {place: Const(0) for place in only})
    return func.with_body(body, allocs=allocs, blocks=blocks, block=block)


def _with_known(body: Body, known: dict[Var, Expr]) -> Body:
    """The statements with numbers that names stand for, and what is a number then."""
    while known:
        body = map_expressions(body, lambda e: simplify(substitute(e, known)))  # noqa: B023
        lets = (s for s in walk(body) if isinstance(s, Let) and isinstance(s.value, Const))
        known = {s.var: s.value for s in lets if s.var not in known and _is_named(body, s.var)}
    return body


def _is_named(body: Body, var: Var) -> bool:
    return any(var in walk_expr(e) for s in walk(body) for e in expressions(s))


def _longer_op(
    op: Op, slices: Mapping[tuple[Op, int, int], int], growth: Mapping[tuple[Buffer, int], int]
) -> Op:
    operands = list(op.operands)
    for number, region in enumerate(op.operands):
        if not isinstance(region, Region):
            continue
        for dim in range(len(region.dims)):
            times = slices.get((op, number, dim)) or growth.get((region.buffer, dim))
            # A copy in a loop over rows is of one row.
            if times is not None and not _is_of_row(region, dim):
                region = longer_region(region, dim, times, grow=False)
        operands[number] = region
    return Op(op.opdef, tuple(operands), op.attrs, op.loc)


def _is_of_row(region: Region, dim: int) -> bool:
    return region.memory is not Memory.GM and not is_constant(region.dims[dim].offset, 0)


def usual_share(func: Func, target: Target) -> float:
    return OWN_SHARE


def best_factors(
    func: Func,
    grid: Grid,
    axes: Sequence[BlockAxis],
    target: Target,
    price: Price,
    least_gain: float,
    own_share: OwnShare = usual_share,
    as_good: float = 1.0,
) -> Factors:
    """The numbers of neighbours that become one block, by their place; none where the launch is
    best as it is. The fewest of those that take at most so many times the shortest time."""
    counts = {grid.var(dim): dim.count for dim in grid.dims}
    choices = [numbers_of_neighbours(a, counts[a.place]) for a in axes]
    most = price(func, grid.blocks, target) * least_gain
    # Two lanes may share the rows of a tile in ub.
    most_of = {m: size * (2 if m is Memory.UB else 1) for m, size in target.capacity.items()}
    sizes = {
        a.buffer: VERSIONS.get(a.buffer.memory, 1) * buffer_bytes(a)
        for a in func.launch.allocs
        if a.buffer.memory in most_of
    }
    better: list[tuple[float, int, Factors]] = []
    for number, chosen in enumerate(product(*choices)):
        tiles = math.prod(chosen)
        if not 1 < tiles <= MOST_TILES:
            continue
        factors: Factors = {a.place: f for a, f in zip(axes, chosen, strict=True)}
        if any(own * _growth(b, axes, factors) > most_of[b.memory] for b, own in sizes.items()):
            continue  # not even this tile has room, whatever the others need
        cycles = price(retiled(func, grid, axes, factors), grid.merged(factors), target)
        if cycles < most:
            better.append((cycles, number, factors))
    enough = as_good * min((cycles for cycles, _, _ in better), default=0.0)

    def rank(found: tuple[float, int, Factors]) -> tuple[float, int]:
        cycles, number, factors = found
        as_good_as_any = as_good > 1 and cycles <= enough
        return (0.0, math.prod(factors.values())) if as_good_as_any else (cycles, number)

    for _, _, factors in sorted(better, key=rank):
        larger = retiled(func, grid, axes, factors)
        if has_room(larger, target, own_share(larger, target)):
            return factors
    return {}


def _growth(buffer: Buffer, axes: Sequence[BlockAxis], factors: Factors) -> int:
    """How many times as large a tile gets."""
    return math.prod(factors[a.place] for a in axes if any(b == buffer for b, _ in a.dims))


def numbers_of_neighbours(axis: BlockAxis, count: int) -> list[int]:
    """The numbers of neighbours that may become one of so many blocks: those that divide them, and
    where these leave gaps powers of two, with blocks behind the end that store nothing."""
    found = [n for n in range(1, min(count, MOST_TILES) + 1) if count % n == 0]
    if not axis.open_end:
        return found
    powers = [2**k for k in range(1, MOST_TILES.bit_length()) if 2**k < count]
    between = (n for n in powers if not any(n < 2 * other <= 2 * n for other in found))
    return sorted(
        (*found, *(n for n in between if n * merged_count(count, n) <= MOST_BEYOND * count))
    )


def has_room(func: Func, target: Target, own_share: float = OWN_SHARE) -> bool:
    """Whether all tiles lie side by side, and what is loaded twice, with room for values between
    operations, a part of ub. Each of two lanes has the rows that it gets of those they share."""
    full = overfull(func, target, own_share)
    if full == {Memory.UB} and func.launch.threads == 2:
        full = overfull(plan_lanes(func, target).func, target, own_share)
    return not full


def _cycles(func: Func, blocks: int, target: Target) -> float:
    """Of the busiest core, if all blocks take as long."""
    waves = math.ceil(blocks / target.cube_cores)
    return waves * BlockWork(func, target).cycles()
