"""Find the tiles that need several memories, and split them one after another."""

from __future__ import annotations

from tile_ir import Alloc, Buffer, Func, Memory, Target, buffer_bytes
from tile_passes.analysis.live_ranges import pressure
from tile_passes.analysis.liveness import liveness
from tile_passes.free_names import FreeNames
from tile_passes.residency.accumulators import Accumulator
from tile_passes.residency.forwarding import forward_copies, open_tiles
from tile_passes.residency.operands import OperandTile
from tile_passes.residency.second_names import with_own_tiles
from tile_passes.residency.tensor_reads import read_tensors
from tile_passes.residency.value_uses import OPERAND, SUM, roles_in


def placed(func: Func, target: Target) -> Func:
    """The function with a buffer in each memory for every open tile of a product. Where l0c can not
    hold all sums that stay there over a loop, the largest of them are added up in ub, as long as
    that helps."""
    func = read_tensors(with_own_tiles(forward_copies(func)))
    first, kept = _placed(func, target, frozenset())
    new, in_ub = first, frozenset[Buffer]()
    while kept and _is_too_full(new, target):
        in_ub |= {max(kept, key=lambda tile: buffer_bytes(Alloc(tile, tile.loc)))}
        new, kept = _placed(func, target, in_ub)
    return first if _is_too_full(new, target) else new


def _placed(func: Func, target: Target, in_ub: frozenset[Buffer]) -> tuple[Func, list[Buffer]]:
    """The function with all tiles placed, and which of them stay in l0c over a loop. What products
    add to comes first: it may leave copies to what they read."""
    names = FreeNames.of(func)
    body = func.launch.body
    split: dict[Buffer, list[Alloc]] = {}
    kept: list[Buffer] = []
    for role in (SUM, OPERAND):
        for tile in open_tiles(func):
            if tile in split or role not in roles_in(body, tile):
                continue
            if role == SUM:
                total = Accumulator(tile, target, names, in_ub=tile in in_ub)
                body, split[tile] = total.rewritten(body), total.added
                kept += [tile] * total.kept
                if OPERAND in roles_in(body, total.tile):  # a sum that products read as well
                    operand = OperandTile(total.tile, names)
                    body = operand.rewritten(body)
                    others = (a for a in total.added if a.buffer is not total.tile)
                    split[tile] = [*others, *operand.added]
            else:
                operand = OperandTile(tile, names)
                body, split[tile] = operand.rewritten(body), operand.added
    allocs = (new for a in func.launch.allocs for new in split.get(a.buffer, [a]))
    return func.with_body(body, allocs=tuple(allocs)), kept


def _is_too_full(func: Func, target: Target) -> bool:
    """Whether l0c can not hold all that is live at some point."""
    allocs = [a for a in func.launch.allocs if a.buffer.memory is Memory.L0C]
    capacity = target.capacity[Memory.L0C]
    if sum(map(buffer_bytes, allocs)) <= capacity:
        return False
    live = liveness(allocs, func.launch.body)
    sizes = {number: buffer_bytes(alloc) for number, alloc in enumerate(live.buffers)}
    return max(pressure(live.ranges, sizes), default=0) > capacity
