"""Whether buffers that share bytes leave each other's values alone: a check of planned functions
from their text, whoever chose the addresses.

A value is lost where a statement writes bytes of another buffer that holds a value somebody may
still read. Addresses themselves (alignment, room) are the verifier's business, the order between
pipes is that of `check_sync`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tile_ir.bounds import interval, narrow, simplify
from tile_ir.diagnostics import Diagnostic
from tile_ir.expr import Binary, Const, Expr, Unary, constant_value
from tile_ir.footprint import buffer_bytes
from tile_ir.geometry import is_contiguous
from tile_ir.live_bytes import Live, same_bytes, union, without
from tile_ir.location import Loc
from tile_ir.machine import Memory
from tile_ir.nodes import (
    Alloc,
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Let,
    Op,
    Region,
    Section,
    Stmt,
    While,
)
from tile_ir.target import DEFAULT_TARGET, Target
from tile_ir.touched_bytes import Touch, touches
from tile_ir.verifier import problems
from tile_ir.walk import (
    Ranges,
    bodies,
    buffers_of,
    launch_ranges,
    map_own_expressions,
    ranges_inside,
    replace_in,
    walk,
)

Facts = Mapping[Expr, int]
_PLACEMENT = frozenset({"phase-address", "address-alignment", "address-range", "alias"})
# So many statements behind a branch are looked at with what the branch not taken says.
_WINDOW = 6


def check_memory(func: Func, target: Target = DEFAULT_TARGET) -> tuple[Diagnostic, ...]:
    """What is wrong with the addresses of a PLANNED or SYNCED function, in textual order.

    Buffers share bytes freely while at most one of them holds a value that is read later; what was
    never written holds none. Every finding names both buffers.
    """
    placed = [p for p in problems(func, target) if p.slug in _PLACEMENT]
    if placed:
        return tuple(placed)
    check = _Check(func)
    if check.partners:
        for stmt in func.launch.body:
            if isinstance(stmt, Section):
                check.section(stmt)
    return tuple(sorted(check.found.values(), key=lambda d: d.loc or func.loc))


@dataclass(slots=True)
class _Check:
    """One function: which buffers share bytes with which, and what has been found."""

    func: Func
    addresses: dict[Buffer, int] = field(default_factory=dict)
    roots: dict[Buffer, Buffer] = field(default_factory=dict)
    partners: dict[Buffer, set[Buffer]] = field(default_factory=dict)
    scratch: set[Buffer] = field(default_factory=set)
    written: set[Buffer] = field(default_factory=set)
    found: dict[tuple[Buffer, Buffer, int], Diagnostic] = field(default_factory=dict)
    first_uses: dict[int, list[Buffer]] = field(default_factory=dict)
    breaks: list[Live] = field(default_factory=list)

    def __post_init__(self) -> None:
        allocs = [a for a in self.func.launch.allocs if a.address is not None]
        for a in allocs:
            self.addresses[a.buffer] = a.address or 0
            self.roots[a.buffer] = a.alias_of or a.buffer
            if a.scratch:
                self.scratch.add(a.buffer)
        plain = [a for a in allocs if a.alias_of is None and a.buffer.memory is not Memory.VAR]
        for i, a in enumerate(plain):
            for b in plain[:i]:
                if a.buffer.memory is b.buffer.memory and _meet(a, b):
                    self.partners.setdefault(a.buffer, set()).add(b.buffer)
                    self.partners.setdefault(b.buffer, set()).add(a.buffer)

    def section(self, section: Section) -> None:
        ranges = launch_ranges(self.func)
        self.written, self.first_uses = set(), {}
        for buffer in self.scratch & self.partners.keys():
            places = {s.loc for s in walk(section.body) if buffer in buffers_of(s)}
            for loc in places:
                owner = _owner(section.body, buffer, loc)
                if owner is not None:
                    self.first_uses.setdefault(id(owner), []).append(buffer)
        # What may have been written before a statement, then what may be read after it.
        before: dict[int, frozenset[Buffer]] = {}
        self.forward(section.body, frozenset(), before)
        self.block(section.body, 0, {}, ranges, {}, before)

    # What may have been written ------------------------------------------------------------------

    def forward(
        self, body: Body, written: frozenset[Buffer], before: dict[int, frozenset[Buffer]]
    ) -> frozenset[Buffer]:
        for stmt in body:
            if isinstance(stmt, (For, While)):
                written = written | self.writes_inside(stmt)
            before[id(stmt)] = written
            after = written | self.own_writes(stmt)
            for inner in bodies(stmt):
                after = after | self.forward(inner, written, before)
            written = after
        return written

    def writes_inside(self, stmt: Stmt) -> frozenset[Buffer]:
        found: frozenset[Buffer] = frozenset()
        for inner in bodies(stmt):
            for s in walk(inner):
                found = found | self.own_writes(s)
        return found

    def own_writes(self, stmt: Stmt) -> frozenset[Buffer]:
        return frozenset(
            self.roots[t.region.buffer]
            for t in touches(stmt, self.addresses, {})
            if t.writes and self.shares(t)
        )

    def shares(self, touch: Touch) -> bool:
        return self.roots.get(touch.region.buffer) in self.partners

    # What may be read, backwards -----------------------------------------------------------------

    def block(
        self,
        body: Body,
        first: int,
        live: Live,
        known: Ranges,
        facts: Facts,
        before: Mapping[int, frozenset[Buffer]],
    ) -> Live:
        """What is live before the statements from `first` on, given what is live behind them."""
        visible = [known]
        for stmt in body[first:]:
            if isinstance(stmt, Let) and stmt.var.dtype.is_integer:
                known = {**known, stmt.var: interval(stmt.value, known)}
            visible.append(known)
        behind: list[Live] = [live]
        for at in range(len(body) - 1, first - 1, -1):
            stmt, here = body[at], visible[at - first]
            if isinstance(stmt, If) and not facts and not stmt.orelse:
                then = self.block(stmt.then, 0, live, here, facts, before)
                skipped = self.skipped(body, at, stmt.condition, behind, visible, first, before)
                live = union(then, skipped)
                live = self.own(stmt, live, here, facts, before)
            else:
                live = self.statement(stmt, live, here, facts, before)
            for buffer in self.first_uses.get(id(stmt), ()):
                live = {b: spans for b, spans in live.items() if b is not buffer}
            behind.append(live)
        return live

    def skipped(
        self,
        body: Body,
        at: int,
        condition: Expr,
        behind: list[Live],
        visible: list[Ranges],
        first: int,
        before: Mapping[int, frozenset[Buffer]],
    ) -> Live:
        """What is live behind a branch not taken, with what its condition says of the statements
        that follow: `if not n == 8: fill(x)`, then a load of n rows, define all of x."""
        facts = dict(_equalities(condition))
        if not facts:
            return behind[-1]
        count = min(_WINDOW, len(body) - 1 - at)
        live = behind[-1 - count]
        for stmt_at in range(at + count, at, -1):
            live = self.statement(body[stmt_at], live, visible[stmt_at - first], facts, before)
        return live

    def statement(
        self,
        stmt: Stmt,
        live: Live,
        known: Ranges,
        facts: Facts,
        before: Mapping[int, frozenset[Buffer]],
    ) -> Live:
        inside = ranges_inside(stmt, known)
        match stmt:
            case If(condition=condition, then=then, orelse=orelse):
                decided = constant_value(_with(condition, facts, known))
                taken = [b for b, value in ((then, 1), (orelse, 0)) if decided in (None, value)]
                result: Live = {}
                for body in taken:
                    result = union(result, self.block(body, 0, live, inside, facts, before))
                live = result
            case For(body=body) | While(body=body):
                self.breaks.append(live)
                head = self.own(stmt, live, known, {}, before) if isinstance(stmt, While) else live
                while True:
                    entered = self.block(body, 0, head, inside, {}, before)
                    if isinstance(stmt, While):
                        entered = self.own(stmt, entered, known, {}, before)
                    new = union(head, entered)
                    if same_bytes(new, head):
                        break
                    head = new
                runs = isinstance(stmt, For) and (
                    interval(simplify(stmt.stop - stmt.start), known).low > 0
                )
                live = entered if runs else union(entered, live)
                self.breaks.pop()
            case Break():
                live = self.breaks[-1]
        return self.own(stmt, live, known, facts, before)

    def own(
        self,
        stmt: Stmt,
        live: Live,
        known: Ranges,
        facts: Facts,
        before: Mapping[int, frozenset[Buffer]],
    ) -> Live:
        """What the statement itself reads and writes."""
        if facts and isinstance(stmt, Op):
            stmt = map_own_expressions(stmt, lambda e: _with(e, facts, known))
        mine = [t for t in touches(stmt, self.addresses, known) if self.shares(t)]
        if not mine:
            return live
        if not facts:
            self.look(stmt, mine, live, before)
        changed = dict(live)
        for t in mine:
            if t.writes and _solid(t.region) and not _reads(stmt, t.region):
                root = self.roots[t.region.buffer]
                changed[root] = without(changed.get(root, ()), t.low, t.high)
        for t in mine:
            if not t.writes or _reads(stmt, t.region):
                root = self.roots[t.region.buffer]
                rest = without(changed.get(root, ()), t.low, t.high)
                changed[root] = tuple(sorted((*rest, (t.low, t.high, stmt.loc))))
        return changed

    def look(
        self,
        stmt: Stmt,
        mine: list[Touch],
        live: Live,
        before: Mapping[int, frozenset[Buffer]],
    ) -> None:
        written = before[id(stmt)]
        for w in mine:
            if not w.writes:
                continue
            root = self.roots[w.region.buffer]
            for other in self.partners[root]:
                if other not in written:
                    continue
                for low, high, loc in live.get(other, ()):
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


def _meet(a: Alloc, b: Alloc) -> bool:
    start_a, start_b = a.address or 0, b.address or 0
    return start_a < start_b + buffer_bytes(b) and start_b < start_a + buffer_bytes(a)


def _owner(body: Body, buffer: Buffer, loc: Loc) -> Stmt | None:
    """The first user in the smallest block with all that one operation of the script, at `loc`,
    became: scratch holds nothing before it."""
    users = [s for s in body if _uses(s, buffer, loc)]
    if len(users) == 1 and buffer not in buffers_of(users[0]):
        inner = [b for b in bodies(users[0]) if any(_uses(s, buffer, loc) for s in b)]
        if len(inner) == 1:
            return _owner(inner[0], buffer, loc)
    return users[0] if users else None


def _uses(stmt: Stmt, buffer: Buffer, loc: Loc) -> bool:
    return any(s.loc == loc and buffer in buffers_of(s) for s in walk((stmt,)))


def _equalities(condition: Expr) -> Iterable[tuple[Expr, int]]:
    """What holds where a condition `not (a == 8 and b == 4)` does not."""
    if not (isinstance(condition, Unary) and condition.op == "not"):
        return
    waiting = [condition.operand]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Binary) and part.op == "and":
            waiting += [part.left, part.right]
        elif isinstance(part, Binary) and part.op == "==":
            value = constant_value(part.right)
            if value is not None:
                yield part.left, value


def _with(expr: Expr, facts: Facts, known: Ranges) -> Expr:
    """The expression where facts hold."""
    if not facts or isinstance(expr, Const):
        return expr

    def replaced(part: Expr) -> Expr | None:
        value = facts.get(part)
        return None if value is None else Const(value, part.dtype)

    return narrow(replace_in(expr, replaced), known)


def _solid(region: Region) -> bool:
    """Whether every byte of the region's hull belongs to it, whatever variables hold."""
    if not all(isinstance(s.offset, Const) and isinstance(s.extent, Const) for s in region.dims):
        return False
    if region.memory is Memory.UB:
        return is_contiguous(region)
    last = region.dims[-2:]
    whole = all(s.extent == n for s, n in zip(last, region.buffer.shape[-2:], strict=True))
    return whole and is_contiguous(region)


def _reads(stmt: Stmt, region: Region) -> bool:
    """Whether a region that is written is read too. Working memory the compiler hands to an
    operation has no value before."""
    if not isinstance(stmt, Op):
        return False
    return any(
        o is region
        and stmt.opdef.operand_def(i).access.reads
        and stmt.opdef.operand_def(i).name not in stmt.opdef.hidden
        for i, o in enumerate(stmt.operands)
    )


def _in_place(stmt: Stmt, w: Touch, r: Touch) -> bool:
    """Whether the operation may write the very bytes it reads."""
    if not isinstance(stmt, Op) or not stmt.opdef.may_alias:
        return False
    same = (w.low, w.high) == (r.low, r.high)
    return same and w.region.dtype.bits == r.region.dtype.bits


__all__ = ["check_memory"]
