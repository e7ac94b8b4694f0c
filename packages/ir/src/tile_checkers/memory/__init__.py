"""Check that buffers which share bytes never overwrite a value that is read later.

A forward analysis: at each program point, whose values may lie in the bytes of each buffer. A read
of bytes whose value another buffer may have overwritten is the finding. Requires addresses; the
verifier checks these (alignment, room), and `check_sync` the order between pipes.
"""

from __future__ import annotations

from dataclasses import field

from tile_checkers.memory.circumstances import Circumstances, equalities, iterations_before
from tile_checkers.memory.first_uses import tasks_alone, users_of_scratch
from tile_checkers.memory.owners import Owners, joined
from tile_checkers.memory.places import run_of_bytes, spelled
from tile_ir import (
    DEFAULT_TARGET,
    Body,
    Break,
    Buffer,
    Diagnostic,
    For,
    Func,
    If,
    Let,
    Loc,
    Op,
    Pipe,
    Region,
    Section,
    Stmt,
    Target,
    Var,
    While,
    bodies,
    buffer_bytes,
    constant_value,
    pipe_of,
    simplify,
    walk,
)
from tile_ir.analysis import Ranges, Sharing, Touch, launch_ranges
from tile_ir.analysis.accesses import is_filled, touches
from tile_ir.opdef import defined_operands
from tile_ir.quick_dataclasses import dataclass
from tile_ir.verification.verifier import problems

_PLACEMENT = frozenset({"phase-address", "address-alignment", "address-range", "alias"})
_DMA = (Pipe.MTE2, Pipe.MTE3)
# Paths told apart by what their branches say; beyond, facts are dropped and paths joined.
MOST_PATHS = 8


def check_memory(
    func: Func, target: Target = DEFAULT_TARGET, sharing: Sharing | None = None
) -> tuple[Diagnostic, ...]:
    """Return the errors in the addresses of a PLANNED or SYNCED function, in textual order.

    Buffers share bytes freely while at most one of them holds a value that is read later; a buffer
    without a write holds none. Every finding names both buffers. With `sharing`, only its pairs are
    checked.
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
class _Loop:
    """An open loop: states in which it is left by `break`, and buffers that lose values in it."""

    left: list[Owners] = field(default_factory=list)
    overwritten: set[Buffer] = field(default_factory=set)


@dataclass(slots=True)
class _Check:
    """The check of one function: buffers that share bytes, and the findings. Statements that are
    not `relevant` touch none of these buffers."""

    func: Func
    sharing: Sharing | None
    addresses: dict[Buffer, int] = field(default_factory=dict)
    roots: dict[Buffer, Buffer] = field(default_factory=dict)
    ends: dict[Buffer, tuple[int, int]] = field(default_factory=dict)
    partners: dict[Buffer, set[Buffer]] = field(default_factory=dict)
    scratch: set[Buffer] = field(default_factory=set)
    relevant: set[int] = field(default_factory=set)
    found: dict[tuple[Buffer, Buffer, int], Diagnostic] = field(default_factory=dict)
    first_uses: dict[int, list[Buffer]] = field(default_factory=dict)
    loops: list[_Loop] = field(default_factory=list)

    def __post_init__(self) -> None:
        allocs = [a for a in self.func.launch.allocs if a.address is not None]
        for a in allocs:
            self.addresses[a.buffer] = a.address or 0
            self.roots[a.buffer] = a.alias_of or a.buffer
            self.ends[a.buffer] = a.address or 0, (a.address or 0) + buffer_bytes(a)
            if a.scratch:
                self.scratch.add(a.buffer)
        for one, other in (self.sharing or Sharing.of(allocs, ())).pairs:
            self.partners.setdefault(one, set()).add(other)
            self.partners.setdefault(other, set()).add(one)

    def section(self, section: Section) -> None:
        self.first_uses = {}
        for buffer in self.scratch & self.partners.keys():
            for owner in users_of_scratch(section.body, buffer):
                self.first_uses.setdefault(id(owner), []).append(buffer)
        for task, used in tasks_alone(section.body, self.roots):
            self.first_uses.setdefault(id(task), []).extend(used & self.partners.keys())
        self.mark(section.body)
        self.block(section.body, [Owners()], Circumstances(launch_ranges(self.func)))

    def mark(self, body: Body) -> bool:
        """Mark the statements that matter; whether there are any."""
        marked = False
        for stmt in body:
            inside = [self.mark(inner) for inner in bodies(stmt)]
            if any(inside) or isinstance(stmt, (Break, Let)) or self.touched(stmt, {}):
                self.relevant.add(id(stmt))
                marked = marked or not isinstance(stmt, Let)
        return marked

    def touched(self, stmt: Stmt, ranges: Ranges) -> list[Touch]:
        """Return the touches of a statement in buffers that share bytes."""
        found = touches(stmt, self.addresses, ranges)
        return [t for t in found if self.roots.get(t.region.buffer) in self.partners]

    # Paths ---------------------------------------------------------------------------------------

    def block(self, body: Body, states: list[Owners], here: Circumstances) -> list[Owners]:
        """Return the states behind a block, one for each path worth telling apart."""
        for stmt in body:
            if id(stmt) not in self.relevant:
                continue
            for state in states:
                state.begin(self.first_uses.get(id(stmt), ()))
            states = self.statement(stmt, states, here)
            here = here.behind(stmt)
        return states

    def statement(self, stmt: Stmt, states: list[Owners], here: Circumstances) -> list[Owners]:
        for state in states:
            self.touch(stmt, state, here.with_facts(state.facts))
        match stmt:
            case If():
                return _told_apart([s for state in states for s in self.branch(stmt, state, here)])
            case For():
                return self.loop(stmt, joined(states), here)
            case While():
                return self.repeat(stmt, joined(states), here)
            case Break():
                self.loops[-1].left += states
                return []
        return states

    def branch(self, stmt: If, state: Owners, here: Circumstances) -> list[Owners]:
        here = here.with_facts(state.facts)
        certain = here.decided(stmt.condition)
        behind: list[Owners] = []
        if certain is not False:
            behind += self.block(stmt.then, [state.copy()], here)
        if certain is not True:
            # `if not n == 8: fill(x)`, then a load of n rows, define all of x.
            facts = {} if stmt.orelse else equalities(stmt.condition)
            other = state.copy({**state.facts, **facts})
            behind += self.block(stmt.orelse, [other], here)
        return behind

    def loop(self, loop: For, before: list[Owners], here: Circumstances) -> list[Owners]:
        """Return the state behind a loop: the first iteration, then later ones up to a fixpoint."""
        opened = _Loop()
        self.loops.append(opened)
        local = _bound(loop)
        first = joined(
            self.block(loop.body, [s.copy() for s in before], here.first_iteration(loop))
        )
        ends: list[Owners] = []
        head = _left(first, local)
        while head:
            starts = [s.copy() for s in head]
            ends = joined(self.block(loop.body, starts, here.later_iteration(loop)))
            new = joined([*head, *_left(ends, local)])
            if new[0].same(head[0]):
                break
            head = new
        self.loops.pop()
        behind = [] if here.surely_runs(loop) else before
        count = constant_value(simplify(here.spelled(loop.stop - loop.start)))
        if count is None:
            behind = [*behind, *first, *ends]
        elif count == 1:
            behind = [*behind, *first]
        elif count > 1:
            for state in ends:
                self.sum_up(state, iterations_before(loop), count, opened.overwritten)
            behind = [*behind, *ends]
        return _left(joined([*behind, *opened.left]), local)

    def sum_up(self, state: Owners, var: Var, count: int, overwritten: set[Buffer]) -> None:
        """Add up the elements that each iteration surely writes in its own place, for all
        iterations but the first."""
        for (buffer, place), spans in list(state.sure.items()):
            if isinstance(place, Region) or buffer in overwritten:
                continue
            step = dict(place).get(var)
            if step is None:
                continue
            rest = place - {(var, step)}
            moved = [(a + step * i, b + step * i) for i in range(1, count) for a, b in spans]
            if rest:
                state.restore_at(buffer, rest, moved)
            else:
                for low, high in moved:
                    state.restore(buffer, low, high)

    def repeat(self, loop: While, before: list[Owners], here: Circumstances) -> list[Owners]:
        self.loops.append(_Loop())
        local = _bound(loop)
        head = before
        while head:
            starts = [s.copy() for s in head]
            ends = joined(self.block(loop.body, starts, here.inside(loop)))
            for state in ends:
                self.touch(loop, state, here)
            new = joined([*head, *_left(ends, local)])
            if new[0].same(head[0]):
                break
            head = new
        return _left(joined([*head, *self.loops.pop().left]), local)

    # Bytes ---------------------------------------------------------------------------------------

    def touch(self, stmt: Stmt, state: Owners, here: Circumstances) -> None:
        """Check the reads of a statement, and take in its writes."""
        stmt = here.where_facts_hold(stmt)
        mine = self.touched(stmt, here.ranges)
        for t in mine:
            if not t.writes or _reads(stmt, t.region, here):
                self.read(stmt, t, state, here)
        for t in mine:
            if t.writes:
                self.write(stmt, t, mine, state, here)

    def read(self, stmt: Stmt, t: Touch, state: Owners, here: Circumstances) -> None:
        root = self.roots[t.region.buffer]
        lost = list(state.overwritten(root, t.low, t.high))
        if not lost or self.is_sure(stmt, t, state, here):
            return
        for (other, loc), spans in lost:
            self.report(other, root, loc, stmt.loc, *spans[0])

    def is_sure(self, stmt: Stmt, t: Touch, state: Owners, here: Circumstances) -> bool:
        """Whether a read finds a value that was surely written at the same place."""
        region = spelled(t.region, here)
        if region is None:
            return False
        root = self.roots[region.buffer]
        if (root, region) in state.sure:
            return True
        run = run_of_bytes(region, _blocks(stmt), gaps=True)
        if run is None:
            return False
        place, low, high = run
        base = self.addresses[region.buffer]
        known = state.sure.get((root, place), ())
        return any(a <= base + low and base + high <= b for a, b in known)

    def write(
        self, stmt: Stmt, t: Touch, mine: list[Touch], state: Owners, here: Circumstances
    ) -> None:
        root = self.roots[t.region.buffer]
        for other in self.partners[root] & state.written:
            low, high = self.ends[other]
            if t.low < high and low < t.high:
                state.take_over(other, (root, stmt.loc), t.low, t.high)
                for loop in self.loops:
                    loop.overwritten.add(other)
        for r in mine:
            partner = self.roots[r.region.buffer]
            if partner in self.partners[root] and t.overlaps(r) and not _in_place(stmt, t, r):
                self.report(
                    root, partner, stmt.loc, stmt.loc, max(t.low, r.low), min(t.high, r.high)
                )
        state.written |= {root}
        if isinstance(stmt, Op) and not all(
            is_filled(stmt, d, t.region) for d, o in defined_operands(stmt) if o == t.region
        ):
            return
        region = spelled(t.region, here)
        if region is None:
            return
        state.restore_at(root, region, ((0, 1),))
        run = run_of_bytes(region, _blocks(stmt))
        if run is None:
            return
        place, low, high = run
        base = self.addresses[region.buffer]
        if place:
            state.restore_at(root, place, ((base + low, base + high),))
        else:
            state.restore(root, base + low, base + high)

    def report(
        self, one: Buffer, other: Buffer, loc: Loc, reader: Loc, low: float, high: float
    ) -> None:
        lost = "which it reads" if reader == loc else f"which line {reader.line} reads"
        self.found.setdefault(
            (one, other, loc.line),
            Diagnostic(
                "memory-overlap",
                f"line {loc.line} writes `{one.name}` over bytes {low:g} to {high:g} of "
                f"{one.memory.value}, where `{other.name}` (line {other.loc.line}) holds a value "
                f"{lost}",
                loc,
                f"give `{one.name}` (line {one.loc.line}) and `{other.name}` bytes of their own",
            ),
        )


def _told_apart(states: list[Owners]) -> list[Owners]:
    """One of those that say the same of memory; all in one where there are too many."""
    kept: list[Owners] = []
    for state in states:
        same = next((k for k in kept if k.same(state)), None)
        if same is None:
            kept.append(state)
        else:
            same.facts = {e: v for e, v in same.facts.items() if state.facts.get(e) == v}
    return kept if len(kept) <= MOST_PATHS else joined(kept)


def _left(states: list[Owners], local: frozenset[Var]) -> list[Owners]:
    """The states where variables of a loop have other values, or none."""
    found = [s.copy() for s in states]
    for state in found:
        state.leave(local)
    return found


def _bound(loop: For | While) -> frozenset[Var]:
    found = {s.var for s in walk((loop,)) if isinstance(s, (For, Let))}
    return frozenset(found | {iterations_before(s) for s in walk((loop,)) if isinstance(s, For)})


def _blocks(stmt: Stmt) -> bool:
    """Whether whole blocks of ub are moved."""
    return isinstance(stmt, Op) and pipe_of(stmt) in _DMA


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
