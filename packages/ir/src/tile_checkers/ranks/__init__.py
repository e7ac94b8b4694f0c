"""Prove from the final text that ranks wait for each other where they must.

For each number of ranks the checker does three steps.

* `unroll` puts in the numbers of the rank, the block and the core, and lists the events of every
  core of every rank. Events are accesses to symmetric tensors, sets of words and waits for them,
  barriers and flags.
* `run` executes all lists together. Tables of clocks record the complete operations for each core
  (`party`). A wait for a word learns the common part of all signals that may have ended it
  (`words`).
* `races` reports two accesses to the same bytes of an instance that are not in order.

A value that stays open is a name, such as a parameter with the number of the call, which is equal
on all ranks. A parameter that decides a branch of a core is tried with the number of each rank.
A branch or a loop that depends on data may be left out by a run: signals and waits in it give
`sync-unproved`.

Limits: one launch. The state that a call leaves to the next one is out of scope, except that words
continue from call to call where a parameter counts these. The order of one core is proved by
`tile_checkers.sync`, and that of the cores of a block on their own instance by
`tile_checkers.block`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from tile_checkers.block.streams import pruned
from tile_checkers.loop_facts import FLAGS
from tile_checkers.ranks.core_numbers import CoreNumbers, Figure
from tile_checkers.ranks.events import Await, Lower, Raise
from tile_checkers.ranks.long_loops import LongLoops
from tile_checkers.ranks.not_told import NOT_FOR_SO_MANY, NotTold, OutOfPlace, StatementBudget
from tile_checkers.ranks.own_loops import crosses
from tile_checkers.ranks.races import left_open, never_known, unordered_pairs
from tile_checkers.ranks.reports import RankReports
from tile_checkers.ranks.run import CoreText, run_together
from tile_checkers.ranks.turns import turns_that_stand
from tile_checkers.ranks.unroll import Unrolling, open_loop
from tile_ir import (
    Body,
    Buffer,
    Core,
    Diagnostic,
    Effect,
    Expr,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Section,
    Stmt,
    Var,
    with_bodies,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import steps_of_call
from tile_ir.analysis.accesses import regions_of
from tile_ir.opdef import Among
from tile_ir.ranks import RANK, RANKS, is_symmetric
from tile_ir.traversal import rewrite

# The numbers of ranks that are looked at where nobody says.
USUAL_RANKS = (2, 3, 4, 5, 8)
# Statements of all cores together, for one number of ranks.
MOST_FOLLOWED = 600_000
# So many parameters may decide where cores go.
MOST_PARAMETERS = 2
_WORDS = frozenset({Effect.SIGNAL, Effect.AWAIT_SIGNAL})


@dataclass(frozen=True, slots=True)
class RanksProof:
    """The findings, and the numbers of ranks that the proof covers."""

    findings: tuple[Diagnostic, ...]
    ranks: tuple[int, ...]


def check_ranks(func: Func, ranks: Iterable[int] = USUAL_RANKS) -> tuple[Diagnostic, ...]:
    """Return the races between ranks, for each of these numbers of ranks; nothing for a kernel of
    one device."""
    return prove_ranks(func, ranks).findings


def prove_ranks(func: Func, ranks: Iterable[int] | None = None) -> RanksProof:
    """The findings with the numbers of ranks. The default is those of the usual numbers that fit
    the tensors of the kernel."""
    if not uses_ranks(func):
        return RanksProof((), ())
    reports, text = RankReports(), RanksText(func)
    counts = tuple(ranks) if ranks is not None else text.fitting(USUAL_RANKS) or USUAL_RANKS
    for count in counts:
        reports.ranks = count
        text.check(count, {}, reports)
    found = sorted(reports.all(), key=lambda d: (d.loc or func.loc, d.slug, d.message))
    return RanksProof(tuple(found), counts)


def uses_ranks(func: Func) -> bool:
    """Whether a kernel has anything that other ranks reach, or meets them."""
    if any(isinstance(p, Buffer) and is_symmetric(p) for p in func.params):
        return True
    return any(
        isinstance(s, Op) and s.opdef.among is Among.RANKS
        for s in walk_statements(func.launch.body)
    )


class RanksText:
    """The streams of a kernel, reduced to the statements that concern other ranks."""

    def __init__(self, func: Func) -> None:
        self.func = func
        self.steps = {
            param: steps_of_call(func, param) for param in func.params if isinstance(param, Var)
        }
        lanes = (1,) if func.launch.threads == 1 else (1, 2)
        whole: dict[int, Body] = {}
        for section in func.launch.body:
            if isinstance(section, Section):
                for core in (0,) if section.core is Core.CUBE else lanes:
                    whole[core] = (*whole.get(core, ()), *section.body)
        every = [s for body in whole.values() for s in walk_statements(body)]
        self.lent = lent = frozenset(_lent(every))
        touched = {
            id(s): {r.buffer for r, *_ in regions_of(s) if r.memory is Memory.GM} for s in every
        }
        plainly = {
            b
            for s in every
            if not (isinstance(s, Op) and s.opdef.effect in _WORDS)
            for b in touched[id(s)]
        }
        # Blocks of a rank tell each other by words that no other rank reaches.
        reaching = {
            at: {b for b in found if is_symmetric(b) or b in lent or b not in plainly}
            for at, found in touched.items()
        }
        self.words = frozenset(b for found in reaching.values() for b in found) - plainly
        essential = frozenset(at for at, found in reaching.items() if found) | {
            id(s) for s in every if isinstance(s, Op) and s.opdef.effect is Effect.AWAIT_ENGINE
        }
        self.streams = {
            core: pruned(self.with_order(body, reaching), essential)
            for core, body in sorted(whole.items())
        }
        self.meets = {core: frozenset(_meets(body)) for core, body in self.streams.items()}
        self.turns = turns_that_stand(self.streams.values(), self.words)

    def with_order(self, body: Body, reaching: Mapping[int, set[Buffer]]) -> Body:
        """A stream, without the order of its pipes where they touch nothing that ranks share: in
        all of it, or in a task, at whose end nothing is in flight."""
        if not any(reaching[id(s)] - self.words for s in walk_statements(body)):
            return rewrite(body, lambda s: () if _of_pipes(s) else s)

        def of_task(stmt: Stmt) -> Stmt:
            if not isinstance(stmt, For) or stmt.kind is not LoopKind.TASK:
                return stmt
            inside = self.with_order(stmt.body, reaching)
            return stmt if inside is stmt.body else with_bodies(stmt, (inside,))

        return rewrite(body, of_task)

    def check(self, ranks: int, given: dict[Var, Figure], reports: RankReports) -> None:
        """Look at one number of ranks; where a parameter decides, with the number of each rank."""
        if self.turns is not None and self.turns[0] not in given:
            for turns in self.turns[1]:
                self.check(ranks, {**given, self.turns[0]: turns}, reports)
            return
        says = ", ".join(f"`{v.name}` is {n}" for v, n in given.items())
        reports.given = f", where {says}" if says else ""
        left_out: list[tuple[For, Expr]] = []
        try:
            cores = list(self.cores(ranks, given, left_out))
        except NotTold as open_end:
            if open_end.parameters and len(given) < MOST_PARAMETERS + (self.turns is not None):
                for number in range(ranks):
                    self.check(ranks, {**given, open_end.parameters[0]: number}, reports)
            else:
                reports.not_told(open_end)
            return
        except OutOfPlace as found:
            reports.out_of_place(found)
            return
        if not left_out:
            self.run(cores, given, reports)
            return
        without = RankReports()
        self.run(_without_signals(cores, left_out), given, without)
        if without.found:
            reports.not_told(open_loop(*left_out[0]))

    def fitting(self, counts: Iterable[int]) -> tuple[int, ...]:
        """The numbers of ranks with which no core leaves the tensors of the kernel."""
        return tuple(n for n in counts if self._fits(n))

    def _fits(self, ranks: int) -> bool:
        try:
            for _ in self.cores(ranks, dict.fromkeys((self.turns or ())[:1], 1), []):
                pass
        except NotTold:
            return True
        except OutOfPlace as found:
            return found.slug != NOT_FOR_SO_MANY
        return True

    def cores(
        self, ranks: int, given: Mapping[Var, Figure], left_out: list[tuple[For, Expr]]
    ) -> Iterator[CoreText]:
        """The events of every core of every rank, without loops of unknown trip count that do not
        concern others; these go to `left_out`."""
        launch, budget = self.func.launch, StatementBudget(MOST_FOLLOWED)
        long = LongLoops(self.lent)
        at_start: dict[Var, Figure] = {**given, RANKS: ranks}
        blocks = CoreNumbers(at_start).of(launch.blocks)
        if isinstance(blocks, Expr):
            raise NotTold(
                launch.loc, "how many blocks run is not in the text", "give T.Kernel a number"
            )
        places = product(range(ranks), range(int(blocks)), self.streams.items())
        for number, (rank, block, (core, body)) in enumerate(places):
            lane = max(0, core - 1)
            here = {**at_start, RANK: rank, launch.block: block, launch.lane: lane}
            unrolling = Unrolling(here, ranks, self.words, budget, long, self.lent, number)
            unrolling.body(body)
            left_out += unrolling.left_out
            yield CoreText(rank, block, core, unrolling.events, self.meets[core])

    def run(self, cores: list[CoreText], given: Mapping[Var, Figure], reports: RankReports) -> None:
        known = CoreNumbers(dict(given))
        steps = {param: known.of(steps) for param, steps in self.steps.items()}
        told = {param: int(n) for param, n in steps.items() if not isinstance(n, Expr)}
        outcome = run_together(cores, told)
        for op, why in outcome.unclear:
            reports.unclear(op, why)
        for unquiet in outcome.unquiet:
            reports.unquiet(unquiet)
        for apart in outcome.apart:
            reports.apart(apart)
        for pair in unordered_pairs(outcome.touched):
            reports.race(pair)
        if outcome.hanging:
            if not outcome.unclear:
                reports.hang(outcome.hanging, outcome.words)
            return
        for copy in left_open(outcome.touched):
            reports.left_open(copy)
        for late in never_known(outcome.parties, outcome.touched):
            reports.unknown(late)
        if self.turns is not None and given[self.turns[0]] != self.turns[1][-1]:
            return  # what is signalled may be waited for in a later turn
        heard = {e.word for c in cores for e in c.events if isinstance(e, Await)}
        for word, state in outcome.words.items():
            if word not in heard:
                reports.unheard(word, state)


def _without_signals(cores: list[CoreText], left_out: Sequence[tuple[For, Expr]]) -> list[CoreText]:
    """The events of the cores. If a loop was left out in which cores of a block signal each other,
    all such signals go too, since their pairs are unknown."""
    if not any(crosses(loop) for loop, _ in left_out):
        return cores
    return [
        replace(core, events=[e for e in core.events if not isinstance(e, Raise | Lower)])
        for core in cores
    ]


def _of_pipes(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and stmt.opdef.effect in FLAGS | {Effect.BARRIER}


def _lent(statements: Iterable[Stmt]) -> Iterator[Buffer]:
    """Tensors that no other rank reaches, of which the engine reads or writes a part."""
    for stmt in statements:
        if isinstance(stmt, Op) and stmt.opdef.effect is Effect.ENGINE:
            for region, *_ in regions_of(stmt):
                if region.memory is Memory.GM and not is_symmetric(region.buffer):
                    yield region.buffer


def _meets(body: Body) -> Iterator[tuple[Among, bool]]:
    for stmt in walk_statements(body):
        if isinstance(stmt, Op) and stmt.opdef.effect is Effect.SYNC_ALL:
            among = stmt.opdef.among
            yield among, among is not Among.BLOCK or bool(stmt.attr("cubes"))


__all__ = ["USUAL_RANKS", "RanksProof", "check_ranks", "prove_ranks", "uses_ranks"]
