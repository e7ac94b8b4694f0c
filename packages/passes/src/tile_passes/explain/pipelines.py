"""Explain the decisions of `pipeline_across_cores` and `inject_pipeline` on every pipelined loop,
as text."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import For, Func, Let, Op, Pipe, Stmt, Target, pipe_of, walk_ops
from tile_ir.costs.instruction_cost import cost
from tile_passes.explain.wording import page
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.memory.overflow import table_of_versions
from tile_passes.pipeline import taken_to
from tile_passes.pipeline_across_cores import pipeline_across_cores
from tile_passes.pipelining.schedule import OneStage, Schedule
from tile_passes.pipelining.software_pipeline import (
    loops_over_cores,
    pipeline_core,
    pipeline_cores,
)


def explain_stages(func: Func, target: Target) -> str:
    """For each pipelined loop over both kinds of core: every statement with its stage, core, pipe
    and cycles, and the buffers that have versions; or why there is one stage.

    A function before phase LOWERED is taken there first. Raises what the passes raise.
    """
    func = taken_to(func, pipeline_across_cores, target)
    lines = [
        line
        for loop in loops_over_cores(func.launch.body)
        for line in ("", *_told(func, loop, target))
    ]
    return page(func, lines, "no pipelined loop over both kinds of core")


def _told(func: Func, loop: For, target: Target) -> Iterator[str]:
    where = f"loop `{loop.var.name}` at line {loop.loc.line}"
    stages = pipeline_cores(func, loop, target)
    if isinstance(stages, OneStage):
        yield f"{where}: one stage, because {stages.reason} (line {stages.loc.line})"
        return
    stage, last = stages.arrangement.stage, stages.arrangement.last
    used = len(set(stage.values()))
    distance = "an iteration" if last == 1 else f"{last} iterations"
    behind = f"{used} stages, the last {distance} behind the first"
    yield f"{where}: {behind if last else 'one stage, as nothing comes back'}"
    yield "stage  core    pipe   cycles  statement"
    for unit in stages.arrangement.units:
        (stmt,) = unit.stmts
        core = unit.core.value if unit.core else "both"
        pipe, cycles = _time(stmt, target)
        what = stmt.opdef.name if isinstance(stmt, Op) else "several"
        place = f"{what} (line {stmt.loc.line})"
        yield f"{stage[unit]:>5}  {core:<6}  {pipe:<5}  {cycles:>6}  {place}"
    versions = ", ".join(f"`{b.name}` {n}" for b, n in stages.versions.items())
    yield f"versions: {versions}"


def explain_schedules(func: Func, target: Target) -> str:
    """For each pipelined loop of one core: every statement with its stage, its cycle in the
    interval from iteration to iteration, and its pipes. Then the bound of the interval, and
    versions of buffers, with their bytes where these have no room.

    A function before phase SPLIT is taken there first. Raises what the passes raise.
    """
    func = taken_to(func, inject_pipeline, target)
    plan = pipeline_core(func, target)[::-1]
    lines = [line for schedule in plan for line in ("", *_scheduled(func, schedule, target))]
    return page(func, lines, "no pipelined loop whose order is the compiler's")


def _scheduled(func: Func, schedule: Schedule, target: Target) -> Iterator[str]:
    loop, times = schedule.loop, schedule.times
    where = f"loop `{loop.var.name}` at line {loop.loc.line}, {schedule.core.value} core"
    last = schedule.arrangement.last
    stages = "the order of the text" if not schedule.skewed else f"{last + 1} stages"
    because = f", because {schedule.why}" if schedule.why else ""
    yield f"{where}: {stages}{because}"
    saved = f", {schedule.text.interval:.0f} in the order of the text" if schedule.skewed else ""
    yield f"an iteration every {times.interval:.0f} cycles{saved}: {schedule.bound}"
    yield "stage  cycle  cycles  pipe       statement"
    starts, ends = times.starts, times.ends
    first = min(starts.values(), default=0.0)
    for unit in schedule.arrangement.units:
        at, cycles = (starts[unit] - first) % (times.interval or 1), ends[unit] - starts[unit]
        used = dict.fromkeys(pipe_of(op) for op in walk_ops(unit.stmts)) or (Pipe.S,)
        pipes = " ".join(pipe.value for pipe in used)
        names = dict.fromkeys(_name(s) for s in unit.stmts if not isinstance(s, Let))
        lines = [s.loc.line for s in unit.stmts if not isinstance(s, Let)]
        what = f"{', '.join(names)} (line {min(lines, default=loop.loc.line)})"
        stage = schedule.arrangement.stage[unit]
        yield f"{stage:>5}  {at:>5.0f}  {cycles:>6.0f}  {pipes:<9}  {what}"
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
