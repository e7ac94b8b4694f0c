"""Explain the decision of `persistent` about the blocks of a grid, as text."""

from __future__ import annotations

from tile_ir import Automatic, Func, Target, constant_value
from tile_passes.clock.grid_times import grid_times
from tile_passes.explain.wording import page
from tile_passes.persistent import persistent
from tile_passes.pipeline import taken_to


def explain_grid(func: Func, target: Target) -> str:
    """Which core does which blocks, and why."""
    func = taken_to(func, persistent, target)
    return page(func, ["", _line(func, target)], "")


def _line(func: Func, target: Target) -> str:
    cores, count = target.cube_cores, constant_value(func.launch.blocks)
    many = "a number of blocks that calls decide" if count is None else f"{count} blocks"
    if count is not None and count <= cores:
        return f"{many}, each on a core of its own: there are {cores}"
    if persistent.run(func, target).launch.blocks is not func.launch.blocks:
        return f"{many} on {cores} cores, each of which does every {cores}th, one after the other"
    asked = {Automatic.GRID, Automatic.BLOCKS} & func.automatic
    if not asked or Automatic.SYNC not in func.automatic:
        return f"{many}, each started when a core falls idle: their order is not the compiler's"
    if count is None:
        return f"{many}, each started when a core falls idle"
    times = grid_times(func, target)
    return (
        f"{many}, each started when a core falls idle: they take different times, and dealt out in "
        f"turn they would need {times.dealt / times.as_they_come:.0%} of the cycles"
    )
