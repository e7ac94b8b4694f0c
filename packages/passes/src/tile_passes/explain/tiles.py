"""Explain the decision of `retile_blocks` for each dimension of the grid, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import Automatic, Func, Target, constant_value
from tile_passes.explain.wording import page
from tile_passes.pipeline import taken_to
from tile_passes.retile_blocks import retile_blocks


def explain_tiles(func: Func, target: Target) -> str:
    """A line for each dimension of the grid of a kernel whose tiles are the compiler's."""
    if func.automatic.isdisjoint((Automatic.TILES, Automatic.NEIGHBOURS)):
        return "the tiles of this kernel are its own\n"
    func = taken_to(func, retile_blocks, target)
    return page(func, ["", *_lines(func, target)], "")


def _lines(func: Func, target: Target) -> Iterator[str]:
    from tile_passes.retiling.choice import plan_tiles
    from tile_passes.retiling.idle_cores import with_more_blocks
    from tile_passes.retiling.neighbours import plan_neighbours
    from tile_passes.retiling.split_tiles import has_no_room, splits

    plan = (plan_tiles if Automatic.TILES in func.automatic else plan_neighbours)(func, target)
    for place, factor in plan.factors.items():
        what = f"{factor} blocks become one" if factor > 1 else "blocks stay as they are"
        because = "" if factor > 1 else ", because longer tiles are not modelled faster"
        yield f"along `{place.name}` {what}{because}"
    for place, reason in plan.against.items():
        yield f"along `{place.name}` blocks stay as they are, because {reason}"
    if not plan.factors and not plan.against:
        yield "the grid stays as it is: its size, or what is computed from it, is not known now"
    if plan.after < plan.before:
        share = plan.after / plan.before
        yield f"the launch is modelled to take {share:.0%} of the cycles it took"
    if Automatic.NEIGHBOURS in func.automatic:
        more = with_more_blocks(plan.func, target)
        if more is not plan.func:
            counts = (constant_value(f.launch.blocks) for f in (plan.func, more))
            yield "cores are idle, so rows of tiles make {1} blocks of {0}".format(*counts)
    if has_no_room(plan.func, target):
        split = next(splits(func, target), None)
        if split is not None:
            yield split.remarks[-1].message
