"""Choose the abstraction of a loop, and the facts of its iterations.

The interpreter separates iterations by the residue of the variable, modulo the number of slots and
event ids. It separates the first and last ones where branches require it, and unrolls short loops.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from tile_checkers.conditions import IterationPlace
from tile_checkers.context import Context
from tile_checkers.loop_facts import FLAG, FLAGS, SLOT, SYNC, WAY, LoopFacts, effects_in
from tile_checkers.section.state import PipeState
from tile_checkers.touched import Flag
from tile_ir import (
    Effect,
    For,
    If,
    Let,
    Stmt,
    Var,
    While,
    constant_value,
    linear_form,
    resolved,
    simplify,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import (
    MOST_RESIDUES,
    iterations_in,
    iterations_of,
    loop_range,
    trip_count,
    trips,
)
from tile_ir.analysis.branch_feasibility import facts_in
from tile_ir.analysis.residues import MOST_RESIDUES_OF_EVENTS, joint_period, periods
from tile_ir.quick_dataclasses import dataclass, replace

# Longer loops than this are not unrolled.
MOST_UNROLLED = 8
# More sets of flags than this at one point are not told apart.
MOST_STATES = 64
# So many iterations at either end are peeled where branches ask for it.
MOST_PEELED = 3
# The residue of an iteration, and where it stands.
Node = tuple[int, IterationPlace]
# Statements of an unrolled loop, all iterations together; and where alarms are to be confirmed.
MOST_STATEMENTS, MOST_CONFIRMING = 64, 400


@dataclass(frozen=True, slots=True)
class LoopPlan:
    """`starts` and `ends` are the residues the first and the last iteration can have; `least` and
    `most` bound the number of iterations. The first and the last `peeled` iterations are separate
    from those between. `unrolled` has the values of the variable, if the loop is unrolled."""

    modulus: int
    starts: frozenset[int]
    ends: frozenset[int]
    least: float
    most: float
    peeled: int = 0
    unrolled: tuple[int, ...] | None = None

    def entries(self) -> Iterator[tuple[int, IterationPlace]]:
        for residue in self.starts:
            for behind in range(self.peeled + 1):
                place = IterationPlace(0, behind, self.peeled == 0, behind == self.peeled)
                if self.possible(residue, place):
                    yield residue, place

    def following(
        self, residue: int, place: IterationPlace
    ) -> Iterator[tuple[int, IterationPlace]]:
        """The kinds of iteration that may come next."""
        if place.before + 2 > self.most:
            return
        if self.most <= self.modulus and len(self.starts) == 1:
            # Every residue comes once at most.
            (first,) = self.starts
            if (residue - first) % self.modulus + 2 > self.most:
                return
        before = min(place.before + 1, self.peeled)
        choices = {place.behind - 1, place.behind} if place.more_behind else {place.behind - 1}
        for behind in choices:
            if behind < 0:
                continue
            after = (residue + 1) % self.modulus
            more_before = place.more_before or place.before + 1 >= self.peeled
            found = IterationPlace(before, behind, more_before, behind == self.peeled)
            if self.possible(after, found):
                yield after, found

    def possible(self, residue: int, place: IterationPlace) -> bool:
        """Whether the number of iterations, and the residue of the last one, allow it."""
        count = place.before + place.behind + 1
        if count > self.most or (
            not (place.more_before or place.more_behind) and count < self.least
        ):
            return False
        return place.more_behind or (residue + place.behind) % self.modulus in self.ends

    def may_end(self, residue: int, place: IterationPlace) -> bool:
        return place.behind == 0 and residue in self.ends


@dataclass(slots=True)
class Worklist:
    """All states in which iterations of a loop begin, and those still to be interpreted."""

    states: dict[Node, dict[frozenset[Flag], PipeState]] = field(default_factory=dict)
    waiting: dict[Node, set[frozenset[Flag]]] = field(default_factory=dict)
    full: bool = False

    def arrive(self, node: Node, state: PipeState) -> None:
        at = self.states.setdefault(node, {})
        configuration = state.configuration()
        if configuration in at:
            if not at[configuration].join(state):
                return
        elif len(at) < MOST_STATES:
            at[configuration] = state.copy()
        else:
            self.full = True
            return
        self.waiting.setdefault(node, set()).add(configuration)

    def take(self) -> tuple[Node, list[PipeState]]:
        node = next(iter(self.waiting))
        return node, [self.states[node][c].copy() for c in self.waiting.pop(node)]


def iteration(
    loop: For | While, plan: LoopPlan, node: Node, frame: Any, context: Context
) -> Context:
    """The facts in an iteration of one kind."""
    residue, place = node
    frames, path = (*context.frames, frame), (*context.path, loop)
    key = (*context.key, (id(loop), residue)) if plan.modulus > 1 else context.key
    if isinstance(loop, While):
        return replace(context, frames=frames, path=path, key=key)
    values = context.values
    known = {**context.known, loop.var: loop_range(loop, context.known, plan.most)}
    if plan.modulus > 1:
        step = iterations_of(loop.var)
        known[step] = iterations_in(known[loop.var], residue, plan.modulus)
        values = {**values, loop.var: step * plan.modulus + residue}
    places = context.places if plan.peeled == 0 else (*context.places, (loop, place))
    facts = (*context.facts, *facts_in(loop, context.plain))
    return replace(
        context,
        known=known,
        values=values,
        path=path,
        frames=frames,
        key=key,
        places=places,
        facts=facts,
    )


def defined_inside(loop: For | While) -> frozenset[Var]:
    found = {s.var for s in walk_statements(loop.body) if isinstance(s, (For, Let))}
    if isinstance(loop, For):
        found.add(loop.var)
    return frozenset(found)


def plan_of(its: LoopFacts, context: Context, confirming: bool) -> LoopPlan:
    """Return the iterations to separate in a loop, given the facts around it. To confirm an alarm,
    separate all iterations of every short loop."""
    anything = frozenset({0})
    loop, known, values = its.loop, context.known, context.values
    if isinstance(loop, While):
        return LoopPlan(1, anything, anything, 0, math.inf)
    start = simplify(resolved(loop.start, values))
    count = trip_count(loop, values)
    # Facts speak of variables as they are written, values of their residues.
    residues, written = (trips(loop, known, v, context.facts) for v in (values, context.plain))
    least, most = max(residues.low, written.low), min(residues.high, written.high)
    exact, first = constant_value(count), constant_value(start)
    events, slots = its.periods(FLAG), its.periods(SLOT)
    if exact is not None and first is not None and 0 < exact <= MOST_UNROLLED:
        size = exact * len(its.inside)
        # An event id may need the very value of the variable, not a remainder of it.
        bare = any(k == FLAG and not periods(e, loop.var) for k, _, e in its.chosen)
        small = size <= MOST_STATEMENTS and exact <= 2
        crowded = math.lcm(*events, *slots) > MOST_RESIDUES
        if bare or small or crowded or exact == 1 or (confirming and size <= MOST_CONFIRMING):
            numbers = tuple(range(first, first + exact))
            return LoopPlan(1, anything, anything, exact, exact, 0, numbers)
    # Where there are too many residues, events count before slots, and slots before branches.
    modulus = joint_period(events, MOST_RESIDUES_OF_EVENTS)
    modulus = joint_period(its.periods(WAY), found=joint_period(slots, found=modulus))
    ends = frozenset(range(modulus))
    terms, constant = linear_form(start)
    step = math.gcd(modulus, *terms.values())  # of `2 * n` every second residue
    starts = frozenset(r for r in ends if (r - constant) % step == 0)
    residue = constant_value(simplify(start % modulus)) if modulus > 1 else 0
    if residue is not None:
        starts = frozenset({residue})
        if exact is not None:
            ends = frozenset({(residue + max(exact, 1) - 1) % modulus})
    # A wait for a slot that was never used depends on whether k >= 2 of two slots.
    guarded = any(kind == WAY and _guards(s) for kind, s, _ in its.chosen)
    return LoopPlan(modulus, starts, ends, least, most, min(modulus, MOST_PEELED) * guarded)


def _guards(stmt: Stmt) -> bool:
    """Whether a branch controls synchronisation of statements outside it."""
    if not isinstance(stmt, If):
        return False
    effects = effects_in(stmt)
    # A barrier next to work inside the branch is there for that work.
    return not effects.isdisjoint(FLAGS) or bool(effects & SYNC and Effect.DATA not in effects)


__all__ = [
    "MOST_STATES",
    "LoopPlan",
    "Node",
    "Worklist",
    "defined_inside",
    "iteration",
    "plan_of",
]
