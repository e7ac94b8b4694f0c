"""What becomes of every pipelined loop inside one core: how many versions its buffers get, in which
order its statements stand, and what keeps it from being any faster.

Pipes take their work in program order and wait for flags only, so that versions alone let rounds
overlap: the text stays as it is if, by the modelled time, its busiest pipe is then never idle.
Where something stops all that follows it in the text (an element the scalar unit reads, a pipe
that waits for what comes back to it), statements go to later stages. Says nothing about how that is
written (`skew`), nor about both kinds of core (`assign_stages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from tile_ir import (
    Automatic,
    Buffer,
    Effect,
    Func,
    KernelError,
    Loc,
    Target,
    accesses,
    breaks,
    buffer_bytes,
    walk,
    walk_ops,
    written_buffers,
)
from tile_ir.analysis import constant_trips
from tile_passes.analysis.memory_use import memory_max_live
from tile_passes.clock.iteration_work import IterationWork
from tile_passes.clock.loop_timetable import Timetable
from tile_passes.memory.overflow import overflow_by_versions
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.pipelining.given_order import given_order
from tile_passes.pipelining.in_schedule import in_schedule
from tile_passes.pipelining.modulo_schedule import (
    Arrangement,
    arrangements,
    as_written,
    versions_of,
)
from tile_passes.pipelining.plan_versions import Candidates, fits, that_fit, version_candidates
from tile_passes.pipelining.round_units import Unit, owners, round_of
from tile_passes.pipelining.schedule import Schedule

# The part of the time that another order, or another stage, has to leave to be worth it.
WORTH, STAGE_WORTH = 0.95, 0.99
# Statements of a function that other orders may make of one loop, and how many are looked at.
MOST_STATEMENTS = 400
MOST_TRIED = 3


@dataclass(frozen=True, slots=True)
class Fixed:
    """Why no statement of a loop may move, and where that shows."""

    reason: str
    loc: Loc


def plan_pipeline(func: Func, target: Target) -> list[Schedule]:
    """The schedule of every pipelined loop, inner ones first; nothing where the order inside a core
    is the author's."""
    if Automatic.SYNC not in func.automatic:
        return []
    candidates = version_candidates(func)
    # The most bytes first: who moves them is waited for longest.
    handed = [b for c in candidates for b in c.handed]
    size = {a.buffer: buffer_bytes(a) for a in func.launch.allocs if a.buffer in handed}
    handed.sort(key=size.__getitem__, reverse=True)
    versions: Mapping[Buffer, int] = that_fit(func, {}, handed, 2, target)
    found: list[Schedule] = []
    for each in candidates:
        schedule = _Planner(func, each, versions, found, target).schedule()
        versions = {**versions, **schedule.versions}
        found.append(schedule)
    if any(s.skewed for s in found) and not _have_room(func, found, target):
        why = "orders of several loops need more memory"
        return [s if s.loop.given else s.as_written(why) for s in found]
    return found


def _have_room(func: Func, schedules: Sequence[Schedule], target: Target) -> bool:
    """Whether all that is then needed at a time has room: more rounds are in flight."""
    new = in_schedule(func, schedules, target)
    used = {a.buffer.memory for a in new.launch.allocs} & target.capacity.keys()
    apart = Automatic.MEMORY in func.automatic
    if all(fit_side_by_side(new.launch.allocs, m, target, apart) for m in used):
        return True
    most = memory_max_live(new, target)
    return all(size <= target.capacity[m] for m, size in most.items())


def _handed(func: Func) -> frozenset[Buffer]:
    """What the kernel both writes and reads."""
    body = func.launch.body
    read = {r.buffer for op in walk_ops(body) for r, access in accesses(op) if access.reads}
    return written_buffers(body) & read


class _Planner:
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
        self.inner = inner
        self.loop = given.loop
        self.fresh = (*given.handed, *given.others)
        self.round = round_of(func, self.loop, self.fresh)
        self.work = IterationWork(
            self.loop, self.round.units, owners(func), _handed(func), func.launch.blocks,
            given.core, target,
        )  # fmt: skip
        self.trips = constant_trips(self.loop)

    def schedule(self) -> Schedule:
        if self.loop.given:
            return self.of_author()
        if self.loop.stages:
            return self.of_stages(max(2, self.loop.stages))
        best = self.of_stages(2)
        for stages in count(3):
            more = self.of_stages(stages)
            complete = all(more.versions.get(b, 1) == stages for b in self.given.handed)
            if not complete or more.times.whole > STAGE_WORTH * best.times.whole:
                return best
            best = more
        raise AssertionError

    def in_text(self, stages: int) -> Schedule:
        """The order of the text with so many versions of what is handed from pipe to pipe."""
        handed = self.given.handed
        all_versions = that_fit(self.func, self.versions, handed, stages, self.target)
        versions = {b: all_versions[b] for b in handed if b in all_versions}
        short = tuple(b for b in handed if b in self.given.loaded and versions.get(b, 1) < stages)
        text = as_written(self.round)
        times = self.timed(text, versions)
        fixed = self.fixed()
        return Schedule(
            self.loop, self.given.core, self.round, text, times, times, self.work, versions,
            handed, stages, short, fixed.reason if fixed else "",
        )  # fmt: skip

    def of_stages(self, stages: int) -> Schedule:
        """The fastest order with so many versions, of those whose last stage has one left."""
        found = self.in_text(stages)
        if found.why:
            return found
        if found.saturated:
            return replace(found, why="its order leaves no pipe to wait for")
        faster = []
        for arrangement in self.candidates(stages - 1):
            needs = self.needed(arrangement, found.versions)
            if needs is not None:
                times = self.timed(arrangement, needs)
                if times.whole < WORTH * found.times.whole:
                    faster.append(
                        replace(found, arrangement=arrangement, times=times, versions=needs)
                    )
        faster.sort(key=lambda s: s.times.whole)
        for schedule in faster[:MOST_TRIED]:
            if _have_room(self.func, [*self.inner, schedule], self.target):
                return schedule
        why = "other orders need more memory" if faster else "no other order is faster"
        return replace(found, why=why)

    def of_author(self) -> Schedule:
        """The order and stages that the loop gives, or an error."""
        fixed = self.fixed()
        if fixed is not None:
            raise KernelError(
                "loop-schedule",
                f"no order or stage can be given to statements of this loop: {fixed.reason} "
                f"(line {fixed.loc.line})",
                self.loop.loc,
                "leave out `order` and `stage`",
            )
        text = self.in_text(2)
        arrangement = given_order(self.round)
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
        most = min(most, MOST_STATEMENTS // max(1, size) - 1)
        alone = Timetable(self.work, self.round.units, as_written(self.round).stage, {}, 1)
        if self.trips is not None:
            most = min(most, self.trips - 1)
        if most > 0:
            yield from arrangements(self.round, alone, self.work.busiest[1], most)

    def needed(
        self, arrangement: Arrangement, versions: Mapping[Buffer, int]
    ) -> dict[Buffer, int] | None:
        """The versions with those that an order needs; None where there is no room for them."""
        found = {**self.versions, **versions}
        grown = {}
        for buffer, least in versions_of(arrangement, self.fresh).items():
            if least > found.get(buffer, 1):
                found[buffer] = grown[buffer] = least
        if not all(fits(self.func, found, b.memory, self.target) for b in grown):
            return None
        return {b: found[b] for b in self.fresh if b in found}

    def timed(self, arrangement: Arrangement, versions: Mapping[Buffer, int]) -> Timetable[Unit]:
        return Timetable(self.work, arrangement.units, arrangement.stage, versions, self.trips)

    def fixed(self) -> Fixed | None:
        """What keeps all statements in their order, if anything does."""
        for leaving in breaks(self.loop.body):
            return Fixed("a break leaves the loop", leaving.loc)
        for op in walk_ops(self.loop.body):
            if op.opdef.effect in (Effect.SET_CROSS_FLAG, Effect.WAIT_CROSS_FLAG):
                return Fixed("both kinds of core work on it, each waiting for the other", op.loc)
            if op.opdef.effect is not Effect.DATA:
                return Fixed(f"{op.opdef.name} stays where it is written", op.loc)
        return None


__all__ = ["Schedule", "plan_pipeline"]
