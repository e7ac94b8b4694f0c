"""Spreads the rows of a kernel written for one vector core over the two of a block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tile_ir import Automatic, Diagnostic, Func, Phase, Target
from tile_ir.quick_dataclasses import replace
from tile_passes.own_order import left_with
from tile_passes.passdef import ir_pass

if TYPE_CHECKING:
    from tile_passes.lanes.plan import LanePlan

# A remark is worth it where at least this part of the work is done twice.
WORTH = 8

# How a script leaves the order inside a core to the compiler.
ORDER_KEY = '"tl.ascend_auto_sync"'


@ir_pass(needs=Phase.TYPED)
def split_vector_lanes(func: Func, target: Target) -> Func:
    """Give each of the two vector cores of a `threads=2` launch its rows.

    Needs, gives: TYPED. Idea: dimensions of ub buffers that operations run over together, and loops
    over them, form classes. A class that no statement needs whole is split, half of the rows for
    each lane. Both lanes do the rest, and lane 0 stores it. If lanes would access the same place of
    gm, or if no class can be split, the launch uses one lane, and a remark gives the reason. In a
    grid that is larger than the chip and left to the compiler, each lane then runs blocks of its
    own instead. It also does so if no tile is split and both lanes would do much of the work.
    Limits: rows are split into two runs of sizes known at compile time; loops with a runtime trip
    count are not split.
    """
    if func.launch.threads != 2:
        return func
    # Loads networkx: most kernels need none of it.
    from tile_passes.lanes.blocks import with_blocks_of_lanes
    from tile_passes.lanes.plan import plan_lanes

    plan = plan_lanes(func, target)
    left = left_with(func)
    dealt = with_blocks_of_lanes(func, plan, target)
    if dealt is not None:
        return replace(dealt, automatic=left)
    # With another launch the kernel would have to ask for the order that comes with two lanes,
    # unless its text is one program.
    has_order = func.automatic >= left or Automatic.CORES in func.automatic
    same = (
        "threads=1 means" if has_order else f"threads=1 and pass_configs={{{ORDER_KEY}: True}} mean"
    )
    remarks = (*func.remarks, *_remarks(plan, same))
    return replace(plan.func, automatic=left, remarks=remarks)


def _remarks(plan: LanePlan, same: str) -> Iterator[Diagnostic]:
    from tile_passes.lanes.plan import doubled_work

    if plan.alone is not None:
        yield Diagnostic(
            "one-lane",
            f"one vector core of each block does all the work: {plan.alone.text}",
            plan.alone.loc,
            f"{same} the same; `tile-ascend opt -p split_vector_lanes --explain` "
            "prints what prevents each split",
            "warning",
        )
        return
    for reason, work in doubled_work(plan).items():
        if work * WORTH >= sum(site.work for site in plan.found.sites if site.is_lanes):
            yield Diagnostic(
                "lanes-whole",
                f"both vector cores do the same part of the work: {reason.text}",
                reason.loc,
                severity="warning",
            )
