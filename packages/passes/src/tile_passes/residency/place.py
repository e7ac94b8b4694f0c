"""Find the tiles that need several memories, and split them one after another."""

from __future__ import annotations

from tile_ir import Alloc, Buffer, Func, Target
from tile_passes.free_names import FreeNames
from tile_passes.residency.accumulators import Accumulator
from tile_passes.residency.forwarding import forward_copies, open_tiles
from tile_passes.residency.operands import OperandTile
from tile_passes.residency.tensor_reads import read_tensors
from tile_passes.residency.value_uses import OPERAND, SUM, roles_in


def placed(func: Func, target: Target) -> Func:
    """The function with a buffer in each memory for every open tile of a product. What products add
    to comes first: it may leave copies to what they read."""
    func = read_tensors(forward_copies(func))
    names = FreeNames.of(func)
    body = func.launch.body
    split: dict[Buffer, list[Alloc]] = {}
    for role in (SUM, OPERAND):
        for tile in open_tiles(func):
            if tile in split or role not in roles_in(body, tile):
                continue
            parts = Accumulator(tile, target, names) if role == SUM else OperandTile(tile, names)
            body = parts.rewritten(body)
            split[tile] = parts.added
    allocs = (new for a in func.launch.allocs for new in split.get(a.buffer, [a]))
    return func.with_body(body, allocs=tuple(allocs))
