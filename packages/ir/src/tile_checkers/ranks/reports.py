"""Report errors between ranks, each once: both lines, both cores, and a hint."""

from __future__ import annotations

from tile_checkers.findings import Findings
from tile_checkers.ranks.core_numbers import Figure, as_expr_of
from tile_checkers.ranks.events import Await, Lower, Meet, Word
from tile_checkers.ranks.not_told import NOT_FOR_SO_MANY, NotTold, OutOfPlace
from tile_checkers.ranks.party import Party, Touched
from tile_checkers.ranks.races import RankPair
from tile_checkers.ranks.run import Apart, Unquiet
from tile_checkers.ranks.words import WordState
from tile_ir import Const, Diagnostic, Loc, Op, print_expr
from tile_ir.dtypes import INT32
from tile_ir.ops.ranks import COMPARISONS_OF_WAITS

# So many cores that hang are named.
MOST_NAMED = 4


class RankReports(Findings):
    """Findings between ranks, of all numbers of ranks; the first that shows one is named."""

    def __init__(self) -> None:
        super().__init__()
        self.ranks = 0
        self.given = ""

    def all(self) -> list[Diagnostic]:
        races = {key[1:] for key in self.found if key[0] == "race"}
        raced = {at for key in races for at in key[:2]}
        # What may come too late has been said where a line races, and what may race where it does.
        return [
            d
            for key, d in self.found.items()
            if not (key[0] == "open" and key[1:] in races)
            and not (key[0] == "late" and key[1] in raced)
        ]

    def where(self) -> str:
        return f" (with {self.ranks} ranks{self.given})"

    def race(self, pair: RankPair) -> None:
        one, two = pair.first, pair.second
        name, line = two.reach.buffer.name, one.reach.stmt.loc.line
        message = (
            f"{two.party.name()} {_does(two)} `{name}` of rank {two.reach.rank} here, and nothing "
            f"orders it with line {line}, where {one.party.name()} {_does(one)} it"
        )
        key = (id(one.reach.stmt), id(two.reach.stmt), name)
        if not pair.certain:
            message += ": it is unknown whether they overlap"
            self.unproved(two.reach.stmt.loc, message, _order(pair), ("open", *key))
            return
        self.add(("race", *key), two.reach.stmt.loc, "race", message + self.where(), _order(pair))

    def unquiet(self, found: Unquiet) -> None:
        rank = found.tell.word[1]
        self.add(
            ("unquiet", id(found.tell.op), id(found.store.stmt)),
            found.tell.op.loc,
            "unquiet-signal",
            f"{found.party.name()} signals to rank {rank} while what it has stored there, in line "
            f"{found.store.stmt.loc.line}, may not have arrived: a signal carries only what its "
            f"core has waited for{self.where()}",
            "wait for the handle (T.wait) between the transfer and the signal"
            if found.store.engine
            else "call T.quiet() between the store and the signal",
        )

    def left_open(self, copy: Touched) -> None:
        self.add(
            ("left open", id(copy.reach.stmt)),
            copy.reach.stmt.loc,
            "transfer-open",
            f"the kernel of {copy.party.name()} ends while the engine may still be at this "
            f"transfer{self.where()}",
            "wait for its handle (T.wait)",
        )

    def apart(self, found: Apart) -> None:
        one, two = found.ranks
        self.add(
            ("apart", id(found.first.op), id(found.second.op)),
            found.second.op.loc,
            "barrier-in-branch",
            f"rank {two} comes to this barrier while rank {one} comes to that of line "
            f"{found.first.op.loc.line}: they stand in branches{self.where()}",
            "write one T.barrier() outside of any branch on the rank, the block or the core",
        )

    def unknown(self, store: Touched) -> None:
        name, rank = store.reach.buffer.name, store.reach.rank
        self.unproved(
            store.reach.stmt.loc,
            f"what {store.party.name()} stores here in `{name}` of rank {rank} may come after the "
            "kernel of that rank has ended: no core of it waits for a word behind the store",
            "wait for the word on the rank that gets it (T.wait_ge), or meet at T.barrier()",
            ("late", id(store.reach.stmt)),
        )

    def unheard(self, word: Word, state: WordState) -> None:
        tell = state.all_tells[0]
        self.unproved(
            tell.op.loc,
            f"`{_spelled(word)}` is signalled here, and rank {word[1]} never waits for it",
            "wait for it (T.wait_ge), or leave the signal out",
            ("unheard", id(tell.op)),
        )

    def hang(self, cores: list[Party], words: dict[Word, WordState]) -> None:
        """Report that no core can continue; cores that wait at a barrier lack others that are
        elsewhere."""
        first = cores[0]
        for core in cores:
            if isinstance(core.event(), Meet):
                first = core
                break
        event = first.event()
        assert isinstance(event, Meet | Await | Lower), "it hangs at one"
        told = "; ".join(f"{c.name()} {_waits(c, words)}" for c in cores[:MOST_NAMED])
        more = f"; and {len(cores) - MOST_NAMED} more wait" if len(cores) > MOST_NAMED else ""
        mismatch = isinstance(event, Meet)
        slug = "collective-mismatch" if mismatch else "deadlock"
        self.add(
            (slug, id(event.op)),
            event.op.loc,
            slug,
            f"no core can go on: {told}{more}; all others have ended{self.where()}",
            "let every core of every rank come to it equally often, outside of any branch on the "
            "rank"
            if mismatch
            else "let the rank that is waited for call T.signal before it waits itself, in every "
            "branch",
        )

    def out_of_place(self, found: OutOfPlace) -> None:
        if found.slug == NOT_FOR_SO_MANY:
            self.unproved(found.loc, found.what, found.hint)
            return
        self.add((found.slug, found.loc), found.loc, found.slug, found.what, found.hint)

    def not_told(self, found: NotTold) -> None:
        self.unproved(found.loc, found.why, found.hint)

    def unclear(self, op: Op, why: str) -> None:
        self.unproved(
            op.loc,
            f"the signals for this wait are unknown: {why}",
            "let words only grow: set them to the number of the call, or add to them",
        )

    def unproved(
        self, loc: Loc, why: str, hint: str, key: tuple[object, ...] | None = None
    ) -> None:
        message = f"could not prove the order between ranks: {why}{self.where()}"
        self.add(key or ("unproved", loc, why), loc, "sync-unproved", message, hint, "warning")


def _does(access: Touched) -> str:
    return "writes" if access.reach.writes else "reads"


def _order(pair: RankPair) -> str:
    one, two = pair.first.reach.stmt.loc.line, pair.second.reach.stmt.loc.line
    if pair.first.party is pair.second.party:
        return "wait for the handle of the transfer (T.wait) between them"
    done = "T.wait of its handle" if pair.first.reach.engine else "T.quiet"
    return (
        f"signal behind line {one} once it is complete ({done}, T.signal) and wait for the word "
        f"before line {two} (T.wait_ge), or the other way round; or meet between them at T.barrier"
    )


def _spelled(word: Word) -> str:
    buffer, _, place = word
    # Words keep a cache line each: the last index says where in it.
    shown = place[:-1] if len(place) > 1 and place[-1] == 0 else place
    return f"{buffer.name}[{', '.join(map(_text, shown))}]"


def _text(value: Figure) -> str:
    return print_expr(as_expr_of(value, Const(0, INT32)))


def _waits(core: Party, words: dict[Word, WordState]) -> str:
    event = core.event()
    match event:
        case Await(word=word, value=value, until=until):
            sent = words[word].sent
            last = "no rank has signalled" if not sent else "the signals so far do not reach"
            sign = COMPARISONS_OF_WAITS[until]
            return (
                f"waits for `{_spelled(word)}` of rank {word[1]} {sign} {_text(value)} (line "
                f"{event.op.loc.line}), which {last}"
            )
        case Meet():
            return f"waits for others in line {event.op.loc.line}"
        case Lower(number=number):
            return f"waits for flag {number} in line {event.op.loc.line}"
    return "goes on"


__all__ = ["RankReports"]
