"""Whether buffers that share bytes leave each other's values alone: a check of planned functions
from their text, whoever chose the addresses.

A value is lost where a statement writes bytes of another buffer that holds a value somebody may
still read. Addresses themselves (alignment, room) are the verifier's business, the order between
pipes is that of `check_sync`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import reduce

from tile_ir.analysis.accesses import Touch, touches
from tile_ir.analysis.circumstances import Circumstances, Conditions, equalities
from tile_ir.analysis.intervals import INF, Ranges, launch_ranges, walk_with_ranges
from tile_ir.analysis.one_round import OneRound, is_solid, step_of
from tile_ir.analysis.shared_bytes import Sharing
from tile_ir.chips import DEFAULT_TARGET
from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.expr import Const, Expr, constant_value
from tile_ir.live_bytes import Live, in_other_rounds, moving_part, same_bytes, union, without
from tile_ir.location import Loc
from tile_ir.nodes import (
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Op,
    Region,
    Section,
    Stmt,
    While,
)
from tile_ir.opdef import element_limit
from tile_ir.scalars.affine import simplify
from tile_ir.scratch_users import first_user
from tile_ir.target import Target
from tile_ir.traversal import bodies, buffers_of, walk
from tile_ir.verification.verifier import problems

_PLACEMENT = frozenset({"phase-address", "address-alignment", "address-range", "alias"})
# So many statements behind a branch are looked at with what the branch not taken says.
_WINDOW = 6


def check_memory(
    func: Func, target: Target = DEFAULT_TARGET, sharing: Sharing | None = None
) -> tuple[Diagnostic, ...]:
    """What is wrong with the addresses of a PLANNED or SYNCED function, in textual order.

    Buffers share bytes freely while at most one of them holds a value that is read later; what was
    never written holds none. Every finding names both buffers. With `sharing`, other pairs than
    its own are not looked at.
    """
    placed = [p for p in problems(func, target) if p.slug in _PLACEMENT]
    if placed:
        return tuple(placed)
    check = _Check(func, sharing)
    if check.partners:
        for stmt in func.launch.body:
            if isinstance(stmt, Section):
                check.section(stmt)
    return tuple(sorted(check.found.values(), key=lambda d: d.loc or func.loc))


@dataclass(slots=True)
class _Check:
    """One function: which buffers share bytes with which, and what has been found. `before` has
    what may have been written before each statement."""

    func: Func
    sharing: Sharing | None
    addresses: dict[Buffer, int] = field(default_factory=dict)
    roots: dict[Buffer, Buffer] = field(default_factory=dict)
    partners: dict[Buffer, set[Buffer]] = field(default_factory=dict)
    scratch: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)
    found: dict[tuple[Buffer, Buffer, int], Diagnostic] = field(default_factory=dict)
    first_uses: dict[int, list[Buffer]] = field(default_factory=dict)
    breaks: list[Live] = field(default_factory=list)
    before: dict[int, frozenset[Buffer]] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=Conditions)
    one_round: OneRound | None = None
    moving: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        allocs = [a for a in self.func.launch.allocs if a.address is not None]
        for a in allocs:
            self.addresses[a.buffer] = a.address or 0
            self.roots[a.buffer] = a.alias_of or a.buffer
            if a.scratch:
                self.scratch.add(a.buffer)
        for one, other in (self.sharing or Sharing.of(allocs, ())).pairs:
            self.partners.setdefault(one, set()).add(other)
            self.partners.setdefault(other, set()).add(one)

    def section(self, section: Section) -> None:
        self.written, self.first_uses = set(), {}
        for buffer in self.scratch & self.partners.keys():
            places = {s.loc for s in walk(section.body) if buffer in buffers_of(s)}
            for loc in places:
                owner = first_user(section.body, buffer, loc)
                if owner is not None:
                    self.first_uses.setdefault(id(owner), []).append(buffer)
        self.before = {}
        self.forward(section.body, frozenset())
        self.block(section.body, 0, {}, Circumstances(launch_ranges(self.func)))

    # What may have been written ------------------------------------------------------------------

    def forward(self, body: Body, written: frozenset[Buffer]) -> frozenset[Buffer]:
        for stmt in body:
            if isinstance(stmt, (For, While)):
                written = written | self.writes_inside(stmt)
            self.before[id(stmt)] = written
            after = written | self.own_writes(stmt)
            for inner in bodies(stmt):
                after = after | self.forward(inner, written)
            written = after
        return written

    def writes_inside(self, stmt: Stmt) -> frozenset[Buffer]:
        found: frozenset[Buffer] = frozenset()
        for inner in bodies(stmt):
            for s in walk(inner):
                found = found | self.own_writes(s)
        return found

    def own_writes(self, stmt: Stmt) -> frozenset[Buffer]:
        return frozenset(self.roots[t.region.buffer] for t in self.touched(stmt, {}) if t.writes)

    def touched(self, stmt: Stmt, ranges: Ranges) -> list[Touch]:
        """What it touches of buffers that share bytes."""
        return [t for t in touches(stmt, self.addresses, ranges) if self.shares(t)]

    def shares(self, touch: Touch) -> bool:
        return self.roots.get(touch.region.buffer) in self.partners

    # What may be read, backwards -----------------------------------------------------------------

    def block(self, body: Body, first: int, live: Live, here: Circumstances) -> Live:
        """What is live before the statements from `first` on, given what is live behind them."""
        visible = [here]
        for stmt in body[first:]:
            visible.append(visible[-1].behind(stmt))
        behind: list[Live] = [live]
        for at in range(len(body) - 1, first - 1, -1):
            stmt, here = body[at], visible[at - first]
            if isinstance(stmt, If) and not here.facts and not stmt.orelse:
                decided = here.decided(stmt.condition)
                then: Live = {}
                if decided is not False:
                    then = self.block(stmt.then, 0, live, here)
                if decided is not True:
                    skipped = self.skipped(body, at, stmt.condition, behind, visible, first)
                    then = union(then, skipped)
                live = self.own(stmt, then, here)
            else:
                live = self.statement(stmt, live, here)
            live = self.without_begun(stmt, live)
            behind.append(live)
        return live

    def without_begun(self, stmt: Stmt, live: Live) -> Live:
        """What is live before a statement but for scratch that it is the first to use."""
        begun = self.first_uses.get(id(stmt))
        if not begun:
            return live
        return {part: spans for part, spans in live.items() if self.root_of(part) not in begun}

    def root_of(self, part: Buffer | Region) -> Buffer:
        return self.roots[part.buffer] if isinstance(part, Region) else part

    def skipped(
        self,
        body: Body,
        at: int,
        condition: Expr,
        behind: list[Live],
        visible: list[Circumstances],
        first: int,
    ) -> Live:
        """What is live behind a branch not taken, with what its condition says of the statements
        that follow: `if not n == 8: fill(x)`, then a load of n rows, define all of x."""
        facts = equalities(condition)
        if not facts:
            return behind[-1]
        count = min(_WINDOW, len(body) - 1 - at)
        live = behind[-1 - count]
        for stmt_at in range(at + count, at, -1):
            there = visible[stmt_at - first].with_facts(facts)
            live = self.without_begun(body[stmt_at], self.statement(body[stmt_at], live, there))
        return live

    def statement(self, stmt: Stmt, live: Live, here: Circumstances) -> Live:
        match stmt:
            case If(condition=condition, then=then, orelse=orelse):
                decided = here.decided(condition)
                taken = (then, orelse) if decided is None else (then,) if decided else (orelse,)
                live = reduce(union, [self.block(body, 0, live, here) for body in taken])
            case For(body=body) | While(body=body):
                self.breaks.append(live)
                live = self.loop(stmt, body, live, here)
                self.breaks.pop()
            case Break():
                live = self.breaks[-1]
        return self.own(stmt, live, here)

    def loop(self, stmt: For | While, body: Body, live: Live, here: Circumstances) -> Live:
        """What is live before a loop. What the first round needs is told apart from what later ones
        need where conditions inside depend on it."""
        first = later = here.inside(stmt)
        if isinstance(stmt, For) and self.conditions.tell_rounds_apart(stmt):
            first, later = here.first_round(stmt), here.later_round(stmt)
        head = self.own(stmt, live, here.with_facts({})) if isinstance(stmt, While) else live
        while True:
            entered = self.block(body, 0, head, later)
            if isinstance(stmt, While):
                entered = self.own(stmt, entered, here.with_facts({}))
            new = union(head, in_other_rounds(entered, stmt, self.root_of))
            if same_bytes(new, head):
                break
            head = new
        if first is not later:
            entered = self.block(body, 0, head, first)
        entered = in_other_rounds(entered, stmt, self.root_of)
        runs = isinstance(stmt, For) and here.surely_runs(stmt)
        entered = entered if runs else union(entered, live)
        if isinstance(stmt, For):
            for root, low, high in self.written_by_rounds(stmt, here):
                entered = {**entered, root: without(live.get(root, ()), low, high)}
        return entered

    def written_by_rounds(
        self, loop: For, here: Circumstances
    ) -> Iterator[tuple[Buffer, float, float]]:
        """Buffers that no round of a loop reads before it has written a part of its own, with what
        all rounds write together. One round is followed for all of them: with its part needed
        behind it, and all of the buffer where the loop is left, nothing may be needed before."""
        start = constant_value(simplify(here.spelled(loop.start)))
        stop = constant_value(simplify(here.spelled(loop.stop)))
        if start is None or stop is None or start >= stop:
            return
        outer = self.one_round
        for (root, step), low in self.parts_of_rounds(loop, here).items():
            if outer is not None and outer.root is not root:
                continue
            self.one_round = (outer or OneRound(root)).inside(loop.var, step)
            self.breaks.append({root: ((-INF, INF, loop.loc),)})
            part: Live = {root: ((low, low + abs(step), loop.loc),)}
            needed = self.block(loop.body, 0, part, here.inside(loop).with_facts({}))
            self.breaks.pop()
            self.one_round = outer
            if not needed.get(root):
                first, last = step * start, step * (stop - 1)
                yield root, low + min(first, last), low + max(first, last) + abs(step)

    def parts_of_rounds(self, loop: For, here: Circumstances) -> dict[tuple[Buffer, int], float]:
        """What a loop writes at places that move with its variable: the buffer, by how many bytes,
        and where the first of it is in a round 0."""
        if id(loop) not in self.moving:
            regions = [t.region for s in walk(loop.body) for t in self.touched(s, {}) if t.writes]
            self.moving[id(loop)] = any(
                not isinstance(s.offset, Const) for region in regions for s in region.dims
            )
        found: dict[tuple[Buffer, int], float] = {}
        if self.moving[id(loop)]:
            inside = here.inside(loop)
            for stmt, ranges in walk_with_ranges(loop.body, inside.ranges):
                inside = inside.behind(stmt)
                for t in self.touched(stmt, ranges):
                    step = step_of(t.region, loop.var, inside) if t.writes else None
                    if step:
                        root = self.roots[t.region.buffer]
                        one_round = (self.one_round or OneRound(root)).inside(loop.var, step)
                        low = one_round.begin(t.region, replace(inside, ranges=ranges))
                        if math.isfinite(low):
                            low += self.addresses[root]
                            found[root, step] = min(low, found.get((root, step), low))
        return found

    def own(self, stmt: Stmt, live: Live, here: Circumstances) -> Live:
        """What the statement itself reads and writes."""
        if here.facts and isinstance(stmt, Op):
            stmt = here.where_facts_hold(stmt)
        mine = self.touched(stmt, here.ranges)
        if not mine:
            return live
        if self.one_round is not None:
            return self.own_in_round(self.one_round, stmt, mine, live, here)
        if not here.facts:
            self.look(stmt, mine, live)
        changed = dict(live)
        partial = isinstance(stmt, Op) and element_limit(stmt) is not None
        for t in mine:
            if t.writes and not partial and not _reads(stmt, t.region, here):
                if is_solid(t.region):
                    root = self.roots[t.region.buffer]
                    for place in [p for p in changed if self.root_of(p) is root]:
                        changed[place] = without(changed[place], t.low, t.high)
                if part := moving_part(t.region, here):
                    changed.pop(part, None)
        for t in mine:
            if not t.writes or _reads(stmt, t.region, here):
                place = moving_part(t.region, here) or self.roots[t.region.buffer]
                rest = without(changed.get(place, ()), t.low, t.high)
                changed[place] = tuple(sorted((*rest, (t.low, t.high, stmt.loc))))
        return changed

    def own_in_round(
        self, one_round: OneRound, stmt: Stmt, mine: list[Touch], live: Live, here: Circumstances
    ) -> Live:
        root = one_round.root
        mine = [t for t in mine if self.roots[t.region.buffer] is root]
        parts = one_round.parts(stmt, mine, self.addresses[root], here)
        if parts is None:
            return {**live, root: ((-INF, INF, stmt.loc),)}
        spans = live.get(root, ())
        for p in parts:
            if p.solid and p.touch.writes and not _reads(stmt, p.touch.region, here):
                spans = without(spans, p.low, p.high)
        for p in parts:
            if not p.touch.writes or _reads(stmt, p.touch.region, here):
                spans = tuple(sorted((*without(spans, p.low, p.high), (p.low, p.high, stmt.loc))))
        return {**live, root: spans}

    def look(self, stmt: Stmt, mine: list[Touch], live: Live) -> None:
        written = self.before[id(stmt)]
        for w in mine:
            if not w.writes:
                continue
            root = self.roots[w.region.buffer]
            for other in self.partners[root]:
                if other not in written:
                    continue
                for part, spans in live.items():
                    for low, high, loc in spans if self.root_of(part) is other else ():
                        if low < w.high and w.low < high:
                            self.report(root, other, stmt.loc, loc, w, low, high)
            for r in mine:
                partner = self.roots[r.region.buffer]
                if partner in self.partners[root] and w.overlaps(r) and not _in_place(stmt, w, r):
                    self.report(root, partner, stmt.loc, stmt.loc, w, r.low, r.high)

    def report(
        self, one: Buffer, other: Buffer, loc: Loc, reader: Loc, w: Touch, low: float, high: float
    ) -> None:
        key = (one, other, loc.line)
        start, end = max(w.low, low), min(w.high, high)
        lost = "which it reads" if reader == loc else f"which line {reader.line} reads"
        self.found.setdefault(
            key,
            Diagnostic(
                "memory-overlap",
                f"line {loc.line} writes `{one.name}` over bytes {start:g} to {end:g} of "
                f"{one.memory.value}, where `{other.name}` (line {other.loc.line}) holds a value "
                f"{lost}",
                loc,
                f"give `{one.name}` (line {one.loc.line}) and `{other.name}` bytes of their own",
            ),
        )


def _reads(stmt: Stmt, region: Region, here: Circumstances) -> bool:
    """Whether a region that is written is read too. Working memory the compiler hands to an
    operation has no value before, and some operations overwrite on a condition."""
    if not isinstance(stmt, Op):
        return False
    read = any(
        o == region
        and stmt.opdef.operand_def(i).access.reads
        and stmt.opdef.operand_def(i).name not in stmt.opdef.hidden
        for i, o in enumerate(stmt.operands)
    )
    unless = stmt.opdef.overwrites(stmt) if read else None
    return read and (unless is None or here.decided(unless) is not True)


def _in_place(stmt: Stmt, w: Touch, r: Touch) -> bool:
    """Whether the operation may write the very bytes it reads."""
    if not isinstance(stmt, Op) or not stmt.opdef.may_alias:
        return False
    same = (w.low, w.high) == (r.low, r.high)
    return same and w.region.dtype.bits == r.region.dtype.bits


__all__ = ["check_memory"]
