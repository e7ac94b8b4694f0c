"""Find the tiles that need several memories, and split them one after another."""

from __future__ import annotations

from tile_ir import CHOICES_OF_OPEN, Alloc, Buffer, Func, Target
from tile_ir.analysis import Ranges
from tile_passes.free_names import FreeNames
from tile_passes.residency.accumulators import Accumulator
from tile_passes.residency.forwarding import forward_copies
from tile_passes.residency.operands import OperandTile
from tile_passes.residency.value_uses import OPERAND, SUM, roles_in


def placed(func: Func, target: Target) -> Func:
    """The function with a buffer in each memory for every open tile of a product."""
    func = forward_copies(func)
    names = FreeNames.of(func)
    body = func.launch.body
    aliased = {a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    allocs: list[Alloc] = []
    known: Ranges = {}
    tiles = [a for a in func.launch.allocs if a.buffer.memory in CHOICES_OF_OPEN]
    split: dict[Buffer, list[Alloc]] = {}
    for alloc in tiles:
        if alloc.buffer in aliased or alloc.alias_of is not None:
            continue
        if SUM in roles_in(body, alloc.buffer):
            sums = Accumulator(alloc.buffer, target, known, names)
            body = sums.rewritten(body)
            split[alloc.buffer] = sums.added
    for alloc in tiles:
        if alloc.buffer in aliased or alloc.alias_of is not None or alloc.buffer in split:
            continue
        if OPERAND in roles_in(body, alloc.buffer):
            operand = OperandTile(alloc.buffer, known, names)
            body = operand.rewritten(body)
            split[alloc.buffer] = operand.added
    for alloc in func.launch.allocs:
        allocs.extend(split.get(alloc.buffer, [alloc]))
    return func.with_body(body, allocs=tuple(allocs))
