"""What is said about each finding: both lines, pipes, bytes, and what is missing."""

from __future__ import annotations

from tile_checkers.section.access_sites import AccessSite, AccessSites
from tile_checkers.section.state import Raised
from tile_checkers.touched import PIPES, Flag, Hazard
from tile_ir import Diagnostic, Expr, Loc, Memory, Op, Pipe, Stmt, print_expr

# Nobody reads more than this.
MOST = 200


class SectionFindings:
    """Each once, however many ways lead to it."""

    def __init__(self, sites: AccessSites) -> None:
        self.sites = sites
        self.found: dict[tuple[object, ...], Diagnostic] = {}

    def all(self) -> list[Diagnostic]:
        return list(self.found.values())

    def full(self) -> bool:
        return len(self.found) >= MOST

    def race(self, earlier: AccessSite, later: AccessSite, hazard: Hazard) -> None:
        key = (id(earlier.stmt), id(later.stmt), hazard.kind, hazard.second.region.buffer)
        if key in self.found or self.full():
            return
        one, two = _pipe(earlier.pipe), _pipe(later.pipe)
        a, b = hazard.first, hazard.second
        does = "writes" if b.writes else "reads"
        did = "writes" if a.writes else "reads"
        place = b.place.value if isinstance(b.place, Memory) else f"`{b.place.name}`"
        low, high = hazard.bytes
        self.found[key] = Diagnostic(
            "sync-missing",
            f"{two} {does} `{b.region.buffer.name}` before line {earlier.loc.line}, where {one} "
            f"{did} `{a.region.buffer.name}`, is surely complete "
            f"({hazard.kind}, bytes {low:g} to {high:g} of {place})",
            later.loc,
            _missing(PIPES[earlier.pipe], PIPES[later.pipe]),
        )

    def set_twice(self, op: Op, flag: Flag, raised: Raised) -> None:
        self.add(
            op.loc,
            "flag-set-twice",
            f"{_flag(flag)} may still be set, by line {raised.loc.line}",
            "wait for it before it is set again, or take another event id",
        )

    def set_early(self, op: Op, flag: Flag) -> None:
        source, target, _ = flag
        self.add(
            op.loc,
            "flag-set-early",
            f"{_flag(flag)} is set again before {_pipe(source)} can know that {_pipe(target)} has "
            "waited for it",
            f"let {_pipe(target)} tell {_pipe(source)} by a flag, or take another event id",
        )

    def wait_in_vain(self, op: Op, flag: Flag) -> None:
        self.add(
            op.loc,
            "flag-not-set",
            f"{_flag(flag)} may not be set here: the kernel would hang",
            "set it once on every way to this wait",
        )

    def left_set(self, flag: Flag, raised: Raised) -> None:
        self.add(
            raised.loc,
            "flag-left-set",
            f"{_flag(flag)} may still be set at the end of the kernel",
            "wait for it once behind the last use",
        )

    def undocumented_id(self, op: Op, number: int, documented: int) -> None:
        self.add(
            op.loc,
            "event-id",
            f"{op.opdef.name}: event_id is {number}, but documents name 0 to {documented - 1} only",
            f"take an id from 0 to {documented - 1}",
        )

    def unknown_id(self, op: Op, event: Expr) -> None:
        self.add(
            op.loc,
            "flag-id-unknown",
            f"{op.opdef.name}: which flag `{print_expr(event)}` names cannot be told",
            "take a constant, a loop variable of few iterations, or a remainder of one",
        )

    def too_many(self, stmt: Stmt) -> None:
        self.add(
            stmt.loc,
            "sync-too-many-states",
            "the flags set here depend on too many branches to be followed",
            "set and wait for flags on every way alike",
        )

    def add(self, loc: Loc, slug: str, message: str, hint: str) -> None:
        self.found.setdefault((slug, loc, message), Diagnostic(slug, message, loc, hint))


def _pipe(number: int) -> str:
    name: str = PIPES[number].value
    return name


def _flag(flag: Flag) -> str:
    return f"flag {_pipe(flag[0])} to {_pipe(flag[1])} {flag[2]}"


def _missing(one: Pipe, two: Pipe) -> str:
    if one is two:
        return f'between them: T.pipe_barrier("{one.value}")'
    pair = f'"{one.value}", "{two.value}"'
    return f"between them: T.set_flag({pair}, id) and T.wait_flag({pair}, id)"


__all__ = ["SectionFindings"]
