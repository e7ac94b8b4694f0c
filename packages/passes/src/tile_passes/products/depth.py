"""Choose how much of k an iteration of a product's loop loads: as much as makes loads cheapest and
has room.

Rows of an operand that lie along k get longer with it, and long rows are loaded faster. The other
operand only gets more rows. These are loaded in parts with places of their own, so that a part can
be loaded anew as soon as it has been multiplied, without a second version of all of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import ZERO, Alloc, Buffer, Const, Memory, Op, Region, Target, buffer_bytes
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lowering.region_parts import part_along
from tile_passes.products.product_loop import Loaded, ProductLoop

# Places of an operand that is loaded in parts: what is multiplied, what comes next, and what is
# loaded meanwhile; a flag for each, beside those of the other operand.
PLACES = (4, 3)
# Versions of what is loaded whole.
VERSIONS = 2
# What loads must gain at least for a loop to be written anew.
LEAST_GAIN = 0.99


@dataclass(frozen=True, slots=True)
class Depth:
    """`iterations` iterations of the loop become one; an operand whose rows are along k is loaded
    at once, the other in `parts` of `rows` rows, one if that has versions. Products are over
    `piece` of k."""

    iterations: int
    parts: int
    rows: int
    piece: int


def best_depth(loop: ProductLoop, tile: int, room: int, target: Target) -> Depth | None:
    """The depth with the shortest loads that fits `room` bytes of l1, or None where the loop is
    best as it is. Products are cut at multiples of `tile`, as they are anyhow, so that results stay
    the same bit for bit."""
    found = [
        (_cycles(loop, depth, target), number, depth)
        for number, depth in enumerate(_depths(loop, tile))
        if bytes_of(loop, depth) <= room
    ]
    if not found:
        return None
    cycles, number, best = min(found)
    first = found[0]
    if first[2] == _as_it_is(loop) and (number == first[1] or cycles > first[0] * LEAST_GAIN):
        return None
    return best


def _as_it_is(loop: ProductLoop) -> Depth:
    return Depth(1, 1, loop.depth, loop.depth)


def _depths(loop: ProductLoop, tile: int) -> Iterator[Depth]:
    """All that may be, the loop as it is first."""
    longer = any(o.k_dim == -1 for o in loop.operands)
    deep = any(o.k_dim == -2 for o in loop.operands)
    for iterations in range(1, loop.iterations + 1 if longer else 2):
        if loop.group % iterations:
            continue
        size = iterations * loop.depth
        yield Depth(iterations, 1, size, loop.depth)
        for parts in PLACES if deep else ():
            rows = size // parts
            if size % parts:
                continue
            if rows % loop.depth == 0:
                yield Depth(iterations, parts, rows, loop.depth)
            elif loop.depth % rows == 0 and rows % tile == 0:
                yield Depth(iterations, parts, rows, rows)


def bytes_of(loop: ProductLoop, depth: Depth) -> int:
    """Bytes of l1 that both operands take."""
    total = 0
    for operand in loop.operands:
        in_parts = operand.k_dim == -2 and depth.parts > 1
        buffer = tile_buffer(operand, depth)
        total += buffer_bytes(Alloc(buffer, buffer.loc)) * (1 if in_parts else VERSIONS)
    return total


def tile_buffer(operand: Loaded, depth: Depth) -> Buffer:
    """The buffer of an operand, with a first dimension for its parts."""
    shape = [operand.other, operand.other]
    in_parts = operand.k_dim == -2 and depth.parts > 1
    shape[operand.k_dim] = depth.rows if in_parts else depth.rows * depth.parts
    sizes = (depth.parts, *shape) if in_parts else tuple(shape)
    return replace(operand.buffer, shape=tuple(map(Const, sizes)))


def _cycles(loop: ProductLoop, depth: Depth, target: Target) -> float:
    """Cycles of all loads of the loop, and once more of those under which no product is done. These
    are those before the first product, unless a loop around goes on with its next iteration, and
    those before the first of iterations that are left over."""
    whole, rest = divmod(loop.iterations, depth.iterations)
    size = depth.iterations * loop.depth
    part = depth.rows if depth.parts > 1 else size
    total = whole * _load_cycles(loop, size, size, target)
    if rest:
        total += _load_cycles(loop, rest * loop.depth, rest * loop.depth, target)
        total += _load_cycles(loop, rest * loop.depth, min(part, rest * loop.depth), target)
    if not loop.nested:
        total += _load_cycles(loop, size, part, target)
    return total


def _load_cycles(loop: ProductLoop, long: int, deep: int, target: Target) -> float:
    """Cycles to load both operands, over so much of k where rows are along k, and where not."""
    return sum(_cost(o, long if o.k_dim == -1 else deep, target) for o in loop.operands)


def _cost(operand: Loaded, size: int, target: Target) -> float:
    src = part_along(operand.load.region("src"), operand.k_dim, ZERO, Const(size))
    dst = Region.whole(tile_buffer(operand, Depth(1, 1, size, size)))
    op: Op = replace(operand.load, operands=(src, dst))
    return cost(op, target, Assumed(cores=target.cube_cores)).busy


def room_in_l1(allocs: tuple[Alloc, ...], loop: ProductLoop, target: Target) -> int:
    """Bytes that other buffers leave."""
    ours = {operand.buffer for operand in loop.operands}
    taken = sum(
        buffer_bytes(a)
        for a in allocs
        if a.buffer.memory is Memory.L1 and a.alias_of is None and a.buffer not in ours
    )
    return target.capacity[Memory.L1] - taken
