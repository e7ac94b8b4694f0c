"""Collect findings about order, each once: both lines, cores and pipes, and a hint."""

from __future__ import annotations

from tile_checkers.block.accesses import UnorderedPair
from tile_checkers.block.streams import NAMES, StreamSite
from tile_checkers.touched import PIPES, Flag, Hazard
from tile_ir import Diagnostic, Expr, Loc, Memory, Op, Stmt, print_expr
from tile_ir.quick_dataclasses import replace

# Nobody reads more than this.
MOST = 200
# A core, and the number of one of its counters.
Counter = tuple[int, int]


class Findings:
    """Findings by key, so that several paths to one finding report it once."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], Diagnostic] = {}

    def all(self) -> list[Diagnostic]:
        return list(self.found.values())

    def full(self) -> bool:
        return len(self.found) >= MOST

    def add(
        self,
        key: tuple[object, ...],
        loc: Loc | None,
        slug: str,
        message: str,
        hint: str,
        severity: str = "error",
    ) -> None:
        if key not in self.found and not self.full():
            self.found[key] = Diagnostic(slug, message, loc, hint, severity)


class SectionFindings(Findings):
    """Findings inside one core."""

    def race(self, first: Stmt, second: Stmt, pipes: tuple[int, int], hazard: Hazard) -> None:
        one, two = map(_pipe, pipes)
        a, b = hazard.first, hazard.second
        place = b.place.value if isinstance(b.place, Memory) else f"`{b.place.name}`"
        low, high = hazard.bytes
        self.add(
            (id(first), id(second), hazard.kind, b.region.buffer),
            second.loc,
            "sync-missing",
            f"{two} {_does(hazard)} `{b.region.buffer.name}` before line {first.loc.line}, "
            f"where {one} {_did(hazard)} `{a.region.buffer.name}`, is surely complete "
            f"({hazard.kind}, bytes {low:g} to {high:g} of {place})",
            _missing(one, two),
        )

    def about(self, loc: Loc, slug: str, message: str, hint: str) -> None:
        # Unlike races, all of them are told.
        self.found.setdefault((slug, loc, message), Diagnostic(slug, message, loc, hint))

    def set_twice(self, op: Op, flag: Flag, earlier: Loc) -> None:
        self.about(
            op.loc,
            "flag-set-twice",
            f"{_flag(flag)} may still be set, by line {earlier.line}",
            "wait for it before it is set again, or take another event id",
        )

    def set_early(self, op: Op, flag: Flag) -> None:
        source, target = _pipe(flag[0]), _pipe(flag[1])
        self.about(
            op.loc,
            "flag-set-early",
            f"{_flag(flag)} is set again before {source} can know that {target} has waited for it",
            f"let {target} tell {source} by a flag, or take another event id",
        )

    def wait_in_vain(self, op: Op, flag: Flag) -> None:
        self.about(
            op.loc,
            "flag-not-set",
            f"{_flag(flag)} may not be set here: the kernel would hang",
            "set it once on every way to this wait",
        )

    def left_set(self, loc: Loc, flag: Flag) -> None:
        self.about(
            loc,
            "flag-left-set",
            f"{_flag(flag)} may still be set at the end of the kernel",
            "wait for it once behind the last use",
        )

    def undocumented_id(self, op: Op, number: int, documented: int) -> None:
        self.about(
            op.loc,
            "event-id",
            f"{op.opdef.name}: event_id is {number}, but documents name 0 to {documented - 1} only",
            f"take an id from 0 to {documented - 1}",
        )

    def unknown_id(self, op: Op, event: Expr) -> None:
        self.about(
            op.loc,
            "flag-id-unknown",
            f"{op.opdef.name}: the flag id `{print_expr(event)}` is unknown at compile time",
            "take a constant, a loop variable of few iterations, or a remainder of one",
        )

    def too_many(self, stmt: Stmt) -> None:
        self.about(
            stmt.loc,
            "sync-too-many-states",
            "the flags set here depend on too many branches to be followed",
            "set and wait for flags on every way alike",
        )


class BlockFindings(Findings):
    """Findings between cores. `growing` says whether a counter rises with every iteration of a
    loop. `own_part` is the hint that gives a vector core its own work, and `alike` says whether the
    kernel never uses the number of its vector core. `lanes_apart` says that the author gave each
    vector core its own places; then two stores of both to one place are no finding."""

    def __init__(self, own_part: str, alike: bool, lanes_apart: bool = False) -> None:
        super().__init__()
        self.lanes_apart = lanes_apart
        self.own_part = own_part
        self.alike = alike
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

    def full(self) -> bool:
        return len(self.found) + len(self.unsure) >= MOST

    # Accesses ------------------------------------------------------------------------------------

    def unordered(self, met: UnorderedPair) -> None:
        one, two, hazard = met.first, met.second, met.hazard
        name = hazard.first.region.buffer.name
        if met.alike and hazard.kind == "WAW":
            self.add(
                ("redundant", id(two.stmt)),
                two.stmt.loc,
                "redundant-store",
                f"both vector cores store the same part of `{name}` here",
                self.own_part,
                "warning",
            )
            return
        stores_of_lanes = bool(one.core and two.core and hazard.kind == "WAW")
        if stores_of_lanes and self.lanes_apart:
            return
        key = (id(one.stmt), id(two.stmt), hazard.kind)
        open_key = ("open", *key)
        line = one.stmt.loc.line
        if not met.certain:
            if key not in self.found:
                self.found[open_key] = _unproved(
                    two.stmt.loc,
                    f"{_who(two)} {_does(hazard)} `{name}`, perhaps where {_who(one)} "
                    f"{_did(hazard)} it in line {line}, and nothing says which comes first",
                    "let the places be sums of multiples of loop variables and launch indices, or "
                    "put a cross flag between them",
                )
            return
        low, high = hazard.bytes
        where = f", bytes {low:.0f} to {high:.0f}" if high < float("inf") else ""
        if met.sample:
            numbers = (f"`{print_expr(v)}` {n}" for v, n in met.sample.items())
            where += f", for example with {', '.join(numbers)}"
        hint = _signal(one, two)
        if self.alike and one.core and two.core:
            hint = self.own_part
        elif stores_of_lanes:
            own = "let each vector core store to places of its own"
            hint = own if one.stmt is two.stmt else f"{own}, or {hint}"
        self.found.pop(open_key, None)
        self.add(
            key,
            two.stmt.loc,
            "cross-sync-missing",
            f"{_who(two)} {_does(hazard)} `{name}` before line {line}, where {_who(one)} "
            f"{_did(hazard)} it, is surely complete ({hazard.kind}{where})",
            hint,
        )

    # Counters ------------------------------------------------------------------------------------

    def two_pipes(self, core: int, op: Op, number: int, other: Op) -> None:
        self.add(
            ("order", id(op), number),
            op.loc,
            "cross-flag-order",
            f"flag {number} may be raised here before line {other.loc.line} raises it: "
            f"{NAMES[core]} sets it from two pipes, and nothing says which comes first",
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

    def overflow(self, op: Op, counter: Counter, wait: Op | None, limit: int) -> None:
        line = f", in line {wait.loc.line}," if wait is not None else ""
        self.add(
            ("overflow", id(op), counter[1]),
            op.loc,
            "cross-flag-overflow",
            f"counter {counter[1]} of {NAMES[counter[0]]} may pass {limit}: nothing makes the "
            f"set here come after the waits{line} of so many iterations ago",
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
            "a counter rises with every iteration of this loop",
            "let the core that waits answer by a flag of its own",
        )

    # Limits --------------------------------------------------------------------------------------

    def unproved(self, loc: Loc, why: str, hint: str) -> None:
        self.found.setdefault(("unproved", loc, why), _unproved(loc, why, hint))

    def take(self, run: BlockFindings, certain: bool, way: str) -> None:
        """Take in the findings of one run, on a path that all cores surely take together if it is
        `certain`."""
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


def _unproved(loc: Loc | None, why: str, hint: str) -> Diagnostic:
    message = f"could not prove the order between cores: {why}"
    return Diagnostic("sync-unproved", message, loc, hint, "warning")


def _did(hazard: Hazard) -> str:
    return "writes" if hazard.first.writes else "reads"


def _does(hazard: Hazard) -> str:
    return "writes" if hazard.second.writes else "reads"


def _pipe(number: int) -> str:
    name: str = PIPES[number].value
    return name


def _flag(flag: Flag) -> str:
    return f"flag {_pipe(flag[0])} to {_pipe(flag[1])} {flag[2]}"


def _missing(one: str, two: str) -> str:
    if one == two:
        return f'between them: T.pipe_barrier("{one}")'
    pair = f'"{one}", "{two}"'
    return f"between them: T.set_flag({pair}, id) and T.wait_flag({pair}, id)"


def _who(site: StreamSite) -> str:
    return f"{_pipe(site.pipe)} of {NAMES[site.core]}"


def _signal(one: StreamSite, two: StreamSite) -> str:
    """The hint that orders two accesses of two cores. It names both orders: the streams ran in one
    order of many, so the intended one is unknown."""
    first, second = one.stmt.loc.line, two.stmt.loc.line
    if first == second:
        return _handover(one, two)
    return (
        f"if line {first} has to come first, {_handover(one, two)}; "
        f"if line {second} has to, {_handover(two, one)}"
    )


def _handover(one: StreamSite, two: StreamSite) -> str:
    pipe = _pipe(one.pipe)
    if pipe == "s":
        pipe = "mte3" if one.core else "fix"
    mode = ", mode=1" if one.core and two.core else ""
    return (
        f'T.set_cross_flag("{pipe}", id{mode}) behind it and T.wait_cross_flag(id) before line '
        f"{two.stmt.loc.line}"
    )


__all__ = ["BlockFindings", "Counter", "SectionFindings"]
