"""What `pipeline_across_cores` and `inject_pipeline` decide of every pipelined loop, and why, as
text."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import For, Func, Let, Op, Stmt, Target, pipe_of
from tile_ir.costs.instruction_cost import cost
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.memory.overflow import table_of_versions
from tile_passes.pipeline import taken_to
from tile_passes.pipeline_across_cores import (
    pipeline_across_cores,
    pipelined_loops,
    stages_that_fit,
)
from tile_passes.pipelining.assign_stages import OneStage
from tile_passes.pipelining.plan_pipeline import plan_pipeline
from tile_passes.pipelining.schedule import Schedule


def explain_stages(func: Func, target: Target) -> str:
    """For each pipelined loop over both kinds of core: every statement with its stage, core, pipe
    and cycles, and the buffers that have versions; or why there is one stage.

    A function before phase LOWERED is taken there first. Raises what the passes raise.
    """
    func = taken_to(func, pipeline_across_cores, target)
    lines = [
        line
        for loop in pipelined_loops(func.launch.body)
        for line in ("", *_told(func, loop, target))
    ]
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    return "\n".join([head, *(lines or ["", "no pipelined loop over both kinds of core"])]) + "\n"


def _told(func: Func, loop: For, target: Target) -> Iterator[str]:
    where = f"loop `{loop.var.name}` at line {loop.loc.line}"
    stages = stages_that_fit(func, loop, target)
    if isinstance(stages, OneStage):
        yield f"{where}: one stage, because {stages.reason} (line {stages.loc.line})"
        return
    used = len(set(stages.stage.values()))
    rounds = "a round" if stages.last == 1 else f"{stages.last} rounds"
    behind = f"{used} stages, the last {rounds} behind the first"
    yield f"{where}: {behind if stages.last else 'one stage, as nothing comes back'}"
    yield "stage  core    pipe   cycles  statement"
    for step in sorted(stages.stage, key=lambda s: stages.stage[s]):
        core = step.core.value if step.core else "both"
        pipe, cycles = _time(step.stmt, target)
        what = step.stmt.opdef.name if isinstance(step.stmt, Op) else "several"
        place = f"{what} (line {step.stmt.loc.line})"
        yield f"{stages.stage[step]:>5}  {core:<6}  {pipe:<5}  {cycles:>6}  {place}"
    versions = ", ".join(f"`{b.name}` {n}" for b, n in stages.versions.items())
    yield f"versions: {versions}"


def explain_schedules(func: Func, target: Target) -> str:
    """For each pipelined loop of one core: every statement with its stage, its cycle in the
    interval from round to round, and its pipes; what bounds the interval, and versions of buffers,
    with their bytes where these have no room.

    A function before phase SPLIT is taken there first. Raises what the passes raise.
    """
    func = taken_to(func, inject_pipeline, target)
    plan = plan_pipeline(func, target)[::-1]
    lines = [line for schedule in plan for line in ("", *_scheduled(func, schedule, target))]
    head = f"{func.name} ({func.loc.file}:{func.loc.line})"
    none = ["", "no pipelined loop whose order is the compiler's"]
    return "\n".join([head, *(lines or none)]) + "\n"


def _scheduled(func: Func, schedule: Schedule, target: Target) -> Iterator[str]:
    loop, times = schedule.loop, schedule.times
    where = f"loop `{loop.var.name}` at line {loop.loc.line}, {schedule.core.value} core"
    last = schedule.arrangement.last
    stages = "the order of the text" if not schedule.skewed else f"{last + 1} stages"
    because = f", because {schedule.why}" if schedule.why else ""
    yield f"{where}: {stages}{because}"
    saved = f", {schedule.text.interval:.0f} in the order of the text" if schedule.skewed else ""
    yield f"a round every {times.interval:.0f} cycles{saved}: {schedule.bound}"
    yield "stage  cycle  cycles  pipe       statement"
    for row in schedule.rows:
        pipes = " ".join(pipe.value for pipe in row.pipes)
        names = dict.fromkeys(_name(s) for s in row.unit.stmts if not isinstance(s, Let))
        lines = [s.loc.line for s in row.unit.stmts if not isinstance(s, Let)]
        what = f"{', '.join(names)} (line {min(lines, default=loop.loc.line)})"
        yield f"{row.stage:>5}  {row.cycle:>5.0f}  {row.cycles:>6.0f}  {pipes:<9}  {what}"
    if schedule.versions:
        counts = ", ".join(f"`{b.name}` {n}" for b, n in schedule.versions.items())
        yield f"versions: {counts}"
    if schedule.short:
        short = ", ".join(f"`{b.name}`" for b in schedule.short)
        yield f"no room for {schedule.asked} versions of {short}:"
        asked = {**schedule.versions, **dict.fromkeys(schedule.handed, schedule.asked)}
        for memory in dict.fromkeys(b.memory for b in schedule.short):
            yield table_of_versions(func, memory, asked, target)


def _name(stmt: Stmt) -> str:
    return stmt.opdef.name if isinstance(stmt, Op) else type(stmt).__name__.lower()


def _time(stmt: Stmt, target: Target) -> tuple[str, str]:
    if not isinstance(stmt, Op):
        return "", ""
    return pipe_of(stmt).value, f"{cost(stmt, target).done:.0f}"
