"""Software pipelining: plan how the iterations of a pipelined loop overlap, on one core or on both.

Both planners build a data dependence graph (`dependence_graph`), give each unit a stage, count the
versions of buffers (`plan_versions`), and check that these have room; `skew_loops` writes the loop.

* On one core, pipes take instructions in program order and wait for flags only. Versions alone let
  iterations overlap, and the text stays as it is if its busiest pipe is then never idle in modelled
  time. Otherwise orders and stages are tried (`modulo_schedule`), and the fastest is taken.
* On both kinds of core, a new stage begins where a value comes back from the other one
  (`assign_stages`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product

from tile_ir import (
    Automatic,
    Body,
    Buffer,
    Effect,
    For,
    Func,
    KernelError,
    LoopKind,
    Memory,
    Target,
    accesses,
    breaks,
    buffer_bytes,
    walk,
    walk_ops,
)
from tile_ir.analysis import constant_trips, executions
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.pipes_of_buffers import PipesOfBuffers
from tile_passes.analysis.version_counts import in_step
from tile_passes.clock.iteration_work import IterationWork
from tile_passes.clock.loop_timetable import Timetable
from tile_passes.clock.occupancy import Occupancy, times_of_work
from tile_passes.memory.overflow import overflow_by_versions
from tile_passes.memory.overfull import overfull_memory
from tile_passes.pipelining.assign_stages import assign_stages
from tile_passes.pipelining.dependence_graph import Iteration, Unit, dependence_graph, owners
from tile_passes.pipelining.given_order import given_order
from tile_passes.pipelining.modulo_schedule import (
    Arrangement,
    Periodic,
    arrangements,
    as_written,
    busiest,
    least_interval,
)
from tile_passes.pipelining.plan_versions import (
    Candidates,
    fits,
    fresh_buffers,
    loaded_tiles,
    that_fit,
    version_candidates,
    versions_of,
)
from tile_passes.pipelining.schedule import OneStage, Schedule, Stages
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.streams.items import Step, steps_of
from tile_passes.streams.workspaces import workspaces

# The part of the time that another order, or another stage, has to leave to be worth it.
WORTH, STAGE_WORTH = 0.95, 0.99
# Statements of a function that other orders may make of one loop, and how many are looked at.
MOST_STATEMENTS, MOST_TRIED = 400, 3
# Stages inside a core for which tiles may share event ids.
FEW_STAGES = 4
# Iterations that the last stage over both cores may be behind unless the loop says so.
MOST_BEHIND = 4


def loops_over_cores(body: Body) -> Iterator[For]:
    """The pipelined loops that are not in another one; before the cores are split."""
    for stmt in body:
        match stmt:
            case For(kind=LoopKind.PIPELINED):
                yield stmt
            case For(body=inside):
                yield from loops_over_cores(inside)


def pipeline_cores(func: Func, loop: For, target: Target) -> Stages | OneStage:
    """Plan the stages of a loop over both kinds of core, or say why it has one."""
    if not {Automatic.SYNC, Automatic.CROSS} <= func.automatic:
        return OneStage("the order of the pipes or of the cores is the author's", loop.loc)
    steps: list[Step] = []
    for stmt in loop.body:
        found = steps_of(stmt)
        if found is None:
            return OneStage("a statement has work for both kinds of core", stmt.loc)
        steps += found
    fixed = unmovable(loop)
    if fixed is not None:
        return fixed
    ours = workspaces(func, tuple(step.stmt for step in steps))
    if not ours:
        return OneStage("no copy of it goes from one kind of core to the other", loop.loc)
    own = fresh_buffers(func, {loop})[loop]
    fresh = [*ours, *(a.buffer for a in func.launch.allocs if a.buffer in own)]
    return _stages(func, dependence_graph(func, loop, steps, fresh), fresh, ours, target)


def _stages(
    func: Func,
    iteration: Iteration,
    fresh: Sequence[Buffer],
    ours: Mapping[Buffer, bool],
    target: Target,
) -> Stages | OneStage:
    """As many stages as the modelled times need, and fewer where the versions do not fit. Before
    that, loaded tiles that stages share get one version more where there is room: a load that waits
    for the last stage delays each iteration. Buffers share bytes only where nothing else fits."""
    loop = iteration.loop
    scratch = {a.buffer for a in func.launch.allocs if a.scratch}
    declared = frozenset(b for b, by_author in ours.items() if by_author)
    loaded = loaded_tiles(iteration)
    counts = range(max(1, loop.stages - 1) if loop.stages else MOST_BEHIND, 0, -1)
    overfull = None
    for holes, ahead, most in product((False, True), (True, False), counts):
        arrangement = assign_stages(iteration, ours.keys(), scratch, most, target)
        if isinstance(arrangement, OneStage):
            return arrangement
        least = versions_of(arrangement, fresh, ours.keys())
        versions = {b: n + (ahead and b in loaded) for b, n in least.items() if n > 1}
        stages = Stages(iteration, arrangement, versions, declared)
        overfull = overfull_memory(skew_loops(func, (stages,), target), target, holes=holes)
        if overfull is None:
            return stages
    assert overfull is not None, "one count of stages is tried at least"
    memory, size = overfull
    room = f"{size} bytes of {memory.value}, which has {target.capacity[memory]}"
    return OneStage(f"the versions of more stages take {room}", loop.loc)


def _loaded_by_author(loop: For) -> set[Buffer]:
    """Find the tiles that a loop loads from tensors of the author. A tile from a workspace of the
    compiler was handed over by the other core: stages between cores take the room first."""
    return {
        written.buffer
        for op in walk_ops(loop.body)
        for read, access in accesses(op)
        if access.reads and read.memory is Memory.GM and read.buffer.loc != op.loc
        for written, other in accesses(op)
        if other.writes
    }


def unmovable(loop: For) -> OneStage | None:
    """The reason to keep all statements of a loop in their order, if there is one."""
    for leaving in breaks(loop.body):
        return OneStage("a break leaves the loop", leaving.loc)
    for op in walk_ops(loop.body):
        if op.opdef.effect in (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG):
            return OneStage("both kinds of core work on it, each waiting for the other", op.loc)
        if op.opdef.effect is not Effect.DATA:
            return OneStage(f"{op.opdef.name} stays where it is written", op.loc)
    return None


@lru_cache(maxsize=4)
def pipeline_core(func: Func, target: Target) -> tuple[Schedule, ...]:
    """Plan every pipelined loop inside a core, inner ones first; none in manual order."""
    if Automatic.SYNC not in func.automatic:
        return ()
    candidates = version_candidates(func)
    # What authors ask for first, then what moves most bytes: their transfers take longest.
    often = dict(executions(func.launch.body))
    runs = {b: (not c.loop.stages, -often[c.loop]) for c in candidates for b in c.handed}
    size = {a.buffer: buffer_bytes(a) for a in func.launch.allocs if a.buffer in runs}
    handed = sorted(runs, key=lambda b: (runs[b][0], runs[b][1] * size[b]))
    versions: Mapping[Buffer, int] = that_fit(func, {}, handed, 2, target)
    found: list[Schedule] = []
    for each in candidates:
        schedule = _CorePlanner(func, each, versions, found, target).schedule()
        others = {b: n for b, n in versions.items() if b not in each.handed}
        versions = {**others, **schedule.versions}
        found.append(schedule)
    if any(s.skewed for s in found) and not _has_room(func, found, versions, target):
        why = "orders of several loops need more memory"
        return tuple(s if s.loop.given else s.as_written(why) for s in found)
    return tuple(found)


def _has_room(
    func: Func, plans: Sequence[Schedule], versions: Mapping[Buffer, int], target: Target
) -> bool:
    """Whether what is written has room, with copies of scratch before and behind skewed loops."""
    skewed = [p for p in plans if p.skewed]
    if not {s for p in skewed for s in walk(p.loop.body)} & {p.loop for p in skewed}:
        copies = 1 + sum(1 + len(p.iteration.units) * p.arrangement.last for p in skewed)
        allocs = (a for a in func.launch.allocs for _ in range(copies if a.scratch else 1))
        wider = func.with_body(func.launch.body, allocs=tuple(allocs))
        if all(fits(wider, versions, memory, target) for memory in target.capacity):
            return True
    return not overfull_memory(skew_loops(func, tuple(plans), target), target)


class _CorePlanner:
    """Plans one loop; `versions` is what all loops have, `inner` the loops that are planned."""

    def __init__(
        self,
        func: Func,
        given: Candidates,
        versions: Mapping[Buffer, int],
        inner: Sequence[Schedule],
        target: Target,
    ) -> None:
        self.func, self.given, self.versions, self.target = func, given, versions, target
        self.inner, self.loop, self.fresh = inner, given.loop, (*given.handed, *given.others)
        steps = [Step(stmt, None) for stmt in self.loop.body]
        self.iteration = dependence_graph(func, self.loop, steps, self.fresh)
        self.text = as_written(self.iteration)
        self.work = IterationWork[Unit](func, self.loop, owners(func), given.core, target)
        self.trips = constant_trips(self.loop)
        self.timetables: dict[Hashable, Timetable[Unit]] = {}
        self.rooms: dict[Timetable[Unit], bool] = {}  # what has room, by its times

    def schedule(self) -> Schedule:
        if self.loop.given:
            return self.of_author()
        if self.loop.stages:
            return self.of_stages(max(2, self.loop.stages))
        return self.of_best_stages()

    def of_best_stages(self) -> Schedule:
        """As many as make the loop faster; one if two do not."""
        best, alone = self.of_stages(2), self.timed(self.text, {})
        if best.times.whole >= STAGE_WORTH * alone.whole:
            return replace(
                best, arrangement=self.text, versions={}, times=alone, text=alone, asked=1,
                why="overlapping iterations are not faster",
            )  # fmt: skip
        for stages in range(3, self.most_stages() + 1):
            versions = self.versions_in_text(stages)
            if any(versions.get(b, 1) < stages for b in self.given.handed):
                return best  # there is no room for more
            more = self.of_stages(stages)
            if more.times.whole >= STAGE_WORTH * best.times.whole:
                return best
            best = more
        return best

    def most_stages(self) -> int:
        """As many as there are event ids for: each tile that one pipe hands to another takes one a
        stage. A few in any case, for which tiles share them. No more than iterations."""
        tiles = PipesOfBuffers.of(self.loop.body).most_between_two(self.given.handed)
        most = max(FEW_STAGES, self.target.events_per_pair // max(1, tiles))
        return most if self.trips is None else min(most, self.trips)

    def versions_in_text(self, stages: int) -> dict[Buffer, int]:
        """The versions of each buffer handed from pipe to pipe, as far as there is room."""
        found = that_fit(self.func, self.versions, self.given.handed, stages, self.target)
        return {b: found[b] for b in self.given.handed if b in found}

    def in_text(self, stages: int) -> Schedule:
        """The order of the text with so many versions of the buffers handed from pipe to pipe."""
        handed = self.given.handed
        versions = self.versions_in_text(stages)
        # Who leaves the stages open asks for none in particular.
        loaded = self.given.loaded & _loaded_by_author(self.loop) if self.loop.stages else ()
        short = tuple(b for b in handed if b in loaded and versions.get(b, 1) < stages)
        times = self.timed(self.text, versions)
        fixed = unmovable(self.loop)
        return Schedule(
            self.iteration, self.text, versions, self.given.core, self.bound, times, times, handed,
            stages, short, fixed.reason if fixed else "",
        )  # fmt: skip

    def of_stages(self, stages: int) -> Schedule:
        """The fastest order with so many versions, of those whose last stage has one left."""
        found = self.in_text(stages)
        if found.why:
            return found
        if found.saturated:
            return replace(found, why="its order leaves no pipe to wait for")
        tried = ((a, self.needed(a, found.versions)) for a in self.candidates(stages - 1))
        fit = ((a, n, self.timed(a, n)) for a, n in tried if n is not None)
        faster = [
            replace(found, arrangement=a, times=times, versions=n)
            for a, n, times in sorted(fit, key=lambda one: one[2].whole)
            if times.whole < WORTH * found.times.whole
        ]
        for schedule in faster[:MOST_TRIED]:
            if (times := schedule.times) not in self.rooms:
                plans, versions = (*self.inner, schedule), {**self.versions, **schedule.versions}
                self.rooms[times] = _has_room(self.func, plans, versions, self.target)
            if self.rooms[times]:
                return schedule
        why = "other orders need more memory" if faster else "no other order is faster"
        return replace(found, why=why)

    def of_author(self) -> Schedule:
        """The order and stages that the loop gives, or an error."""
        fixed = unmovable(self.loop)
        if fixed is not None:
            raise KernelError(
                "loop-schedule",
                f"no order or stage can be given to statements of this loop: {fixed.reason} "
                f"(line {fixed.loc.line})",
                self.loop.loc,
                "leave out `order` and `stage`",
            )
        text = self.in_text(2)
        arrangement = given_order(self.iteration)
        versions = self.needed(arrangement, text.versions)
        if versions is None:
            least = {**text.versions, **versions_of(arrangement, self.fresh)}
            raise overflow_by_versions(self.func, self.loop, least, self.target)
        handed, stages = self.given.handed, max(2, self.loop.stages)
        count = that_fit(self.func, {**self.versions, **versions}, handed, stages, self.target)
        versions = {b: count[b] for b in self.fresh if b in count}
        times = self.timed(arrangement, versions)
        return replace(
            text, arrangement=arrangement, times=times, versions=versions, asked=stages, short=()
        )

    def candidates(self, most: int) -> Iterator[Arrangement]:
        size = sum(1 for _ in walk(self.loop.body))
        trips = most + 1 if self.trips is None else self.trips
        most = min(most, trips - 1, MOST_STATEMENTS // max(1, size) - 1)
        if most > 0:
            yield from arrangements(self.iteration, self.alone, self.least, most)

    @cached_property
    def alone(self) -> Mapping[Unit, float]:
        """When each unit starts in an iteration by itself."""
        return Timetable(self.work, self.text.units, self.text.stage, {}, 1).starts

    @cached_property
    def bound(self) -> tuple[str, float]:
        works = (work for unit in self.iteration.units for work in self.work.of(unit, 0))
        (_, pipe), cycles = busiest(Occupancy((None, w.pipe), 0, w.cost.busy) for w in works)
        return pipe.value, cycles

    @cached_property
    def least(self) -> Periodic | None:
        times = {u: times_of_work(self.work.of(u, 0)) for u in self.iteration.units}
        return least_interval(self.iteration, times)

    def needed(
        self, arrangement: Arrangement, versions: Mapping[Buffer, int]
    ) -> dict[Buffer, int] | None:
        """The versions with those that an order needs; None where there is no room for them."""
        found, least = {**self.versions, **versions}, versions_of(arrangement, self.fresh)
        wanted = in_step({b: max(found.get(b, 1), least.get(b, 1)) for b in self.fresh})
        found |= (grown := {b: n for b, n in wanted.items() if n > found.get(b, 1)})
        if not all(fits(self.func, found, m, self.target) for m in {b.memory for b in grown}):
            return None
        return {b: found[b] for b in self.fresh if b in found}

    def timed(self, arrangement: Arrangement, versions: Mapping[Buffer, int]) -> Timetable[Unit]:
        """The same object for the same order and versions: counts of stages have some in common."""
        units, stage = arrangement.units, arrangement.stage
        key = units, tuple(stage[u] for u in units), frozenset(versions.items())
        if key not in self.timetables:
            self.timetables[key] = Timetable(self.work, units, stage, versions, self.trips)
        return self.timetables[key]
