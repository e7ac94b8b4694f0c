"""Which bytes a statement surely writes before it reads them, also round by round of its loops and
in both ways of a branch.

Forward and by text: what was read before it was written, at most, and what is written on every way,
at least. A loop whose rounds write one run after another writes them all. `if not complete: fill`
and the load behind it are looked at both ways. Not here: what follows for buffers (`liveness`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tile_ir import (
    BOOL,
    Binary,
    Body,
    Break,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    Unary,
    Var,
    While,
    accesses,
    buffers_of,
    constant_value,
    element_limit,
    element_offset,
    is_contiguous,
    linear_form,
    loads,
    map_expressions,
    overwriting,
    reads_memory,
    replace_in,
    simplify,
    walk_expr,
)
from tile_ir import walk as statements
from tile_ir.analysis import constant_trips, element, narrow, surely_runs
from tile_passes.analysis.loop_turns import Names
from tile_passes.analysis.runs import FIXED, Places, Spans, Terms, joined, whole

# So many statements behind a branch are looked at with what the branch not taken says.
_WINDOW = 6

# The number of a buffer's root and the root's bytes.
Roots = Mapping[Buffer, tuple[int, int]]
_NOWHERE = Places()


class _Effects(NamedTuple):
    """Of some statements; `leaves` if a break inside leads out of them."""

    exposed: Places = _NOWHERE
    written: Places = _NOWHERE
    leaves: bool = False


_NOTHING = _Effects()


@dataclass(slots=True)
class SureWrites:
    """`found` has, by the identity of a statement, the bytes by buffer that it surely writes before
    it reads them. A loop does; of a group of statements it is told at the branch that begins it.
    `unread` has the bytes that no round of a loop reads unless that round has written them; which
    ones it writes may be open: a slot by the number of the round.
    """

    roots: Roots
    sizes: Sequence[int]
    found: dict[int, dict[int, Spans]] = field(default_factory=dict)
    unread: dict[int, dict[int, Spans]] = field(default_factory=dict)

    @staticmethod
    def of(body: Body, roots: Roots, sizes: Sequence[int]) -> SureWrites:
        writes = SureWrites(roots, sizes)
        writes._block(body, Names(), True)
        return writes

    @staticmethod
    def cover(body: Sequence[Stmt], region: Region, roots: Roots, sizes: Sequence[int]) -> bool:
        """Whether the statements surely write all of a region."""
        writes = SureWrites(roots, sizes)
        written = writes._block(body, Names(), False).written
        asked = writes._run(region, Names()) or writes._all_of(region.buffer)
        return not asked.without(written, sizes).spans

    def _block(self, body: Sequence[Stmt], names: Names, tell: bool) -> _Effects:
        """`tell` unless the statements are rewritten to what holds on one way only."""
        own: list[Var] = []
        result = _NOTHING
        groups: dict[int, list[_Effects]] = {}
        for at, stmt in enumerate(body):
            end = _end_of_group(body, at, names)
            if end is not None and isinstance(stmt, If):
                group = self._group(stmt, body[at + 1 : end + 1], names)
                groups.setdefault(end, []).append(_Effects(written=group.written))
                if tell:
                    self._tell(stmt, group)
            result = self._then(result, self._stmt(stmt, names, tell))
            for effects in groups.get(at, ()):
                result = self._then(result, effects)
            names = names.behind(stmt)
            if isinstance(stmt, Let):
                own.append(stmt.var)
        if not own:
            return result
        exposed = result.exposed.widened(own, self.sizes)
        return _Effects(exposed, result.written.staying(own), result.leaves)

    def _stmt(self, stmt: Stmt, names: Names, tell: bool) -> _Effects:
        loaded = self._loaded(stmt, names)
        own = _Effects(exposed=loaded) if loaded.spans else _NOTHING
        match stmt:
            case For():
                effects = self._then(own, self._loop(stmt, names, tell))
                if tell:
                    self._tell(stmt, effects)
                return effects
            case While(body=body):
                inside = self._block(body, names, tell)
                if tell:
                    self._tell_unread(stmt, inside)
                return self._then(own, _Effects(exposed=inside.exposed))
            case Section(body=body):
                return self._block(body, names, tell)
            case If(condition=Const(value=value), then=then, orelse=orelse):
                return self._block(then if value else orelse, names, tell)
            case If(then=then, orelse=orelse):
                one, two = self._block(then, names, tell), self._block(orelse, names, tell)
                return self._then(own, self._either(one, two))
            case Break():
                return _Effects(leaves=True)
            case Op():
                return self._then(own, self._op(stmt, names))
            case Store(buffer=buffer, indices=indices) if buffer in self.roots:
                written = self._run(element(buffer, indices), names) or _NOWHERE
                return self._then(own, _Effects(written=written))
        return own

    def _loop(self, loop: For, names: Names, tell: bool) -> _Effects:
        inside = self._block(loop.body, names.inside(loop), tell)
        if tell:
            self._tell_unread(loop, inside)
        start, rounds = names.spelled(loop.start), constant_trips(loop, names.lets)
        if rounds is not None and rounds <= 0:
            return _Effects()
        exposed = inside.exposed.widened([loop.var], self.sizes)
        runs = surely_runs(loop, names.ranges, names.lets)
        written = inside.written.staying([loop.var]) if runs else _NOWHERE
        if rounds is not None and not reads_memory(start):
            terms, first = linear_form(simplify(start))
            together = inside.written.along(loop.var, (frozenset(terms.items()), first), rounds)
            written = written.joined(together)
        return _Effects(exposed, _NOWHERE if inside.leaves else written)

    def _op(self, op: Op, names: Names) -> _Effects:
        exposed, written = _NOWHERE, _NOWHERE
        own = [(region, access) for region, access in accesses(op) if region.buffer in self.roots]
        if not own:
            return _NOTHING
        scratch = op.scratch
        partial = element_limit(op) is not None or op.opdef.uses is not None
        for region, access in own:
            forgets = access.writes and overwriting(op) is True
            if access.reads and region is not scratch and not forgets:
                found = self._run(_read(region), names)
                exposed = exposed.joined(found or self._all_of(region.buffer))
            if access.writes and region is not scratch and not partial:
                written = written.joined(self._run(region, names) or _NOWHERE)
        return _Effects(exposed, written)

    def _loaded(self, stmt: Stmt, names: Names) -> Places:
        found = _NOWHERE
        for load in loads(stmt):
            if load.buffer in self.roots:
                one = self._run(element(load.buffer, load.indices), names)
                found = found.joined(one or self._all_of(load.buffer))
        return found

    def _all_of(self, buffer: Buffer) -> Places:
        return whole([self.roots[buffer][0]], self.sizes)

    def _group(self, first: If, rest: Sequence[Stmt], names: Names) -> _Effects:
        """A branch with what follows it, in both ways it may go."""
        facts = _facts(first, names)

        def known(expr: Expr) -> Expr:
            return narrow(replace_in(names.spelled(expr), facts.get), names.ranges)

        skipped = self._block(map_expressions(tuple(rest), known), names, False)
        taken = self._then(self._block(first.then, names, False), self._block(rest, names, False))
        own = _Effects(exposed=self._loaded(first, names))
        return self._then(own, self._either(skipped, taken))

    def _tell(self, stmt: Stmt, effects: _Effects) -> None:
        first = effects.written.fixed_apart_from(effects.exposed)
        if first and not effects.leaves:
            self.found[id(stmt)] = first

    def _tell_unread(self, loop: For | While, inside: _Effects) -> None:
        written = {root for root, _ in inside.written.spans}
        found = whole(written, self.sizes).fixed_apart_from(inside.exposed)
        if found:
            self.unread[id(loop)] = found

    def _then(self, one: _Effects, two: _Effects) -> _Effects:
        if not (one.exposed.spans or one.written.spans or one.leaves):
            return two
        if two is _NOTHING:
            return one
        return _Effects(
            one.exposed.joined(two.exposed.without(one.written, self.sizes)),
            one.written.joined(two.written),
            one.leaves or two.leaves,
        )

    def _either(self, one: _Effects, two: _Effects) -> _Effects:
        return _Effects(
            one.exposed.joined(two.exposed),
            one.written.common(two.written, self.sizes),
            one.leaves or two.leaves,
        )

    def _run(self, region: Region, names: Names) -> Places | None:
        """The bytes of a region that lie one after another from a linear form on, else None."""
        buffer = region.buffer
        root, size = self.roots[buffer]
        if region.is_whole():
            return Places({(root, FIXED): ((0, size),)})
        unit = buffer.dtype.bits
        if buffer.memory is not Memory.UB:
            # Rows of a matrix in fractals do not lie together, the matrices do.
            last, shape = region.dims[-2:], buffer.shape[-2:]
            if buffer.rank < 3 or any(s.extent != n for s, n in zip(last, shape, strict=True)):
                return None
            slots = buffer.static_shape()
            assert slots is not None, "checked by whoever allocates it"
            unit, padded = divmod(8 * size, math.prod(slots))
            if padded:
                return None
        counts = [constant_value(s.extent) for s in region.dims]
        if None in counts or not is_contiguous(region):
            return None
        start = simplify(names.spelled(element_offset(region)))
        if reads_memory(start):
            return None
        terms, first = linear_form(start)
        length = math.prod(c for c in counts if c is not None) * unit
        if any(n % 8 for n in (first * unit, length, *(f * unit for f in terms.values()))):
            return None
        moving: Terms = frozenset((atom, f * unit // 8) for atom, f in terms.items())
        begin = first * unit // 8
        return Places({(root, moving): joined([(begin, begin + length // 8)])})


def _read(region: Region) -> Region:
    """A region that is read, with all that it may reach in dimensions of unknown extent, and of
    matrices in fractals all."""

    def reach(s: Slice, size: Expr) -> Slice:
        open_end = constant_value(s.extent) is None and isinstance(s.offset, Const)
        return Slice(s.offset, simplify(size - s.offset)) if open_end and s.stride == 1 else s

    buffer = region.buffer
    dims = [reach(s, size) for s, size in zip(region.dims, buffer.shape, strict=True)]
    if buffer.memory is not Memory.UB:
        dims[-2:] = Region.whole(buffer).dims[-2:]
    return Region(buffer, tuple(dims))


def _end_of_group(body: Sequence[Stmt], at: int, names: Names) -> int | None:
    """Where the group of statements ends that a branch begins: at the first that writes the same
    buffer and is another one where the branch is not taken."""
    stmt = body[at]
    facts = _facts(stmt, names)
    if not facts or not isinstance(stmt, If):
        return None
    filled = {b for s in statements(stmt.then) for b in buffers_of(s)}
    for end in range(at + 1, min(at + 1 + _WINDOW, len(body))):
        later = body[end]
        if filled & {b for s in statements((later,)) for b in buffers_of(s)} and any(
            part in facts for e in _texts(later) for part in walk_expr(names.spelled(e))
        ):
            return end
    return None


def _texts(stmt: Stmt) -> list[Expr]:
    match stmt:
        case If(condition=condition):
            return [condition]
        case Op(operands=operands):
            regions = [o for o in operands if isinstance(o, Region)]
            return [s.extent for region in regions for s in region.dims]
    return []


def _facts(stmt: Stmt, names: Names) -> dict[Expr, Expr]:
    """What holds where a branch `if not (n == 8 and m > 0)` is not taken."""
    found: dict[Expr, Expr] = {}
    match stmt:
        case If(condition=Unary(op="not", operand=operand), orelse=()):
            waiting = [names.spelled(operand)]
        case _:
            return found
    while waiting:
        match waiting.pop():
            case Binary(op="and", left=left, right=right):
                waiting += [left, right]
            case part if not reads_memory(part):
                found[part] = Const(True, BOOL)
                match part:
                    case Binary(op="==", left=left, right=Const() as right):
                        found[left] = right
    return found
