"""What is said about order between cores: both lines, cores and pipes, and what to do."""

from __future__ import annotations

from dataclasses import replace

from tile_checkers.block.accesses import UnorderedPair
from tile_checkers.block.counters import Counter, Trouble
from tile_checkers.block.samples import Sample
from tile_checkers.block.streams import NAMES, StreamSite
from tile_checkers.touched import PIPES
from tile_ir import Diagnostic, Loc, Op, Stmt, print_expr

# Nobody reads more than this.
MOST_FINDINGS = 200


class BlockFindings:
    """Each once, however many ways lead to it. `way` is the one at hand, in words, `certain`
    says whether all cores surely take it together, and `growing` whether some counter rises with
    every round of a loop. `own_part` is what gives a vector core its own work, and `alike` whether
    the kernel never asks which one it is; `limit` is what a counter holds. Two stores of the two
    vector cores to one place are left out where `lanes_apart` says that the author gave each its
    own."""

    def __init__(self, own_part: str, alike: bool, limit: int, lanes_apart: bool = False) -> None:
        self.limit = limit
        self.lanes_apart = lanes_apart
        self.own_part = own_part
        self.alike = alike
        self.found: dict[tuple[object, ...], Diagnostic] = {}
        self.unsure: dict[tuple[object, ...], Diagnostic] = {}
        self.growing = False

    def all(self) -> list[Diagnostic]:
        unsure = [d for key, d in self.unsure.items() if key not in self.found]
        passed = any(d.slug == "cross-flag-overflow" for d in self.found.values())
        # What rises does no harm but to pass the limit, which is said where it does.
        surely = [d for key, d in self.found.items() if not (passed and key[0] == "rises")]
        return [*surely, *unsure]

    def errors(self) -> bool:
        return any(d.severity == "error" for d in self.all())

    def proved(self) -> bool:
        """Whether nothing is left to chance, and no more rounds would change that: a store that
        both vector cores repeat is waste, and no question of how often loops run."""
        return not self.growing and all(d.slug == "redundant-store" for d in self.all())

    def full(self) -> bool:
        return len(self.found) + len(self.unsure) >= MOST_FINDINGS

    # Accesses ------------------------------------------------------------------------------------

    def meeting(self, met: UnorderedPair) -> None:
        one, two = met.first, met.second
        name, kind = met.hazard.first.region.buffer.name, met.hazard.kind
        if met.alike and kind == "WAW":
            self.redundant(two.stmt, name)
            return
        stores_of_lanes = bool(one.core and two.core and kind == "WAW")
        if stores_of_lanes and self.lanes_apart:
            return
        did = "writes" if met.hazard.first.writes else "reads"
        does = "writes" if met.hazard.second.writes else "reads"
        low, high = met.hazard.bytes
        where = f", bytes {low:.0f} to {high:.0f}" if high < float("inf") else ""
        if met.sample:
            where += f", for example with {_numbers(met.sample)}"
        key = (id(one.stmt), id(two.stmt), kind)
        open_key = ("open", *key)
        if not met.certain:
            if key not in self.found:
                self.found[open_key] = _unproved(
                    two.stmt.loc,
                    f"{_who(two)} {does} `{name}`, perhaps where {_who(one)} {did} it in line "
                    f"{one.stmt.loc.line}, and nothing says which comes first",
                    "let the places be sums of multiples of loop variables and launch indices, or "
                    "put a cross flag between them",
                )
            return
        self.found.pop(open_key, None)
        self.add(
            key,
            two.stmt.loc,
            "cross-sync-missing",
            f"{_who(two)} {does} `{name}` before line {one.stmt.loc.line}, where {_who(one)} "
            f"{did} it, is surely complete ({kind}{where})",
            self.own_part
            if self.alike and one.core and two.core
            else _places_of_their_own(one, two)
            if stores_of_lanes
            else _signal(one, two),
        )

    def redundant(self, stmt: Stmt, name: str) -> None:
        self.add(
            ("redundant", id(stmt)),
            stmt.loc,
            "redundant-store",
            f"both vector cores store the same part of `{name}` here",
            self.own_part,
            "warning",
        )

    # Counters ------------------------------------------------------------------------------------

    def trouble(self, core: int, op: Op, found: Trouble) -> None:
        match found.kind:
            case "order":
                self.two_pipes(core, op, found.counter, found.other)
            case "mode":
                self.two_modes(op, found.counter)
            case _:
                self.overflow(op, found.counter, found.other)

    def two_pipes(self, core: int, op: Op, counter: Counter, other: Op | None) -> None:
        line = other.loc.line if other is not None else 0
        self.add(
            ("order", id(op), counter[1]),
            op.loc,
            "cross-flag-order",
            f"flag {counter[1]} may be raised here before line {line} raises it: {NAMES[core]} "
            "sets it from two pipes, and nothing says which comes first",
            "take another flag, or let one pipe wait for the other",
        )

    def two_modes(self, op: Op, counter: Counter) -> None:
        self.add(
            ("mode", id(op), counter[1]),
            op.loc,
            "cross-flag-mode",
            f"counter {counter[1]} of {NAMES[counter[0]]} may still hold what was set in another "
            "mode",
            "take another flag, or wait for every earlier set first",
        )

    def overflow(self, op: Op, counter: Counter, wait: Op | None) -> None:
        line = f", in line {wait.loc.line}," if wait is not None else ""
        self.add(
            ("overflow", id(op), counter[1]),
            op.loc,
            "cross-flag-overflow",
            f"counter {counter[1]} of {NAMES[counter[0]]} may pass {self.limit}: nothing makes the "
            f"set here come after the waits{line} of so many rounds ago",
            "let the core that waits answer by a flag of its own, and wait for that here",
        )

    def hangs(self, core: int, op: Op, number: int | None, others: str) -> None:
        what = "the other cores" if number is None else f"flag {number}"
        why = "which do not come" if number is None else "which nobody sets any more"
        self.add(
            ("hang", id(op)),
            op.loc,
            "cross-flag-not-set",
            f"{NAMES[core]} waits here for {what}, {why}: the kernel would hang{others}",
            "set it once on every way to this wait"
            if number is not None
            else "let all cores come here equally often",
        )

    def alone(self, core: int, number: int, op: Op) -> None:
        self.add(
            ("alone", core, id(op)),
            op.loc,
            "cross-flag-one-lane",
            f"{NAMES[core]} sets flag {number} here, and the other vector core does not: it counts "
            "once both have set it",
            "set it outside what depends on the number of the vector core",
        )

    def left(self, counter: Counter, count: int, op: Op) -> None:
        self.add(
            ("left", counter[1], id(op)),
            op.loc,
            "cross-flag-left-set",
            f"counter {counter[1]} of {NAMES[counter[0]]} is still {count} at the end of the "
            "kernel",
            f"wait for it once more behind the last use: T.wait_cross_flag({counter[1]})",
            "warning",
        )

    def rises(self, loop: Stmt) -> None:
        self.growing = True
        self.found["rises", loop.loc] = _unproved(
            loop.loc,
            "a counter rises with every round of this loop",
            "let the core that waits answer by a flag of its own",
        )

    # Limits --------------------------------------------------------------------------------------

    def unproved(self, loc: Loc, why: str, hint: str) -> None:
        self.found.setdefault(("unproved", loc, why), _unproved(loc, why, hint))

    def take(self, run: BlockFindings, certain: bool, way: str) -> None:
        """Take in what was found in one run, on a way that all cores surely take together if that
        is `certain`."""
        self.growing |= run.growing
        when = f" (where {way})" if way else ""
        for key, d in run.found.items():
            if key in self.found or self.full():
                continue
            if key[0] == "open" and key[1:] in self.found:
                continue
            self.found.pop(("open", *key), None)
            if d.slug == "sync-unproved" or certain:
                self.found[key] = replace(d, message=d.message + when)
            elif key not in self.unsure:
                hint = "let all cores decide by the same parameters, launch indices or gm elements"
                self.unsure[key] = _unproved(d.loc, d.message + when, hint)

    def add(
        self,
        key: tuple[object, ...],
        loc: Loc,
        slug: str,
        message: str,
        hint: str,
        severity: str = "error",
    ) -> None:
        if key in self.found or self.full():
            return
        self.found[key] = Diagnostic(slug, message, loc, hint, severity)


def _unproved(loc: Loc | None, why: str, hint: str) -> Diagnostic:
    message = f"could not prove the order between cores: {why}"
    return Diagnostic("sync-unproved", message, loc, hint, "warning")


def _who(site: StreamSite) -> str:
    name: str = PIPES[site.pipe].value
    return f"{name} of {NAMES[site.core]}"


def _numbers(sample: Sample) -> str:
    return ", ".join(f"`{print_expr(v)}` {n}" for v, n in sample.items())


def _places_of_their_own(one: StreamSite, two: StreamSite) -> str:
    hint = "let each vector core store to places of its own"
    return hint if one.stmt is two.stmt else f"{hint}, or {_signal(one, two)}"


def _signal(one: StreamSite, two: StreamSite) -> str:
    """What orders two accesses of two cores. Nothing says which of them is meant to come first: the
    streams were run in one order of many."""
    first, second = one.stmt.loc.line, two.stmt.loc.line
    if first == second:
        return _handover(one, two)
    return (
        f"if line {first} has to come first, {_handover(one, two)}; "
        f"if line {second} has to, {_handover(two, one)}"
    )


def _handover(one: StreamSite, two: StreamSite) -> str:
    pipe = PIPES[one.pipe].value
    if pipe == "s":
        pipe = "mte3" if one.core else "fix"
    mode = ", mode=1" if one.core and two.core else ""
    return (
        f'T.set_cross_flag("{pipe}", id{mode}) behind it and T.wait_cross_flag(id) before line '
        f"{two.stmt.loc.line}"
    )


__all__ = ["BlockFindings"]
