"""Make iterations of pipelined loops overlap: with versions of buffers, and with stages."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    Automatic,
    Diagnostic,
    For,
    Func,
    LoopKind,
    Phase,
    Stmt,
    Target,
    rewrite,
    walk,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.schedule import Schedule
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.pipelining.software_pipeline import pipeline_core


@ir_pass(needs=Phase.SPLIT, gives=Phase.PIPELINED)
def inject_pipeline(func: Func, target: Target) -> Func:
    """Overlap iterations of pipelined loops inside one core.

    Needs: SPLIT. Gives: PIPELINED. Idea: pipes take instructions in program order and wait for
    flags only, so the load of the next iteration can start during this one if it has its own bytes.
    A buffer that one pipe fills and another empties gets one version per stage, used in turn. If
    pipes still idle by the modelled time, statements move to later stages: iteration `i` of the new
    loop executes stage `k` of iteration `i - k`. Stages and order that the loop gives are followed.
    Limits: statements keep their order in loops with `break`, flags or output; manually ordered
    kernels stay unchanged.
    """
    plan = pipeline_core(func, target)
    short = (s for s in plan if s.short and not s.loop.loc.generated)
    remarks = (*map(_short_of_memory, short), *_unheard(func))
    if remarks:
        func = replace(func, remarks=func.remarks + remarks)
    func = skew_loops(func, plan, target)
    return func.with_body(rewrite(func.launch.body, _serial))


def _serial(stmt: Stmt) -> Stmt:
    if isinstance(stmt, For) and stmt.kind is LoopKind.PIPELINED:
        return replace(stmt, kind=LoopKind.SERIAL, stages=0, given=())
    return stmt


def _unheard(func: Func) -> Iterator[Diagnostic]:
    """The remarks on loops whose order is the author's anyway."""
    if Automatic.SYNC not in func.automatic:
        for stmt in walk(func.launch.body):
            if isinstance(stmt, For) and stmt.given:
                yield Diagnostic(
                    "loop-schedule",
                    "`order` and `stage` have no effect where flags are the author's",
                    stmt.loc,
                    "leave the order of pipes to the compiler: TL_ASCEND_AUTO_SYNC",
                    "warning",
                )


def _short_of_memory(schedule: Schedule) -> Diagnostic:
    found = ", ".join(
        f"`{b.name}` {schedule.versions.get(b, 1)} of {schedule.asked}" for b in schedule.short
    )
    memories = " and ".join(dict.fromkeys(b.memory.value for b in schedule.short))
    return Diagnostic(
        "pipeline-versions",
        f"iterations of this loop overlap less than its stages allow: {memories} has no room for "
        f"all versions of the values passed between pipes ({found})",
        schedule.loop.loc,
        "smaller tiles, or fewer stages",
        "warning",
    )
