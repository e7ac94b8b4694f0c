"""Interpret the statements of a section abstractly, with all states that may reach them.

`state` has the effect of synchronisation on a state, `access_sites` the conflicts, `loops` the
treatment of a loop, and `findings` the messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tile_checkers.conditions import decide
from tile_checkers.context import Context, launch_context
from tile_checkers.findings import SectionFindings
from tile_checkers.loop_facts import FLAGS, SYNC, LoopFacts, effects_in
from tile_checkers.section.access_sites import NEAR, AccessSite, AccessSites
from tile_checkers.section.loops import (
    MOST_STATES,
    LoopPlan,
    Worklist,
    defined_inside,
    iteration,
    plan_of,
)
from tile_checkers.section.remainders import ended_before, entered, events, not_entered
from tile_checkers.section.state import PipeState, merged
from tile_checkers.touched import NUMBER, Flag, Hazard, pipes_of_flag, touched_by_pipes
from tile_ir import (
    Body,
    Break,
    Const,
    Diagnostic,
    Effect,
    Expr,
    For,
    Func,
    If,
    Let,
    Op,
    Pipe,
    Section,
    Stmt,
    Target,
    Var,
    While,
    constant_value,
    pipe_of,
    reads_memory,
    resolved,
    simplify,
)
from tile_ir.analysis import (
    Interval,
    Sharing,
)
from tile_ir.analysis.branch_feasibility import Facts, facts_of
from tile_ir.quick_dataclasses import replace

States = list[PipeState]
Meaning = tuple[Expr, bool | None, dict[bool, Facts]]


class AbstractInterpreter:
    """Interpret one section; with `sharing`, report only races of the compiler's choices. To
    confirm an alarm, separate the iterations of every short loop."""

    def __init__(
        self, func: Func, target: Target, sharing: Sharing | None, confirming: bool
    ) -> None:
        self.func, self.target = func, target
        self.sharing, self.confirming = sharing, confirming
        self.addresses = {a.buffer: a.address for a in func.launch.allocs if a.address is not None}
        self.sites = AccessSites()
        self.findings = SectionFindings()
        self.known_sites: dict[tuple[int, tuple[Any, ...]], list[AccessSite]] = {}
        self.loops: dict[int, LoopFacts] = {}
        self.plans: dict[tuple[int, tuple[Any, ...]], LoopPlan] = {}
        self.meanings: dict[tuple[Any, ...], Meaning] = {}
        # States in which the open loops are left by `break`.
        self.leaving: list[States] = []

    def section(self, section: Section) -> list[Diagnostic]:
        for state in self.block(section.body, [PipeState()], launch_context(self.func)):
            for flag, raised in state.flags.items():
                self.findings.left_set(raised.loc, flag)
        return self.findings.all()

    # Statements ----------------------------------------------------------------------------------

    def block(self, body: Body, states: States, context: Context) -> States:
        for stmt in body:
            if not states:
                break
            states = self.statement(stmt, states, context)
            if isinstance(stmt, Let):
                context = context.let(stmt)
        return states

    def statement(self, stmt: Stmt, states: States, context: Context) -> States:
        if not isinstance(stmt, While):
            self.touch(stmt, states, context)
        match stmt:
            case Op():
                if stmt.opdef.effect in FLAGS:
                    return self.limited(stmt, merged(self.flag(stmt, states, context)))
                if stmt.opdef.effect in SYNC:
                    self.barrier(pipe_of(stmt), states)
            case If():
                return self.branch(stmt, states, context)
            case For() | While():
                return self.loop(stmt, states, context)
            case Break():
                self.leaving[-1] += [s.copy() for s in states]
                return []
        return states

    def barrier(self, pipe: Pipe, states: States) -> None:
        for state in states:
            if pipe is Pipe.ALL:
                state.barrier_all()
            else:
                state.barrier(NUMBER[pipe], self.sites.of_pipe[NUMBER[pipe]])

    def touch(self, stmt: Stmt, states: States, context: Context) -> None:
        """Run the accesses of a statement in all states."""
        key = (id(stmt), context.key)
        if key not in self.known_sites:
            found = touched_by_pipes(stmt, self.addresses, context.known, context.values)
            self.known_sites[key] = [self.sites.new(stmt, *part, context) for part in found]
        for site in self.known_sites[key]:
            for state in states:
                candidates = state.open[site.pipe]
                if candidates:
                    candidates &= self.sites.may_conflict(site)
                    if candidates and not self.findings.full():
                        for earlier, hazard in self.sites.hazards(site, candidates):
                            if self.is_reported(earlier, site, hazard):
                                pipes = earlier.pipe, site.pipe
                                self.findings.race(earlier.stmt, stmt, pipes, hazard)
                state.execute(site.pipe, self.sites.bit(site, NEAR))

    def is_reported(self, earlier: AccessSite, later: AccessSite, hazard: Hazard) -> bool:
        """All races, or those of sharing and of statements that the compiler generated."""
        if self.sharing is None or self.sharing.clash(hazard.first, hazard.second):
            return True
        return earlier.stmt.loc.generated or later.stmt.loc.generated

    # Flags ---------------------------------------------------------------------------------------

    def flag(self, op: Op, states: States, context: Context) -> States:
        """The states behind a set or a wait; more of them where it names one of several flags."""
        source, target = pipes_of_flag(op)
        event = op.operand("event_id")
        assert isinstance(event, Expr), "the verifier has checked it"
        number = constant_value(simplify(resolved(event, context.values)))
        if number is not None:
            cases = [(number, state) for state in states]
        else:
            named = simplify(resolved(event, context.plain))
            cases = [case for state in states for case in events(named, state)]
        if states and not cases:
            self.findings.unknown_id(op, event)
            return states
        for number, state in cases:
            if number >= self.target.events_per_pair:
                self.findings.undocumented_id(op, number, self.target.events_per_pair)
            self.one_flag(op, (source, target, number), state)
        return [state for _, state in cases]

    def one_flag(self, op: Op, flag: Flag, state: PipeState) -> None:
        source, target, _ = flag
        if op.opdef.effect is Effect.SET_FLAG:
            if flag in state.flags:
                self.findings.set_twice(op, flag, state.flags[flag].loc)
            elif state.open[source] & self.sites.all_waits(flag):
                self.findings.set_early(op, flag)
            state.raise_flag(flag, self.sites.of_pipe[source], op.loc)
        elif flag in state.flags:
            state.lower_flag(flag, self.sites.wait_bit(flag, id(op), target))
        else:
            self.findings.wait_in_vain(op, flag)

    # Branches ------------------------------------------------------------------------------------

    def branch(self, stmt: If, states: States, context: Context) -> States:
        condition, certain, implied = self.meaning(stmt, context)
        # Only where flags are at stake: other facts are joined behind the branch.
        remember = not FLAGS.isdisjoint(effects_in(stmt)) and not reads_memory(condition)
        inside = {v: replace(context, facts=(*context.facts, *implied[v])) for v in (True, False)}
        result: States = []
        for state in states:
            truth = certain if certain is not None else state.conditions.get(condition)
            for value, body in ((True, stmt.then), (False, stmt.orelse)):
                if truth is (not value):
                    continue
                mine = state.copy()
                if truth is None and remember:
                    mine.conditions[condition] = value
                result += self.block(body, [mine], inside[value])
        return self.limited(stmt, merged(result))

    def meaning(self, stmt: If, context: Context) -> Meaning:
        """The condition with definitions put in, whether it is certain, and its consequences on
        both paths."""
        key = (id(stmt), context.key, context.places)
        if key not in self.meanings:
            condition, plain = stmt.condition, context.plain
            implied = {v: facts_of(condition, v, plain) for v in (True, False)}
            known, values = context.known, context.values
            certain = decide(condition, known, values, plain, context.places, context.facts)
            self.meanings[key] = simplify(resolved(condition, plain)), certain, implied
        return self.meanings[key]

    def limited(self, stmt: Stmt, states: States) -> States:
        if len(states) > MOST_STATES:
            self.findings.too_many(stmt)
            return states[:MOST_STATES]
        return states

    # Loops ---------------------------------------------------------------------------------------

    def loop(self, loop: For | While, states: States, context: Context) -> States:
        key = (id(loop), context.key)
        if key not in self.plans:
            its = self.loops.setdefault(id(loop), LoopFacts(loop))
            self.plans[key] = plan_of(its, context, self.confirming)
        plan = self.plans[key]
        self.leaving.append([])
        if plan.unrolled is not None and isinstance(loop, For):
            after = self.unrolled(loop, plan.unrolled, states, context)
        else:
            after = self.repeated(loop, plan, states, context)
        after += self.leaving.pop()
        return self.limited(loop, merged(after))

    def unrolled(
        self, loop: For, values: tuple[int, ...], states: States, context: Context
    ) -> States:
        for value in values:
            number = Const(value, loop.var.dtype)
            inside = replace(
                context,
                known={**context.known, loop.var: Interval.exactly(value)},
                values={**context.values, loop.var: number},
                plain={**context.plain, loop.var: number},
                path=(*context.path, (id(loop), value)),
                key=(*context.key, (id(loop), value)),
            )
            states = self.block(loop.body, states, inside)
        return states

    def repeated(
        self, loop: For | While, plan: LoopPlan, states: States, context: Context
    ) -> States:
        """All iterations, to a fixpoint."""
        depth = len(context.frames)
        frame = (id(loop), context.key)
        after: States = [] if plan.least >= 1 else [s.copy() for s in states]
        if isinstance(loop, While):
            self.touch(loop, states, context)
            after = [s.copy() for s in states]
        bounds = self.bounds_of(loop, plan, context)
        after = list(not_entered(plan, bounds, after))
        local = defined_inside(loop)
        worklist = Worklist()
        for node, state in entered(plan, bounds, states) if plan.most > 0 else ():
            worklist.arrive(node, state)
        while worklist.waiting:
            node, chosen = worklist.take()
            inside = iteration(loop, plan, node, frame, context)
            ended = self.block(loop.body, chosen, inside)
            if isinstance(loop, While):
                self.touch(loop, ended, context)
            if plan.may_end(*node):
                for state in ended:
                    last = state.copy()
                    if ended_before(bounds, node[0] + 1, plan.modulus, last):
                        after.append(last)
            following = list(plan.following(*node))
            if following:
                self.shift(ended, frame, depth, False, local)
                for state in ended:
                    for later in following:
                        worklist.arrive(later, state)
        if worklist.full:
            self.findings.too_many(loop)
        self.shift(after, frame, depth, True, local)
        self.shift(self.leaving[-1], frame, depth, True, local)
        return after

    def bounds_of(
        self, loop: For | While, plan: LoopPlan, context: Context
    ) -> tuple[Expr, Expr] | None:
        """Start and stop of a loop whose residue selects flags; None for other loops."""
        if isinstance(loop, While) or plan.modulus == 1 or FLAGS.isdisjoint(effects_in(loop)):
            return None
        start, stop = (simplify(resolved(e, context.plain)) for e in (loop.start, loop.stop))
        return start, stop

    def shift(
        self,
        states: Iterable[PipeState],
        frame: Any,
        depth: int,
        leaving: bool,
        local: frozenset[Var],
    ) -> None:
        """Begin another iteration of a loop, or leave it: accesses inside it belong to an earlier
        iteration now."""
        moves = self.sites.next_iteration(frame, depth, leaving)
        for state in states:
            state.move(moves, local)


__all__ = ["AbstractInterpreter"]
