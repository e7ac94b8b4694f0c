"""Takes vector operations and loads whose results are the same in every iteration out of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from tile_ir import (
    ONE,
    Access,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Core,
    Effect,
    For,
    Func,
    If,
    Let,
    LoopKind,
    Memory,
    Op,
    Phase,
    Pipe,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    accesses,
    bodies,
    breaks,
    buffer_bytes,
    buffers_of,
    constant_value,
    core_of,
    element_offset,
    is_contiguous,
    loads,
    pipe_of,
    replace_buffers,
    simplify,
    variables_of,
    walk,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_ir.analysis import Ranges, launch_ranges, ranges_inside, surely_runs, with_ranges
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.parallel.temporaries import SCRATCH_BYTES
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.dependence_graph import owners
from tile_passes.streams.items import closed, items

LOOPS = (LoopKind.SERIAL, LoopKind.PIPELINED)


@ir_pass(needs=Phase.LOWERED)
def hoist_invariants(func: Func, target: Target) -> Func:
    """Move vector operations and loads with one result for all iterations in front of the loop.

    Needs, gives: LOWERED. Idea: a converted weight, a mask of bits or a table of offsets does not
    change while the loop runs. A value is one run of writes to a buffer in ub and the reads behind
    it. If the loop keeps other values in the same buffer, this one moves to a buffer of its own.
    Values that others are made of go first. Limits: kernels that leave order and memory to the
    compiler, and loops without `break` or an order of the author's that run at least once. A value
    under a condition stays unless it is made of numbers alone. A value stays whose buffer has no
    room beside the versions of the tiles that the loop loads, as far as there is room for these.
    """
    if not {Automatic.SYNC, Automatic.MEMORY} <= func.automatic:
        return func
    if not any(isinstance(s, For) for s in func.launch.body):
        return func
    hoist = _Hoist(func, target)
    body = hoist.body(func.launch.body, launch_ranges(func))
    if body is func.launch.body:
        return func
    # What lived for one operation lives for a loop now.
    allocs = (
        replace(a, scratch=False) if a.scratch and a.buffer in hoist.kept else a
        for a in func.launch.allocs
    )
    return func.with_body(body, allocs=(*allocs, *hoist.allocs))


@dataclass(frozen=True, slots=True)
class _Value:
    """The statements of a body, by number, that write to a buffer, and those that may read it."""

    buffer: Buffer
    writes: tuple[int, ...]
    reads: tuple[int, ...]
    alone: bool


class _Hoist:
    def __init__(self, func: Func, target: Target) -> None:
        launch = func.launch
        self.names = FreeNames.of(func)
        self.allocs: list[Alloc] = []
        self.kept: set[Buffer] = set()
        named = {a.alias_of for a in launch.allocs}
        self.own = {
            a.buffer
            for a in launch.allocs
            if a.buffer.memory is Memory.UB and a.alias_of is None and a.address is None
        } - named
        self.roots = owners(func)
        self.constant = frozenset(func.tensors) - self.changed(launch.body)
        self.all = launch.body
        used = sum(
            buffer_bytes(a)
            for a in launch.allocs
            if a.buffer.memory is Memory.UB and a.alias_of is None
        )
        loaded = {r.buffer for s in walk(launch.body) if _loads(s) for r in _written(s)}
        self.room = target.capacity[Memory.UB] - SCRATCH_BYTES - used
        for size in sorted(buffer_bytes(a) for a in launch.allocs if a.buffer in loaded):
            # A version that has no room takes none.
            self.room -= size if size <= self.room else 0

    def body(self, body: Body, known: Ranges) -> Body:
        found: list[Stmt] = []
        for stmt, here in with_ranges(body, known):
            inside = ranges_inside(stmt, here)
            new = with_bodies(stmt, tuple(self.body(b, inside) for b in bodies(stmt)))
            if isinstance(new, For) and _suits(new) and surely_runs(new, here):
                found += self.loop(new)
            else:
                found.append(new)
        return with_statements(body, found)

    def loop(self, loop: For) -> Body:
        """The statements moved in front of a loop, and the loop."""
        section = loop.body[0] if len(loop.body) == 1 else None
        if isinstance(section, Section):
            if section.core is not Core.VECTOR:
                return (loop,)
            before, inner = self.statements(loop, section.body)
            if not before:
                return (loop,)
            around = replace(section, body=tuple(before))
            return around, replace(loop, body=(replace(section, body=inner),))
        if any(isinstance(s, Section) for s in loop.body):
            return self.of_both_cores(loop)
        before, inner = self.statements(loop, loop.body)
        return (*before, replace(loop, body=inner)) if before else (loop,)

    def of_both_cores(self, loop: For) -> Body:
        """The same of a loop whose sections hold nothing but operations and definitions."""
        opened = items(loop.body)
        if not all(isinstance(item.stmt, (Op, Let)) for item in opened):
            return (loop,)
        before, inner = self.statements(loop, tuple(item.stmt for item in opened))
        if not before:
            return (loop,)
        around = Section(Core.VECTOR, tuple(before), before[0].loc)
        return around, replace(loop, body=closed(items(inner)))

    def statements(self, loop: For, body: Body) -> tuple[list[Stmt], Body]:
        """The invariant statements of a loop, and the others. Of branches, these are the tables
        that are made of numbers alone: computing one for nothing does no harm."""
        changing = {loop.var, *_bound(body)}
        before, body = self.block(body, (), changing)
        rest = list(body)
        for n, stmt in enumerate(rest):
            if not isinstance(stmt, If):
                continue
            branches = list(bodies(stmt))
            for k, branch in enumerate(branches):
                others = [*rest[:n], *rest[n + 1 :], *chain(*branches[:k], *branches[k + 1 :])]
                tables, branches[k] = self.block(branch, others, changing, numbers_only=True)
                before += tables
            rest[n] = with_bodies(stmt, tuple(branches))
        return before, with_statements(body, rest)

    def block(
        self, body: Body, others: Sequence[Stmt], changing: set[Var], numbers_only: bool = False
    ) -> tuple[list[Stmt], Body]:
        """The same of one block of a loop that has others; of values of numbers only, and of those
        that are made of these."""
        before: list[Stmt] = []
        more = True
        while more:
            more = False
            written = self.changed((*body, *others))
            made = {r.buffer for s in before for r in _written(s)}
            tried = {r.buffer for s in body if _may_move(s) for r in _written(s)} & self.own
            for buffer in sorted(tried, key=lambda b: b.name):
                for value in _values(buffer, body):
                    ops = [body[n] for n in value.writes]
                    if not all(self.same(op, buffer, written, changing) for op in ops):
                        continue
                    if numbers_only and not all(_reads_only(op, {buffer, *made}) for op in ops):
                        continue
                    moved = self.moved(value, body)
                    if moved is not None:
                        taken, body = moved
                        before += taken
                        more = True
                        break
                if more:
                    break
        return before, body

    def changed(self, body: Body) -> frozenset[Buffer]:
        """The buffers whose bytes statements write, under whichever name."""
        written = {self.roots.get(b, b) for b in written_buffers(body)}
        return frozenset(written | {b for b, root in self.roots.items() if root in written})

    def same(
        self, stmt: Stmt, buffer: Buffer, written: frozenset[Buffer], changing: set[Var]
    ) -> bool:
        """Whether the statement writes the same in every iteration."""
        if not _may_move(stmt) or variables_of(stmt) & changing:
            return False
        assert isinstance(stmt, Op), "it may move"
        scratch = stmt.scratch.buffer if stmt.scratch is not None else None
        read = buffers_of(stmt) - {buffer, scratch}
        outside = {b for b in read if b.memory is Memory.GM}
        return not (read & written) and outside <= self.constant

    def moved(self, value: _Value, body: Body) -> tuple[list[Stmt], Body] | None:
        """The writes of a value and the body without them; None where it has to stay."""
        taken = tuple(body[n] for n in value.writes)
        if value.alone and not self.used_elsewhere(value.buffer, body):
            self.kept.add(value.buffer)
            return [*taken], tuple(s for n, s in enumerate(body) if n not in value.writes)
        size = _bytes(value.buffer)
        if any(map(_loads, taken)) or size > self.room:
            return None
        if not _written_first(self.all, value.buffer):
            return None
        self.room -= size
        new = replace(value.buffer, name=self.names.fresh(value.buffer.name))
        self.allocs.append(Alloc(new, value.buffer.loc))
        self.own.add(new)
        inner: list[Stmt] = []
        for n, stmt in enumerate(body):
            if n in value.reads:
                inner += replace_buffers((stmt,), {value.buffer: new})
            elif n not in value.writes:
                inner.append(stmt)
        return [*replace_buffers(taken, {value.buffer: new})], tuple(inner)

    def used_elsewhere(self, buffer: Buffer, body: Body) -> bool:
        """Whether a statement outside of the loop uses the buffer."""
        inside = {*walk(body)}
        return any(buffer in buffers_of(s) for s in walk(self.all) if s not in inside)


def _suits(loop: For) -> bool:
    return loop.kind in LOOPS and not loop.given and not any(breaks(loop.body))


def _may_move(stmt: Stmt) -> bool:
    """Whether a statement is an operation in ub, or a load to it, that does nothing else."""
    if not isinstance(stmt, Op) or stmt.opdef.effect is not Effect.DATA:
        return False
    return core_of(stmt) is Core.VECTOR and (pipe_of(stmt) is Pipe.V or _loads(stmt))


def _reads_only(stmt: Stmt, buffers: set[Buffer]) -> bool:
    """Whether an operation reads nothing but numbers and these buffers."""
    return (
        isinstance(stmt, Op)
        and {r.buffer for r, access in accesses(stmt) if access.reads and r is not stmt.scratch}
        <= buffers
    )


def _loads(stmt: Stmt) -> bool:
    if not isinstance(stmt, Op) or pipe_of(stmt) is not Pipe.MTE2:
        return False
    return all(r.memory is Memory.UB for r in _written(stmt))


def _written(stmt: Stmt) -> list[Region]:
    """The regions that an operation writes, without its working memory."""
    if not isinstance(stmt, Op):
        return []
    return [r for r, access in accesses(stmt) if access.writes and r is not stmt.scratch]


def _bound(body: Body) -> Iterator[Var]:
    """The names that statements of a body define."""
    for stmt in walk(body):
        if isinstance(stmt, (Let, For)):
            yield stmt.var


def _values(buffer: Buffer, body: Body) -> list[_Value]:
    """The values that statements of a body give a buffer one after another in each iteration; none
    where one may come from the iteration before. Blocks inside have values of their own."""
    found: list[tuple[list[int], list[int]]] = []
    whole: Region | None = None
    alone = True
    for n, stmt in enumerate(body):
        if not _touches(stmt, buffer):
            continue
        if bodies(stmt) and buffer in written_buffers((stmt,)):
            if not all(_written_first(b, buffer) for b in bodies(stmt)):
                return []
            whole, alone = None, False
            continue
        write = _fresh_write(stmt, buffer)
        if write is not None and (whole is None or _covers(write, whole)):
            whole = write
            found.append(([n], []))
            continue
        if whole is None or not all(_covers(whole, r) for r in _regions((stmt,), buffer)):
            return []
        writes, reads = found[-1]
        if buffer not in written_buffers((stmt,)):
            reads.append(n)
        elif reads or not _may_move(stmt):
            return []
        else:
            writes.append(n)
    alone = alone and len(found) == 1
    return [_Value(buffer, tuple(w), tuple(r), alone) for w, r in found]


def _written_first(body: Body, buffer: Buffer, whole: Region | None = None) -> bool:
    """Whether each block of statements writes the buffer before it reads it: what a loop leaves
    there is used by none behind it."""
    for stmt in body:
        if not _touches(stmt, buffer):
            continue
        inner = bodies(stmt)
        if inner:
            if not all(_written_first(b, buffer, whole) for b in inner):
                return False
            whole = None if buffer in written_buffers((stmt,)) else whole
            continue
        write = _fresh_write(stmt, buffer)
        if write is not None:
            whole = write
        elif whole is None or not all(_covers(whole, r) for r in _regions((stmt,), buffer)):
            return False
    return True


def _touches(stmt: Stmt, buffer: Buffer) -> bool:
    return any(buffer in buffers_of(s) for s in walk((stmt,)))


def _fresh_write(stmt: Stmt, buffer: Buffer) -> Region | None:
    """The region of a buffer that a statement writes and does not read."""
    if not isinstance(stmt, Op) or any(load.buffer is buffer for load in loads(stmt)):
        return None
    uses = [(r, access) for r, access in accesses(stmt) if r.buffer is buffer]
    return uses[0][0] if len(uses) == 1 and uses[0][1] is Access.WRITE else None


def _regions(body: Body, buffer: Buffer) -> Iterator[Region | None]:
    """The parts of a buffer that statements touch; None for elements."""
    for stmt in walk(body):
        if isinstance(stmt, Op):
            yield from (r for r, _ in accesses(stmt) if r.buffer is buffer)
        if any(load.buffer is buffer for load in loads(stmt)) or (
            isinstance(stmt, Store) and stmt.buffer is buffer
        ):
            yield None


def _span(region: Region) -> tuple[int, int] | None:
    start = constant_value(element_offset(region))
    last = constant_value(element_offset(_last(region)))
    return None if start is None or last is None else (start, last + 1)


def _last(region: Region) -> Region:
    """The last element."""
    dims = (Slice(simplify(s.offset + (s.extent - 1) * s.stride), ONE) for s in region.dims)
    return Region(region.buffer, tuple(dims))


def _covers(whole: Region, part: Region | None) -> bool:
    """Whether what is written surely holds every element of a part."""
    if part is None:
        return whole.is_whole()
    if whole == part or whole.is_whole():
        return True
    outer, inner = _span(whole), _span(part)
    if outer is None or inner is None or not is_contiguous(whole):
        return False
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _bytes(buffer: Buffer) -> int:
    return buffer_bytes(Alloc(buffer, buffer.loc))
