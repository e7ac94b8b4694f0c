"""Run all cores of all ranks together, and record each access with the table of its core.

Every core runs until it waits. A wait for a word ends only when no core can run; it then learns the
common part of all signals that may have ended it. A signal that comes later in this run might come
before the wait in another. In that case the checker repeats the run and holds the wait back until
that signal is there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tile_checkers.ranks.counters import RankCounters
from tile_checkers.ranks.events import Await, CoreEvent, Lower, Meet, Raise, Reach, Tell, Word
from tile_checkers.ranks.party import COLUMNS, Party, Table, Touched
from tile_checkers.ranks.words import Name, Sent, Unclear, Waited, WordState
from tile_checkers.touched import S
from tile_ir import Op, Var
from tile_ir.lazy import np
from tile_ir.opdef import Among

# So often a run is done again before nothing more is held back.
MOST_RUNS = 12


@dataclass(frozen=True, slots=True)
class CoreText:
    """One core: its place, its events, and the kinds of barriers in its text."""

    rank: int
    block: int
    core: int
    events: list[CoreEvent]
    meets: frozenset[tuple[Among, bool]]


@dataclass(frozen=True, slots=True)
class Unquiet:
    """A signal while a store to the same rank may be under way."""

    tell: Tell
    store: Reach
    party: Party


@dataclass(frozen=True, slots=True)
class Apart:
    """Two ranks that are at barriers of two places of the text, and meet there."""

    first: Meet
    second: Meet
    ranks: tuple[int, int]


@dataclass(slots=True)
class Outcome:
    """The results of a run: accesses in the order of the run, waits that ended, cores that hang,
    barriers in branches, and reasons why something could not be decided."""

    parties: list[Party]
    words: dict[Word, WordState]
    touched: list[Touched] = field(default_factory=list)
    waited: list[Waited] = field(default_factory=list)
    unquiet: list[Unquiet] = field(default_factory=list)
    hanging: list[Party] = field(default_factory=list)
    apart: list[Apart] = field(default_factory=list)
    unclear: list[tuple[Op, str]] = field(default_factory=list)


def run_together(texts: Iterable[CoreText], steps: Mapping[Var, int] | None = None) -> Outcome:
    """Run until no wait learns more than it surely does. `steps` are those that a call takes in
    parameters that count more than calls."""
    cores = list(texts)
    held: dict[Name, frozenset[Name]] = {}
    for _ in range(MOST_RUNS):
        run = RanksRun(cores, held, steps or {})
        outcome = run.run()
        missed = {w.name: more for w in outcome.waited if (more := run.missed(w))}
        if not missed or outcome.unclear:
            run.look_back()
            return outcome
        held = {
            name: held.get(name, frozenset()) | missed.get(name, frozenset())
            for name in (*held, *missed)
        }
    wait = next(w for w in outcome.waited if w.name in missed)
    outcome.unclear.append((wait.event.op, "too many signals may come in too many orders"))
    return outcome


class RanksRun:
    """One run. A wait in `held` ends once all these signals are there."""

    def __init__(
        self,
        cores: list[CoreText],
        held: Mapping[Name, frozenset[Name]],
        steps: Mapping[Var, int],
    ) -> None:
        self.held = held
        nothing = np.zeros((len(cores), COLUMNS), np.int32)
        self.parties = [
            Party(i, c.rank, c.block, c.core, c.events, nothing) for i, c in enumerate(cores)
        ]
        self.words: dict[Word, WordState] = {}
        for core in cores:
            for event in core.events:
                if isinstance(event, Tell):
                    self.words.setdefault(event.word, WordState(steps)).all_tells.append(event)
                elif isinstance(event, Await):
                    self.words.setdefault(event.word, WordState(steps))
        self.counters = RankCounters(self.parties)
        self.told: set[Name] = set()
        self.outcome = Outcome(self.parties, self.words)
        # Who comes to meetings of a kind, of those among whom it is.
        self.groups: dict[tuple[object, ...], list[Party]] = {}
        self.group_of: dict[tuple[int, Among, bool], tuple[object, ...]] = {}
        for party, core in zip(self.parties, cores, strict=True):
            for among, cubes in core.meets:
                where = {
                    Among.RANKS: (),
                    Among.LAUNCH: (party.rank,),
                    Among.BLOCK: (party.rank, party.block),
                }[among]
                key = (among, cubes, *where)
                self.groups.setdefault(key, []).append(party)
                self.group_of[party.number, among, cubes] = key
        self.at_meeting: dict[tuple[object, ...], list[Party]] = {}

    def run(self) -> Outcome:
        ready = list(self.parties)
        while ready:
            for party in ready:
                self.go(party)
            ready = self.free()
        self.outcome.hanging = [p for p in self.parties if p.event() is not None]
        return self.outcome

    def go(self, party: Party) -> None:
        """Run a core until it depends on another one."""
        while (event := party.event()) is not None:
            match event:
                case Reach():
                    self.outcome.touched.append(party.reach(event))
                case Tell():
                    self.tell(party, event)
                case Raise(pipe=pipe, mode=mode, number=number):
                    self.counters.set(party, mode, number, party.table(pipe))
                case Await() | Lower():
                    return
                case Meet(among=among, cubes=cubes):
                    self.at_meeting.setdefault(
                        self.group_of[party.number, among, cubes], []
                    ).append(party)
                    return
                case _:
                    party.inside(event)
            party.at += 1

    def tell(self, party: Party, event: Tell) -> None:
        _, rank, _ = event.word
        store = None if rank in party.fenced_to else party.open_to.get(rank)
        store = party.copied_to.get(rank, store)
        if store is not None:
            self.outcome.unquiet.append(Unquiet(event, store, party))
        number = party.local.issue(S)
        party.tells += 1
        name = party.number, party.tells
        self.told.add(name)
        sent = Sent(event, party, name, number, party.told_to(rank))
        self.words[event.word].sent.append(sent)

    # Who goes on ---------------------------------------------------------------------------------

    def free(self) -> list[Party]:
        """The cores that can continue now: at barriers and counters first, at words else."""
        found = [p for key in list(self.at_meeting) for p in self.met(key)]
        for party in self.parties:
            event = party.event()
            if isinstance(event, Lower) and self.counters.wait(party, event.number):
                party.at += 1
                found.append(party)
        return found or self.let_waits_go()

    def met(self, key: tuple[object, ...]) -> list[Party]:
        here = self.at_meeting[key]
        if len(here) < len(self.groups[key]):
            return []
        del self.at_meeting[key]
        joined: Table | None = None
        first = here[0].event()
        for party in here:
            event = party.event()
            assert isinstance(event, Meet) and isinstance(first, Meet), "they came here by one"
            if event.among is Among.RANKS and event.op.loc != first.op.loc:
                self.outcome.apart.append(Apart(first, event, (here[0].rank, party.rank)))
            table = party.meeting(event.among is Among.RANKS)
            joined = table if joined is None else np.maximum(joined, table)
        for party in here:
            party.learn(joined)
            party.at += 1
        return here

    def let_waits_go(self) -> list[Party]:
        """End all waits whose words compare with their values now; waits that are held back come
        last."""
        ready: list[tuple[Party, Await, Table]] = []
        late: list[tuple[Party, Await, Table]] = []
        for party in self.parties:
            event = party.event()
            if not isinstance(event, Await):
                continue
            try:
                table = self.words[event.word].behind(event, party)
            except Unclear as why:
                self.outcome.unclear.append((event.op, str(why)))
                return []
            if table is not None:
                wanted = self.held.get((party.number, party.waits), frozenset())
                (ready if wanted <= self.told else late).append((party, event, table))
        if not ready and late:
            _, event, _ = late[0]
            self.outcome.unclear.append(
                (event.op, "which of several signals it goes on by depends on who is first")
            )
        for party, event, table in ready or late:
            self.pass_wait(party, event, table)
        return [party for party, _, _ in ready or late]

    def pass_wait(self, party: Party, event: Await, table: Table) -> None:
        looked_at = frozenset(s.name for s in self.words[event.word].sent)
        own = party.local.issue(S)
        name = party.number, party.waits
        party.waits += 1
        number = party.receive(table)
        party.at += 1
        waited = Waited(event, party, name, number, table, own, looked_at)
        self.outcome.waited.append(waited)

    # Afterwards ----------------------------------------------------------------------------------

    def missed(self, waited: Waited) -> frozenset[Name]:
        return self.words[waited.event.word].missed(waited)

    def look_back(self) -> None:
        """Report words that are set back while a wait may still need their previous value."""
        for waited in self.outcome.waited:
            sent = self.words[waited.event.word].overtaken(waited)
            if sent is not None:
                line = sent.tell.op.loc.line
                why = f"line {line} may set the word back before it is looked at"
                self.outcome.unclear.append((waited.event.op, why))


__all__ = ["Apart", "CoreText", "Outcome", "Unquiet", "run_together"]
