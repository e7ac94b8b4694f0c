"""Draw the schedule of every pipelined loop: when each statement of an iteration works, in modelled
time, with its stage, core and pipe. The passes decide; `pipelines` has the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_ir import (
    Body,
    Buffer,
    Core,
    Func,
    Loc,
    Pipe,
    Section,
    Stmt,
    Target,
    buffers_of,
    pipe_of,
    walk,
    walk_ops,
    written_buffers,
)
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Cost
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.loop_timetable import SETTLED
from tile_passes.clock.occupancy import costs_of
from tile_passes.clock.pipe_clock import PipeClock
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.pipeline import taken_to
from tile_passes.pipeline_across_cores import pipeline_across_cores
from tile_passes.pipelining.dependence_graph import Unit
from tile_passes.pipelining.schedule import OneStage, Schedule, Stages
from tile_passes.pipelining.software_pipeline import (
    loops_over_cores,
    pipeline_core,
    pipeline_cores,
)


@dataclass(frozen=True, slots=True)
class ScheduledStatement:
    """A statement, or several that stay together: `stage` is how many iterations it is behind;
    `pipe` names several if it takes several, the last one last; `begin` and `end` are core cycles
    from the start of its iteration."""

    stage: int
    core: str
    pipe: str
    begin: float
    end: float
    operation: str
    line: int


@dataclass(frozen=True, slots=True)
class LoopSchedule:
    """A pipelined loop: an iteration starts every `interval` cycles, `bound` says why not sooner,
    `why` there is one stage where there is one."""

    file: str
    line: int
    var: str
    interval: float
    bound: str
    why: str
    statements: tuple[ScheduledStatement, ...]
    versions: tuple[tuple[str, int], ...]

    @property
    def stages(self) -> int:
        return 1 + max((s.stage for s in self.statements), default=0)


def loop_schedules(func: Func, target: Target) -> list[LoopSchedule]:
    """Of all pipelined loops of a function, as the passes find them; raises what these raise."""
    lowered = taken_to(func, pipeline_across_cores, target)
    found = []
    for loop in loops_over_cores(lowered.launch.body):
        stages = pipeline_cores(lowered, loop, target)
        if isinstance(stages, Stages):
            found.append(_across_cores(stages, target))
        elif len(_cores(loop.body)) > 1:
            found.append(_one_stage(loop.loc, loop.var.name, stages))
    told = {(s.file, s.line) for s in found}
    split = taken_to(func, inject_pipeline, target)
    for schedule in pipeline_core(split, target):
        loc = schedule.loop.loc
        if (loc.file, loc.line) not in told:
            found.append(_inside_a_core(schedule))
    return sorted(found, key=lambda s: (s.file, s.line))


def _cores(body: Body) -> set[Core]:
    return {s.core for s in walk(body) if isinstance(s, Section)}


def _one_stage(loc: Loc, var: str, stages: OneStage) -> LoopSchedule:
    why = f"{stages.reason} (line {stages.loc.line})"
    return LoopSchedule(loc.file, loc.line, var, 0.0, "", why, (), ())


def _across_cores(stages: Stages, target: Target) -> LoopSchedule:
    steps = [_StepWork.of(u, stages.arrangement.stage[u], target) for u in stages.iteration.units]
    begins, ends = _in_order(steps, stages)
    first = min((begins[n, MIDDLE] for n in range(len(steps))), default=0.0)
    last = [max((ends[n, at] for n in range(len(steps))), default=0.0) for at in range(RUN)]
    interval = (last[LATER] - last[MIDDLE]) / (LATER - MIDDLE)
    statements = tuple(
        ScheduledStatement(
            work.stage, work.core, work.pipe.value, begins[n, MIDDLE] - first,
            ends[n, MIDDLE] - first, _operations((work.stmt,)), work.stmt.loc.line,
        )
        for n, work in enumerate(steps)
    )  # fmt: skip
    busy: dict[tuple[str, Pipe], float] = {}
    for work in steps:
        busy[work.core, work.pipe] = busy.get((work.core, work.pipe), 0.0) + work.cycles
    (core, pipe), most = max(busy.items(), key=lambda pair: pair[1])
    loc = stages.loop.loc
    return LoopSchedule(
        loc.file, loc.line, stages.loop.var.name, interval,
        f"{pipe.value.upper()} of the {core} core, which has most to do, works {most:.0f} of them",
        "" if stages.arrangement.last else "nothing comes back to a kind of core from the other",
        statements, _versions(stages.versions),
    )  # fmt: skip


# Iterations that are run, the one that is shown, and one that is far enough from the end of the
# loop to have all others beside it.
RUN, MIDDLE, LATER = 40, 20, 32


@dataclass(frozen=True, slots=True)
class _StepWork:
    """The work of a statement, and the buffers it uses and writes."""

    stmt: Stmt
    stage: int
    core: str
    pipe: Pipe
    cycles: float
    uses: frozenset[Buffer]
    writes: frozenset[Buffer]

    @staticmethod
    def of(unit: Unit, stage: int, target: Target) -> _StepWork:
        (stmt,) = unit.stmts
        costs = [*costs_of(stmt, target)]
        pipe = max(costs, key=lambda found: found[1].done)[0] if costs else Pipe.S
        uses = frozenset(b for s in walk(unit.stmts) for b in buffers_of(s))
        return _StepWork(
            stmt, stage, unit.core.value if unit.core else "both", pipe,
            sum(cost.done for _, cost, _ in costs), uses, written_buffers(unit.stmts),
        )  # fmt: skip


def _in_order(
    steps: Sequence[_StepWork], stages: Stages
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Start and end of each statement of each iteration: a pipe takes its work in the order of
    the skewed loop. It waits for earlier statements of its iteration that conflict, and for the
    iteration that had its version of a buffer."""
    begins: dict[tuple[int, int], float] = {}
    ends: dict[tuple[int, int], float] = {}
    clock: PipeClock[tuple[str, Pipe]] = PipeClock()
    least = max(2, stages.loop.stages)
    for turn in range(RUN + max((work.stage for work in steps), default=0)):
        for n, work in enumerate(steps):
            at = turn - work.stage
            if not 0 <= at < RUN:
                continue
            ready = [0.0]
            for m, other in enumerate(steps):
                if m < n and (other.writes & work.uses or other.uses & work.writes):
                    ready.append(ends[m, at])
                for buffer in other.uses & work.writes:
                    earlier = at - max(least, stages.versions.get(buffer, 1))
                    ready.append(ends.get((m, earlier), 0.0))
            took = Cost(work.cycles, work.cycles)
            begins[n, at], ends[n, at] = clock.run((work.core, work.pipe), took, max(ready))
    return begins, ends


def _inside_a_core(schedule: Schedule) -> LoopSchedule:
    arrangement, times = schedule.arrangement, schedule.times
    first = min(times.starts.values(), default=0.0)
    statements = []
    for unit in arrangement.units:
        ops = [*walk_ops(unit.stmts)]
        if unit not in times.starts or not unit.stmts:
            continue
        pipes = ", ".join(dict.fromkeys(pipe_of(op).value for op in ops)) or Pipe.S.value
        statements.append(
            ScheduledStatement(
                arrangement.stage[unit], schedule.core.value, pipes,
                times.starts[unit] - first, times.ends[unit] - first,
                _operations(unit.stmts), (ops[-1] if ops else unit.stmts[0]).loc.line,
            )
        )  # fmt: skip
    loc = schedule.loop.loc
    return LoopSchedule(
        loc.file, loc.line, schedule.loop.var.name, _interval(schedule), schedule.bound,
        "" if schedule.skewed else schedule.why, tuple(statements),
        _versions(schedule.versions),
    )  # fmt: skip


def _interval(schedule: Schedule) -> float:
    """From iteration to iteration; the mean where the loop is over before that settles."""
    trips = constant_trips(schedule.loop)
    if trips is None or trips > SETTLED + 1:
        return schedule.times.interval
    return schedule.times.whole / max(1, trips)


def _operations(body: Body) -> str:
    """The names of a statement's operations, "scalar" where no operation is in it."""
    names = dict.fromkeys(op.opdef.name for op in walk_ops(body))
    return ", ".join(names) or "scalar"


def _versions(versions: Mapping[Buffer, int]) -> tuple[tuple[str, int], ...]:
    return tuple((buffer.name, count) for buffer, count in versions.items() if count > 1)
