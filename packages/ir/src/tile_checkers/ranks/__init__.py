"""Prove that ranks wait for each other as they must, from the final text alone.

For each number of ranks that is asked for, the numbers of the rank, the block and the core are put
into the text, and what every core of every rank does is written down one after the other: places
it touches of symmetric tensors, words it sets and waits for, barriers, flags (`unroll`). Then all
of them are run together (`run`): tables of clocks tell what each core knows to be complete
(`party`), a wait for a word learns what all signals have in common that may have ended it
(`words`). Two accesses to the same bytes of an instance must be in order (`races`).

What stays open is a name: a parameter such as the number of the call, which all ranks are given
alike. One that decides where a core goes is tried with the number of each rank. What data decide is
`sync-unproved`.

Limits: one launch; what a call leaves to the next one is not looked at, but that words go on from
call to call where a parameter counts these. The order of the cores inside a block is proved by
`tile_checkers.block`, and taken as given here where no store to another rank is concerned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tile_checkers.block.streams import pruned
from tile_checkers.loop_facts import FLAGS
from tile_checkers.ranks.core_numbers import CoreNumbers, Figure
from tile_checkers.ranks.events import Await
from tile_checkers.ranks.long_loops import LongLoops
from tile_checkers.ranks.races import never_known, unordered_pairs
from tile_checkers.ranks.reports import RankReports
from tile_checkers.ranks.run import CoreText, run_together
from tile_checkers.ranks.unroll import (
    NOT_FOR_SO_MANY,
    NotTold,
    OutOfPlace,
    StatementBudget,
    Unrolling,
)
from tile_ir import (
    Body,
    Buffer,
    Core,
    Diagnostic,
    Effect,
    Expr,
    Func,
    Memory,
    Op,
    Section,
    Stmt,
    Var,
)
from tile_ir import walk as walk_statements
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
    """What was found, and the numbers of ranks that were looked at."""

    findings: tuple[Diagnostic, ...]
    ranks: tuple[int, ...]


def check_ranks(func: Func, ranks: Iterable[int] = USUAL_RANKS) -> tuple[Diagnostic, ...]:
    """Return what ranks leave to chance between them, with each of these numbers of ranks; nothing
    for a kernel of one device."""
    return prove_ranks(func, ranks).findings


def prove_ranks(func: Func, ranks: Iterable[int] | None = None) -> RanksProof:
    """The same, and what was looked at: where nobody says, those of the usual numbers of ranks
    that the tensors of the kernel have room for."""
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
    """The streams of a kernel, cut down to what concerns other ranks."""

    def __init__(self, func: Func) -> None:
        self.func = func
        lanes = (1,) if func.launch.threads == 1 else (1, 2)
        whole: dict[int, Body] = {}
        for section in func.launch.body:
            if isinstance(section, Section):
                for core in (0,) if section.core is Core.CUBE else lanes:
                    whole[core] = (*whole.get(core, ()), *section.body)
        reaching = {
            id(s): {r.buffer for r, *_ in regions_of(s) if _shared(r.buffer)}
            for body in whole.values()
            for s in walk_statements(body)
        }
        plainly = {
            b
            for body in whole.values()
            for s in walk_statements(body)
            if not (isinstance(s, Op) and s.opdef.effect in _WORDS)
            for b in reaching[id(s)]
        }
        self.words = frozenset(b for found in reaching.values() for b in found) - plainly
        essential = frozenset(at for at, found in reaching.items() if found)
        self.streams = {
            core: pruned(self.with_order(body, reaching), essential)
            for core, body in sorted(whole.items())
        }
        self.meets = {core: frozenset(_meets(body)) for core, body in self.streams.items()}

    def with_order(self, body: Body, reaching: Mapping[int, set[Buffer]]) -> Body:
        """A stream, without the order of its pipes where they touch nothing that ranks share."""
        if any(reaching[id(s)] - self.words for s in walk_statements(body)):
            return body
        return rewrite(body, lambda s: () if _of_pipes(s) else s)

    def check(self, ranks: int, given: dict[Var, Figure], reports: RankReports) -> None:
        """Look at one number of ranks; where a parameter decides, with the number of each rank."""
        says = ", ".join(f"`{v.name}` is {n}" for v, n in given.items())
        reports.given = f", where {says}" if says else ""
        try:
            cores = list(self.cores(ranks, given))
        except NotTold as open_end:
            if open_end.parameters and len(given) < MOST_PARAMETERS:
                for number in range(ranks):
                    self.check(ranks, {**given, open_end.parameters[0]: number}, reports)
            else:
                reports.not_told(open_end)
            return
        except OutOfPlace as found:
            reports.out_of_place(found)
            return
        self.run(cores, reports)

    def fitting(self, counts: Iterable[int]) -> tuple[int, ...]:
        """The numbers of ranks with which no core leaves the tensors of the kernel."""
        return tuple(n for n in counts if self._fits(n))

    def _fits(self, ranks: int) -> bool:
        try:
            for _ in self.cores(ranks, {}):
                pass
        except NotTold:
            return True
        except OutOfPlace as found:
            return found.slug != NOT_FOR_SO_MANY
        return True

    def cores(self, ranks: int, given: dict[Var, Figure]) -> Iterator[CoreText]:
        """What every core of every rank does."""
        launch, budget, long = self.func.launch, StatementBudget(MOST_FOLLOWED), LongLoops()
        at_start: dict[Var, Figure] = {**given, RANKS: ranks}
        blocks = CoreNumbers(at_start).of(launch.blocks)
        if isinstance(blocks, Expr):
            raise NotTold(
                launch.loc, "how many blocks run is not in the text", "give T.Kernel a number"
            )
        for rank in range(ranks):
            for block in range(int(blocks)):
                for core, body in self.streams.items():
                    here = {
                        **at_start,
                        RANK: rank,
                        launch.block: block,
                        launch.lane: max(0, core - 1),
                    }
                    unrolling = Unrolling(here, ranks, self.words, budget, long)
                    unrolling.body(body)
                    yield CoreText(rank, block, core, unrolling.events, self.meets[core])

    def run(self, cores: list[CoreText], reports: RankReports) -> None:
        outcome = run_together(cores)
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
        for late in never_known(outcome.parties, outcome.touched):
            reports.unknown(late)
        heard = {e.word for c in cores for e in c.events if isinstance(e, Await)}
        for word, state in outcome.words.items():
            if word not in heard:
                reports.unheard(word, state)


def _of_pipes(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and stmt.opdef.effect in FLAGS | {Effect.BARRIER}


def _shared(buffer: Buffer) -> bool:
    return buffer.memory is Memory.GM and is_symmetric(buffer)


def _meets(body: Body) -> Iterator[tuple[Among, bool]]:
    for stmt in walk_statements(body):
        if isinstance(stmt, Op) and stmt.opdef.effect is Effect.SYNC_ALL:
            among = stmt.opdef.among
            yield among, among is not Among.BLOCK or bool(stmt.attr("cubes"))


__all__ = ["USUAL_RANKS", "RanksProof", "check_ranks", "prove_ranks", "uses_ranks"]
