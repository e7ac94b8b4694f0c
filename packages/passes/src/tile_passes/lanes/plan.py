"""The decision for a whole kernel: choose rows, look for what stands against it, choose again."""

from __future__ import annotations

from tile_ir import Func, Memory, Target
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lanes.choice import Choice, choose
from tile_passes.lanes.halves import Unfit, write_halves
from tile_passes.lanes.relations import Node, Reason, Relations, Site, relations_of
from tile_passes.lanes.shared_memory import SHARED, find_conflict


@dataclass(frozen=True, slots=True)
class LanePlan:
    """The decision: the new function, which rows are split, and, where one lane does all the
    work, the reason for that."""

    func: Func
    found: Relations
    choice: Choice
    alone: Reason | None


def plan_lanes(func: Func, target: Target) -> LanePlan:
    """The plan of a kernel whose lanes are the compiler's."""
    found = relations_of(func)
    more: dict[Node, Reason] = {}
    while True:
        choice = choose(found, more)
        if not choice.sizes and not _has_work(found):
            both = replace(func, launch=replace(func.launch, threads=None))
            return LanePlan(both, found, choice, None)
        conflict = find_conflict(found, choice)
        if conflict is None and choice.sizes:
            try:
                halves = write_halves(func, found, choice, target)
                return LanePlan(halves, found, choice, None)
            except Unfit as problem:
                more[problem.node] = problem.reason
            continue
        if conflict is not None and conflict.node is not None:
            more[conflict.node] = conflict.reason
            continue
        nothing = choice.worst or Reason(func.launch.loc, "no tile in ub has two rows")
        if choice.sizes or choice.worst is None:
            nothing = conflict.reason if conflict is not None else nothing
        alone = replace(func, launch=replace(func.launch, threads=1))
        return LanePlan(alone, found, replace(choice, sizes={}), nothing)


def doubled_work(plan: LanePlan) -> dict[Reason, int]:
    """The work that both lanes do, by the reason that keeps it whole."""
    found: dict[Reason, int] = {}
    for site in _tile_work(plan):
        if plan.choice.of(site) is not None:
            continue
        reasons = [plan.choice.whole[n] for n in site.nodes if n in plan.choice.whole]
        for reason in reasons[-1:]:
            found[reason] = found.get(reason, 0) + site.work
    return found


def work_of_lanes(plan: LanePlan) -> tuple[int, int]:
    """The work on tiles that both lanes do, and the work that they share."""
    whole = sum(s.work for s in _tile_work(plan) if plan.choice.of(s) is None)
    return whole, sum(s.work for s in _tile_work(plan)) - whole


def _tile_work(plan: LanePlan) -> list[Site]:
    return [
        site
        for site in plan.found.sites
        if site.is_lanes and any(t.buffer.memory is Memory.UB for t in site.touches)
    ]


def _has_work(found: Relations) -> bool:
    """Whether the vector cores have anything to do that both must not do."""
    return any(
        site.is_lanes
        and any(
            t.buffer.memory is Memory.UB or (t.access.writes and t.buffer.memory in SHARED)
            for t in site.touches
        )
        for site in found.sites
    )
