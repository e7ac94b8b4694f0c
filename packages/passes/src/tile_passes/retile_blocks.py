"""Lets a block do the tiles of several neighbours where that is modelled faster."""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Target
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def retile_blocks(func: Func, target: Target) -> Func:
    """Let one block of a grid do the work of neighbours, with tiles that are as much longer.

    Needs, gives: TYPED. Idea: tiles chosen for another chip are small for this one: loads of two
    neighbours share an operand, and rows that are alone in their block share instructions. The
    dimensions of tiles that follow a place in the grid are found by the labels of operations; where
    all that the place decides follows them, they may be longer. How much is chosen by the time
    model and the room in each memory. Where tiles have no room, it is the other way round: what
    their rows have to do with no other row is done for some of them at a time, by more blocks or in
    a loop; a remark says so. How far rounds of pipelined loops overlap is left open for later
    passes, as by `num_stages="auto"`: a number for another chip is a hint. Only where the kernel
    leaves it to the compiler (`Automatic.TILES`). Where it is left for speed alone
    (`Automatic.NEIGHBOURS`), tiles of neighbours become one tile and nothing else changes, and only
    in a grid larger than the chip. Limits: grids of constant size, tiles of constant sizes, numbers
    of neighbours that divide the grid.
    """
    if Automatic.TILES not in func.automatic:
        if not {Automatic.SYNC, Automatic.NEIGHBOURS} <= func.automatic:
            return func
        from tile_passes.retiling.neighbours import plan_neighbours

        return plan_neighbours(func, target).func
    # Most kernels need none of it.
    from tile_passes.retiling.choice import plan_tiles
    from tile_passes.retiling.rounds import open_stages

    return plan_tiles(open_stages(func), target).func
