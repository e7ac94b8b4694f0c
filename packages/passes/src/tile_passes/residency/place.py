"""Find the tiles that need several memories, and split them one after another."""

from __future__ import annotations

from typing import NamedTuple

from tile_ir import Alloc, Buffer, Func, Memory, Target, buffer_bytes
from tile_passes.analysis.live_ranges import interfere, pressure
from tile_passes.analysis.liveness import liveness
from tile_passes.free_names import FreeNames
from tile_passes.residency.accumulators import Accumulator
from tile_passes.residency.forwarding import forward_copies, open_tiles
from tile_passes.residency.operands import OperandTile
from tile_passes.residency.second_names import with_own_tiles
from tile_passes.residency.tensor_reads import read_tensors
from tile_passes.residency.value_uses import OPERAND, SUM, roles_in


class Sum(NamedTuple):
    """A tile that products add to, its part in l0c, and whether that stays there over a loop."""

    tile: Buffer
    part: Buffer
    kept: bool


def placed(func: Func, target: Target) -> Func:
    """The function with a buffer in each memory for every open tile of a product. Where l0c can not
    hold all sums that are there at once, some of them are added up in ub until it can, the largest
    first. They are some of those that stay in l0c over a loop, or, if that is not enough, of all.
    """
    func = read_tensors(with_own_tiles(forward_copies(func)))
    first, sums = _placed(func, target, frozenset())
    if not _too_many(first, target):
        return first
    ways = (_moved(func, target, first, sums, kept) for kept in (True, False))
    return next((found for found in ways if found is not None), first)


def _moved(func: Func, target: Target, new: Func, sums: list[Sum], only_kept: bool) -> Func | None:
    """The function with sums moved to ub until l0c holds the others; None if that is never."""
    in_ub = frozenset[Buffer]()
    while at_once := _too_many(new, target):
        rest = [s for s in sums if s.part in at_once and s.tile not in in_ub]
        rest = [s for s in rest if s.kept or not only_kept]
        if not rest:
            return None
        sizes = {s: buffer_bytes(Alloc(s.part, s.part.loc)) for s in rest}
        in_ub |= {min(rest, key=lambda s: (s.kept, -sizes[s])).tile}
        new, sums = _placed(func, target, in_ub)
    return new


def _placed(func: Func, target: Target, in_ub: frozenset[Buffer]) -> tuple[Func, list[Sum]]:
    """The function with all tiles placed, and its sums. Sums come first: they may leave copies to
    operands."""
    names = FreeNames.of(func)
    body = func.launch.body
    split: dict[Buffer, list[Alloc]] = {}
    sums: list[Sum] = []
    for role in (SUM, OPERAND):
        for tile in open_tiles(func):
            if tile in split or role not in roles_in(body, tile):
                continue
            if role == SUM:
                total = Accumulator(tile, target, names, in_ub=tile in in_ub)
                body, split[tile] = total.rewritten(body), total.added
                parts = (a.buffer for a in total.added if a.buffer.memory is Memory.L0C)
                sums += [Sum(tile, part, total.kept) for part in parts]
                if OPERAND in roles_in(body, total.tile):  # a sum that products read as well
                    operand = OperandTile(total.tile, names)
                    body = operand.rewritten(body)
                    others = (a for a in total.added if a.buffer is not total.tile)
                    split[tile] = [*others, *operand.added]
            else:
                operand = OperandTile(tile, names)
                body, split[tile] = operand.rewritten(body), operand.added
    allocs = (new for a in func.launch.allocs for new in split.get(a.buffer, [a]))
    return func.with_body(body, allocs=tuple(allocs)), sums


def _too_many(func: Func, target: Target) -> set[Buffer]:
    """The buffers live in l0c where most are, if it can not hold all of them."""
    allocs = [a for a in func.launch.allocs if a.buffer.memory is Memory.L0C]
    capacity = target.capacity[Memory.L0C]
    if sum(map(buffer_bytes, allocs)) <= capacity:
        return set()
    live = liveness(allocs, func.launch.body)
    sizes = {number: buffer_bytes(alloc) for number, alloc in enumerate(live.buffers)}
    bytes_at = pressure(live.ranges, sizes)
    most = max(bytes_at, default=0)
    if most <= capacity:
        return set()
    fullest = bytes_at.index(most)
    ranges = zip(live.buffers, live.ranges, strict=True)
    return {a.buffer for a, held in ranges if interfere(held, ((fullest, fullest),))}
