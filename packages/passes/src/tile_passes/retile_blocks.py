"""Lets a block do the tiles of several neighbours where that is modelled faster."""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Target
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def retile_blocks(func: Func, target: Target) -> Func:
    """Merge neighbouring blocks of a grid into one block with longer tiles.

    Needs, gives: TYPED. Idea: tiles chosen for another chip are too small for this one: neighbours
    load the same operand, and single rows do not fill an instruction. The labels of operations show
    the dimensions of tiles that follow an index of the grid; these may become longer if the index
    decides nothing else. Tiles of one row get a dimension for the rows of neighbours; those of a
    group of rows are longer, and views of the tensors have all groups behind each other. Iterations
    of the loop that ends a block become blocks where they do not depend on each other. The time
    model and the room in each memory choose the length. Tiles that do not fit are cut in the same
    way, into more blocks or a loop, and a remark reports it. The overlap of pipelined loops is left
    open, as by `num_stages="auto"`: a number for another chip is a hint. The pass does all this
    only if the kernel leaves tiles to the compiler (`Automatic.TILES`). For speed alone
    (`Automatic.NEIGHBOURS`) it merges only tiles of neighbours, in a grid larger than the chip, and
    divides the rows of tiles into more blocks where most cores are idle. Limits: grids and tiles of
    constant sizes. A number of neighbours divides the grid, or all that its last block does beyond
    the grid lies behind the ends of tensors, where nothing is stored.
    """
    if Automatic.NEIGHBOURS not in func.automatic:
        return _retiled(func, target)
    from tile_passes.retiling.idle_cores import with_more_blocks

    return with_more_blocks(_retiled(func, target), target)


def _retiled(func: Func, target: Target) -> Func:
    if Automatic.TILES not in func.automatic:
        if not {Automatic.SYNC, Automatic.NEIGHBOURS} <= func.automatic:
            return func
        from tile_passes.retiling.neighbours import plan_neighbours

        return plan_neighbours(func, target).func
    # Most kernels need none of it.
    from tile_passes.retiling.choice import plan_tiles
    from tile_passes.retiling.iterations import open_stages

    return plan_tiles(open_stages(func), target).func
