"""Compute what statements may read before they write it, and what they surely write.

The gen and kill sets of liveness, for statements, blocks and loops, on intervals of bytes. A loop
whose iterations write one interval after another writes them all. Where a condition depends on it,
the first iteration of a loop is analysed apart from later ones (`path_context`). A branch
`if not complete: fill` and the load behind it are analysed together, for both ways of the branch.
Not here: what is live (`liveness`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from tile_ir import (
    Alloc,
    Body,
    Break,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Op,
    Region,
    Section,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    buffer_bytes,
    buffers_of,
    loads,
    map_expressions,
    replace_in,
    variables_of,
)
from tile_ir.analysis import constant_trips, element, narrow, surely_runs
from tile_ir.analysis.accesses import is_filled
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.branch_groups import deciding_condition, end_of_group, facts_behind
from tile_passes.analysis.byte_sets import BufferStorage, ByteSet
from tile_passes.analysis.path_context import Iterations, PathContext
from tile_passes.analysis.region_bytes import linear_start, region_bytes, with_open_ends

NOTHING = ByteSet()
# What stands behind a branch up to some statement, with the effects of both together.
Group = tuple[int, "Effects"]


class Effects(NamedTuple):
    """The bytes that some statements may read before they write them (`exposed`), and those surely
    `written` behind them and where a break inside leaves the loop around them (`broken`); None
    where control does not come to."""

    exposed: ByteSet = NOTHING
    written: ByteSet | None = NOTHING
    broken: ByteSet | None = None

    def then(self, other: Effects) -> Effects:
        """The effects of both, one after the other."""
        before = self.written
        if before is None or other is NONE:
            return self
        if self is NONE:
            return other
        return Effects(
            self.exposed | (other.exposed - before),
            None if other.written is None else before | other.written,
            meet(self.broken, None if other.broken is None else before | other.broken),
        )

    def either(self, other: Effects) -> Effects:
        """The effects of one of the two."""
        return Effects(
            self.exposed | other.exposed,
            meet(self.written, other.written),
            meet(self.broken, other.broken),
        )

    def live_before(self, after: ByteSet, after_loop: ByteSet) -> ByteSet:
        """The bytes live before the statements, from those live behind them and behind the loop."""
        live = self.exposed
        if self.written is not None:
            live |= after - self.written
        return live if self.broken is None else live | (after_loop - self.broken)

    def define(self, fresh: ByteSet) -> Effects:
        """The effects where some bytes mean nothing before."""
        return Effects(
            self.exposed - fresh,
            None if self.written is None else self.written | fresh,
            None if self.broken is None else self.broken | fresh,
        )

    def outside(self, own: Sequence[Var]) -> Effects:
        """The effects where the names that a block defines mean nothing."""
        return Effects(
            self.exposed.without_variables(own, whole=True),
            self.written and self.written.without_variables(own, whole=False),
            self.broken and self.broken.without_variables(own, whole=False),
        )


NONE = Effects()


def storages_of(allocs: Iterable[Alloc]) -> dict[Buffer, BufferStorage]:
    """The storage of every buffer; an alias has that of its buffer, and none if it is a view of a
    tensor that a caller passes."""
    allocs = list(allocs)
    owners = (a for a in allocs if a.alias_of is None)
    named = {a.alias_of for a in allocs}
    own = {a.buffer: _storage(number, a, a.buffer in named) for number, a in enumerate(owners)}
    roots = ((a.buffer, a.alias_of or a.buffer) for a in allocs)
    return {buffer: own[root] for buffer, root in roots if root in own}


def _storage(number: int, a: Alloc, has_aliases: bool) -> BufferStorage:
    """The storage of a buffer: all its bytes if other buffers share them, else its elements."""
    shape = None if has_aliases else a.buffer.static_shape()
    size = buffer_bytes(a) if shape is None else a.buffer.dtype.bytes_of(math.prod(shape))
    return BufferStorage(number, size, one_name=shape is not None)


def meet(one: ByteSet | None, other: ByteSet | None) -> ByteSet | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


@dataclass(slots=True)
class GenKill:
    """The effects of statements on some buffers, each with its storage. `fresh` has the bytes that
    mean nothing before a statement."""

    storages: Mapping[Buffer, BufferStorage]
    fresh: Mapping[Stmt, ByteSet] = field(default_factory=dict)
    deciding: dict[Stmt, frozenset[Var]] = field(default_factory=dict)
    found: dict[tuple[Stmt | Body, Iterations], Effects] = field(default_factory=dict)
    groups: dict[tuple[Stmt, Body, Iterations], Effects] = field(default_factory=dict)
    # The own effects of statements that are the same wherever they stand.
    _anywhere: dict[Stmt, Effects] = field(default_factory=dict)

    @staticmethod
    def of(
        storages: Mapping[Buffer, BufferStorage], body: Body, fresh: Mapping[Stmt, ByteSet]
    ) -> GenKill:
        """The analysis that distinguishes first iterations where conditions in the body depend on
        them."""
        analysis = GenKill(storages, fresh)
        analysis._look_for_conditions(body, PathContext())
        return analysis

    def _look_for_conditions(self, body: Body, here: PathContext) -> frozenset[Var]:
        """Note for each statement the loops around it that decide conditions inside; return those
        around the body."""
        result: frozenset[Var] = frozenset()
        for stmt in body:
            inside = here.inside(stmt)
            found = [self._look_for_conditions(block, inside) for block in bodies(stmt)]
            condition = deciding_condition(stmt)
            if condition is not None:
                found.append(here.deciding_loops(condition))
            if any(found):
                self.deciding[stmt] = frozenset().union(*found)
                result |= self.deciding[stmt]
            if isinstance(stmt, For):
                result -= {stmt.var}
            here = here.after(stmt)
        return result

    def block(self, body: Sequence[Stmt], here: PathContext) -> Effects:
        """The effects of the statements of a block, one after another."""
        key = tuple(body), here.iterations
        if key not in self.found:
            self.found[key] = self._in_order(body, here)
        return self.found[key]

    def _in_order(self, body: Sequence[Stmt], here: PathContext) -> Effects:
        result = NONE
        own: list[Var] = []
        groups: dict[int, list[ByteSet]] = {}
        for at, stmt in enumerate(body):
            group = self.group(body, at, here)
            if group is not None and group[1].written:
                groups.setdefault(group[0], []).append(group[1].written)
            result = result.then(self.statement(stmt, here))
            for written in groups.get(at, ()):
                result = result.then(Effects(written=written))
            here = here.after(stmt)
            if isinstance(stmt, Let):
                own.append(stmt.var)
        return result.outside(own) if own else result

    def statement(self, stmt: Stmt, here: PathContext) -> Effects:
        key = stmt, self._iterations(stmt, here)
        if key not in self.found:
            found = self.own(stmt, here).then(self._inside(stmt, here))
            self.found[key] = found.define(self.fresh[stmt]) if stmt in self.fresh else found
        return self.found[key]

    def _iterations(self, stmt: Stmt, here: PathContext) -> Iterations:
        """Of the iterations around a statement those that decide something inside."""
        asked = self.deciding.get(stmt)
        return frozenset(i for i in here.iterations if i[0] in asked) if asked else frozenset()

    def _inside(self, stmt: Stmt, here: PathContext) -> Effects:
        match stmt:
            case For():
                return self._loop(stmt, here)
            case While(body=body):
                return Effects(self.block(body, here).exposed)
            case Section(body=body):
                return self.block(body, here)
            case If():
                one, *other = [self.block(way, here) for way in self.ways(stmt, here)]
                return one.either(other[0]) if other else one
            case Break():
                return Effects(written=None, broken=NOTHING)
        return NONE

    def _loop(self, loop: For, here: PathContext) -> Effects:
        trips = constant_trips(loop, here.lets)
        now, then = self.iterations(loop, here)
        first = self.block(loop.body, now)
        later = first if now is then else self.block(loop.body, then)
        written = meet(first.written, first.broken) or NOTHING
        once = written.without_variables((loop.var,), whole=False)
        exposed = self.swept(loop, first.exposed, here, 1)
        # What an iteration reads where the last two have written is exposed in the first two alone.
        left, before = later.exposed, meet(written, later.written) or NOTHING
        for count in (2, trips):
            before = before.one_iteration_before(loop.var)
            left -= before
            exposed |= self.swept(loop, left, here, count) - once
        surely = once if surely_runs(loop, here.ranges, here.lets) else NOTHING
        start = linear_start(loop, here)
        if (
            trips is not None
            and trips > 0
            and start is not None
            and first.broken is later.broken is None
        ):
            every = meet(written, later.written) or NOTHING
            surely |= every.over_iterations(loop.var, start, trips, whole=False)
        return Effects(exposed, surely)

    def swept(self, loop: For, exposed: ByteSet, here: PathContext, trips: int | None) -> ByteSet:
        """The exposed bytes of so many iterations of a loop, in terms of names that are known
        around it."""
        start = linear_start(loop, here)
        if trips is None or start is None:
            return exposed.without_variables((loop.var,), whole=True)
        return exposed.over_iterations(loop.var, start, max(trips, 1), whole=True)

    def iterations(self, loop: For, here: PathContext) -> tuple[PathContext, PathContext]:
        """The first and any later iteration of a loop: the same if no condition inside depends on
        it."""
        inside = here.inside(loop)
        if loop.var not in self.deciding.get(loop, ()):
            return inside, inside
        return inside.iteration(loop.var, first=True), inside.iteration(loop.var, first=False)

    def ways(self, branch: If, here: PathContext) -> list[Body]:
        """The bodies of a branch that may be executed."""
        decided = self._decided(branch, branch.condition, here)
        if decided is None:
            return [branch.then, branch.orelse]
        return [branch.then if decided else branch.orelse]

    def _decided(self, stmt: Stmt, condition: Expr, here: PathContext) -> bool | None:
        if isinstance(condition, Const) or stmt in self.deciding:
            return here.decides(condition)
        return None

    def own(self, stmt: Stmt, here: PathContext) -> Effects:
        """The effects of a statement without those inside it."""
        if self.storages.keys().isdisjoint(buffers_of(stmt)):
            return NONE
        # No name or condition of it means anything else here than elsewhere.
        alike = here.lets.keys().isdisjoint(variables_of(stmt)) and stmt not in self.deciding
        if not alike:
            return self._own(stmt, here)
        if stmt not in self._anywhere:
            self._anywhere[stmt] = self._own(stmt, here)
        return self._anywhere[stmt]

    def _own(self, stmt: Stmt, here: PathContext) -> Effects:
        exposed, written = NOTHING, NOTHING
        for load in loads(stmt):
            if load.buffer in self.storages:
                exposed |= self.reached(element(load.buffer, load.indices), here)
        if isinstance(stmt, Store) and stmt.buffer in self.storages:
            written = self.filled(element(stmt.buffer, stmt.indices), here)
        if isinstance(stmt, Op):
            unless, scratch = stmt.opdef.overwrites(stmt), stmt.scratch
            replaces = unless is not None and self._decided(stmt, unless, here) is True
            for position, region in enumerate(stmt.operands):
                if region is scratch or not isinstance(region, Region):
                    continue
                if region.buffer not in self.storages:
                    continue
                access = (definition := stmt.opdef.operand_def(position)).access
                if access.reads and not (access.writes and replaces):
                    exposed |= self.reached(with_open_ends(region), here)
                if access.writes and is_filled(stmt, definition, region):
                    written |= self.filled(region, here)
        return Effects(exposed, written)

    def filled(self, region: Region, here: PathContext) -> ByteSet:
        """The bytes of a region, or none."""
        return region_bytes(region, self.storages[region.buffer], here) or NOTHING

    def reached(self, region: Region, here: PathContext) -> ByteSet:
        """The bytes of a region, or all of its buffer."""
        storage = self.storages[region.buffer]
        return region_bytes(region, storage, here) or ByteSet.whole([storage])

    def group(self, body: Sequence[Stmt], at: int, here: PathContext) -> Group | None:
        """The statements of a block that a branch begins: where they end, and their effects, from
        both ways it may go."""
        first = body[at]
        if not isinstance(first, If) or not (facts := facts_behind(first, here)):
            return None
        end = end_of_group(first, body[at + 1 :], facts, here)
        if end is None:
            return None
        rest = tuple(body[at + 1 : at + 1 + end])
        key = first, rest, here.iterations
        if key not in self.groups:
            self.groups[key] = self._both_ways(first, rest, facts, here)
        return at + end, self.groups[key]

    def _both_ways(
        self, first: If, rest: Body, facts: Mapping[Expr, Expr], here: PathContext
    ) -> Effects:
        def known(expr: Expr) -> Expr:
            return narrow(replace_in(here.spelled(expr), facts.get), here.ranges)

        skipped = self.block(map_expressions(rest, known), here)
        taken = self.block(first.then, here).then(self.block(rest, here))
        return self.own(first, here).then(skipped.either(taken))
