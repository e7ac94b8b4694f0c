"""How a loop is looked at: modulo what its slots and event ids are taken modulo, unrolled where it
is short, and with its first and last iterations peeled where branches ask for them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tile_checkers.section.conditions import IterationPlace
from tile_checkers.section.state import Flag, PipeState
from tile_ir import (
    Const,
    Effect,
    Expr,
    For,
    If,
    Let,
    Op,
    Stmt,
    Var,
    While,
    constant_value,
    expressions,
    reads_memory,
    resolved,
    simplify,
    walk_expr,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import MOST_RESIDUES, Ranges, trip_count, trips
from tile_ir.analysis.branch_feasibility import Facts, at_least
from tile_ir.analysis.residues import (
    MOST_RESIDUES_OF_EVENTS,
    events_chosen,
    joint_period,
    periods,
    slots_chosen,
)

SYNC = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG, Effect.BARRIER, Effect.SYNC_ALL})
FLAGS = frozenset({Effect.SET_FLAG, Effect.WAIT_FLAG})
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
    `most` bound the number of iterations. The first and the last `peeled` iterations are looked at
    apart from those between. `unrolled` has the values of the variable, if so."""

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


def plan_of(
    loop: For | While,
    known: Ranges,
    values: Mapping[Var, Expr],
    facts: Facts = (),
    confirming: bool = False,
) -> LoopPlan:
    """What is worth telling apart in a loop, given what is known of the variables around it. To
    confirm an alarm, the rounds of every short loop are."""
    anything = frozenset({0})
    if isinstance(loop, While):
        return LoopPlan(1, anything, anything, 0, math.inf)
    start = simplify(resolved(loop.start, values))
    count = trip_count(loop, values)
    least = max(0, at_least(count, known, facts))
    most = max(0, min(trips(loop, known, values).high, -at_least(-count, known, facts)))
    exact = constant_value(count)
    inside = list(walk_statements(loop.body))
    lets = {s.var: s.value for s in inside if isinstance(s, Let) and not reads_memory(s.value)}
    depends = _dependent(loop.var, lets)
    first = constant_value(start)
    events, slots, branches = set[int](), set[int](), set[int]()
    for s in inside:
        asked: list[tuple[set[int], Iterable[Expr]]] = [(slots, slots_chosen(s))]
        if isinstance(s, Op) and s.opdef.effect in FLAGS:
            asked.append((events, events_chosen(s)))
        elif isinstance(s, (If, While, For)):
            asked.append((branches, expressions(s)))
        for found, chosen in asked:
            for e in chosen:
                if not isinstance(e, Const) and any(v in depends for v in walk_expr(e)):
                    found |= periods(resolved(e, lets), loop.var)
    if exact is not None and first is not None and 0 < exact <= MOST_UNROLLED:
        bare = any(_is_bare(s, depends, lets, loop.var) for s in inside)
        small = exact * len(inside) <= MOST_STATEMENTS and exact <= 2
        crowded = math.lcm(*events, *slots) > MOST_RESIDUES
        asked_for = confirming and exact * len(inside) <= MOST_CONFIRMING
        if bare or small or crowded or asked_for or exact == 1:
            return LoopPlan(
                1, anything, anything, exact, exact, 0, tuple(range(first, first + exact))
            )
    # Where there are too many residues, events count before slots, and slots before branches.
    modulus = joint_period(events, MOST_RESIDUES_OF_EVENTS)
    modulus = joint_period(branches, found=joint_period(slots, found=modulus))
    everything = frozenset(range(modulus))
    residue = constant_value(simplify(start % modulus)) if modulus > 1 else 0
    starts = everything if residue is None else frozenset({residue})
    ends = everything
    if residue is not None and exact is not None:
        ends = frozenset({(residue + max(exact, 1) - 1) % modulus})
    guarded = any(_guards(s, depends) for s in inside)
    # Who waits for a slot that was never used asks whether k >= 2 of two slots.
    peeled = min(modulus, MOST_PEELED) if guarded else 0
    return LoopPlan(modulus, starts, ends, least, most, peeled)


def _dependent(var: Var, lets: Mapping[Var, Expr]) -> frozenset[Var]:
    """The loop variable and the lets computed from it."""
    found = {var}
    for name, value in lets.items():
        if any(e in found for e in walk_expr(value)):
            found.add(name)
    return frozenset(found)


def _is_bare(stmt: Stmt, depends: frozenset[Var], lets: Mapping[Var, Expr], var: Var) -> bool:
    """Whether an event id needs the very value of the variable, not a remainder of it."""
    if not isinstance(stmt, Op) or stmt.opdef.effect not in FLAGS:
        return False
    event = stmt.operands[0]
    if not isinstance(event, Expr) or not any(v in depends for v in walk_expr(event)):
        return False
    return not periods(resolved(event, lets), var)


def _guards(stmt: Stmt, depends: frozenset[Var]) -> bool:
    """Whether a branch on the variable decides about synchronisation of what is outside it."""
    if not isinstance(stmt, If) or not any(v in depends for v in walk_expr(stmt.condition)):
        return False
    effects = {
        s.opdef.effect
        for body in (stmt.then, stmt.orelse)
        for s in walk_statements(body)
        if isinstance(s, Op)
    }
    # A barrier next to work inside the branch is there for that work.
    return not effects.isdisjoint(FLAGS) or bool(effects & SYNC and Effect.DATA not in effects)


__all__ = ["FLAGS", "MOST_STATES", "SYNC", "LoopPlan", "Node", "Worklist", "plan_of"]
