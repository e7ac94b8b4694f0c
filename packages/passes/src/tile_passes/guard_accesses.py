"""Lets what lies outside of a tensor read as zero and vanish when written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tile_ir import (
    ONE,
    OPS,
    Alloc,
    Automatic,
    Body,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Loc,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    While,
    bodies,
    cast,
    conjunction,
    constant_value,
    difference,
    generated,
    is_constant,
    map_own_expressions,
    maximum,
    minimum,
    rebuild,
    select,
    simplify,
    walk_expr,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import (
    Facts,
    Ranges,
    at_least_by_cases,
    facts_in,
    facts_of,
    launch_ranges,
    ranges_inside,
    with_ranges,
)
from tile_ir.layout.tile_copy import clamped_dims, match_copy, room_along, steps_in
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.lowering.padded_rows import PaddedRows
from tile_passes.lowering.region_parts import (
    each_matrix,
    element_of,
    in_loops,
    part_along,
    with_dim,
)
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.TYPED)
def guard_accesses(func: Func, target: Target) -> Func:
    """Guard accesses to gm tensors whose indices may lie outside.

    Needs, gives: TYPED. Idea: in the dialect for GPUs an element outside its tensor reads as 0, and
    a store to it does nothing. The pass adds a test to each element access. Lowering cuts tiles at
    the ends of rows and columns; this pass cuts them in other dimensions, empties them if another
    index is outside, and moves a negative start to 0. Accesses that intervals prove inside stay
    unchanged. Limits: a tile of l1 or l0c may start before the rows of a tensor, not before its
    columns.
    """
    if Automatic.BOUNDS not in func.automatic:
        return func
    guards = _Guards(FreeNames.of(func), target, [])
    body = guards.body(func.launch.body, _Known(launch_ranges(func)))
    if body is func.launch.body:
        return func
    return func.with_body(body, allocs=(*func.launch.allocs, *guards.allocs))


@dataclass(frozen=True, slots=True)
class _Known:
    """The known values of integers where a statement stands."""

    ranges: Ranges
    facts: Facts = ()

    def inside(self, stmt: Stmt) -> tuple[_Known, ...]:
        """In each body of a statement."""
        ranges = ranges_inside(stmt, self.ranges)
        match stmt:
            case For():
                more: tuple[Facts, ...] = (facts_in(stmt, {}),)
            case If(condition=condition):
                more = facts_of(condition, True, {}), facts_of(condition, False, {})
            case _:
                more = tuple(() for _ in bodies(stmt))
        return tuple(_Known(ranges, (*self.facts, *new)) for new in more)

    def ends(self, index: Expr, size: Expr) -> tuple[bool, bool]:
        """Whether an index may lie before its dimension, and behind it."""
        behind = difference(size, index) - 1
        return (
            at_least_by_cases(index, self.ranges, self.facts) < 0,
            at_least_by_cases(behind, self.ranges, self.facts) < 0,
        )

    def all_inside(self, indices: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
        """The condition under which an element lies in its tensor, without what is known."""
        pairs = list(zip(indices, shape, strict=True))
        return conjunction(t for i, n in pairs for t in _tests(i, n, *self.ends(i, n)))

    def least(self, value: Expr) -> float:
        """The least value that an expression surely has."""
        return at_least_by_cases(value, self.ranges, self.facts)

    def begins_early(self, s: Slice) -> bool:
        """Whether the index arithmetic of a tile leads before its tensor."""
        if constant_value(simplify(s.extent)) == 1:
            return False
        return at_least_by_cases(s.offset, self.ranges, self.facts) < 0

    def ends_late(self, gm: Region, dim: int) -> bool:
        """Whether a tile may end behind its tensor in a dimension."""
        s = gm.dims[dim]
        if constant_value(simplify(s.extent)) == 1:
            return False
        _, late = self.ends(simplify(s.offset + (s.extent - 1) * s.stride), gm.buffer.shape[dim])
        return late


@dataclass(frozen=True, slots=True)
class _Ends:
    """The dimensions in which a tile may begin before its tensor, the last one first, and end
    behind it; its movement before it is cut; what pads its rows, if they begin early too."""

    early: Sequence[int]
    late: Sequence[int]
    original: Op
    padded: PaddedRows | None = None


@dataclass(frozen=True, slots=True)
class _Guards:
    names: FreeNames
    target: Target
    allocs: list[Alloc]

    def body(self, body: Body, known: _Known) -> Body:
        result: list[Stmt] = []
        for original, ranges in with_ranges(body, known.ranges):
            here = replace(known, ranges=ranges)
            parts = zip(bodies(original), here.inside(original), strict=True)
            stmt = with_bodies(original, tuple(self.body(b, inside) for b, inside in parts))
            result += self.statement(stmt, here)
        return with_statements(body, result)

    def statement(self, stmt: Stmt, known: _Known) -> Sequence[Stmt]:
        """The statement behind what it needs by name."""
        before: list[Stmt] = []
        named = None if isinstance(stmt, While) else before
        stmt = map_own_expressions(
            stmt, partial(self.loads, known=known, named=named, loc=stmt.loc)
        )
        match stmt:
            case Store(buffer=buffer, indices=indices) if buffer.memory is Memory.GM:
                indices = tuple(self.by_name(i, named, stmt.loc) for i in indices)
                test = known.all_inside(indices, buffer.shape)
                moved: Body = (_where(test, replace(stmt, indices=indices)),)
            case Op() if _moves_gm(stmt):
                moved = self.tile(stmt, known, before)
            case _:
                moved = (stmt,)
        return [*before, *moved]

    # Elements ---------------------------------------------------------------------------------

    def loads(self, expr: Expr, known: _Known, named: list[Stmt] | None, loc: Loc) -> Expr:
        """The expression with tests around the elements it reads from gm."""
        expr = rebuild(expr, partial(self.loads, known=known, named=named, loc=loc))
        if not isinstance(expr, Load) or expr.buffer.memory is not Memory.GM:
            return expr
        test = known.all_inside(expr.indices, expr.buffer.shape)
        if is_constant(test, True):
            return expr
        indices = tuple(self.by_name(i, named, loc) for i in expr.indices)
        test = known.all_inside(indices, expr.buffer.shape)
        load = Load(expr.buffer, indices)
        return select(test, load, cast(Const(0), load.dtype))

    def by_name(self, index: Expr, named: list[Stmt] | None, loc: Loc) -> Expr:
        """An index that is read from memory under a name, so that it is read once."""
        if named is None or not _reads_gm(index):
            return index
        var = Var(self.names.fresh("at"), index.dtype)
        named.append(Let(var, index, loc))
        return var

    # Tiles ------------------------------------------------------------------------------------

    def tile(self, op: Op, known: _Known, before: list[Stmt]) -> Body:
        """A movement of a tile, with the part that lies in the tensor."""
        side = 0 if _region(op, 0).memory is Memory.GM else 1
        gm = _region(op, side)
        cuts = clamped_dims(gm) if op.opdef.clip is not None else ()
        tests: dict[int, list[Expr]] = {}
        for dim, (s, size) in enumerate(zip(gm.dims, gm.buffer.shape, strict=True)):
            if constant_value(simplify(s.extent)) != 1:
                continue  # of these below
            low, high = known.ends(s.offset, size)
            if low or (high and dim not in cuts):
                at = self.by_name(s.offset, before, op.loc)
                gm = with_dim(gm, dim, Slice(at, s.extent, s.stride))
                tests[dim] = _tests(at, size, low, high)
        rows = PaddedRows(known.least, self.names, self.target)
        pads = rows if side == 0 and op.opdef is OPS["copy"] and rows.pads(op) else None
        if pads is not None:  # lowering does not cut these
            cuts = (len(gm.dims) - 1,)
        early = [d for d, s in enumerate(gm.dims) if known.begins_early(s)]
        late = [d for d in range(len(gm.dims)) if d not in cuts and known.ends_late(gm, d)]
        for dim in (*early, *late):
            at = self.by_name(gm.dims[dim].offset, before, op.loc)
            gm = with_dim(gm, dim, replace(gm.dims[dim], offset=at))
        op = _with_region(op, side, gm)
        if op.opdef.clip is None:
            return (_where(_all(tests), op),)
        if pads is not None:
            early = [d for d in early if d not in cuts]
        ends = _Ends(early[::-1], late, op, pads)
        if not tests:
            return self.from_the_start(op, side, ends)
        without = _with_rows(gm, tests)
        if pads is None and _is_row_of_both(without, op, side):
            return self.from_the_start(_with_region(op, side, without), side, ends)
        orelse = self.emptied(op, _region(op, 1)) if side == 0 else ()
        inside = self.from_the_start(op, side, ends)
        return (If(_all(tests), inside, tuple(map(generated, orelse)), op.loc),)

    def from_the_start(self, op: Op, side: int, ends: _Ends) -> Body:
        """The movement of a tile that may begin before its tensor in some dimensions: as it is
        where it does not, and else of the rest."""
        if not ends.early:
            return self.to_the_end(op, side, ends)
        dim, *others = ends.early
        rest = replace(ends, early=others)
        s = _region(op, side).dims[dim]
        cut = simplify(maximum(steps_in(-s.offset, s.stride), 0))
        whole = self.from_the_start(op, side, rest)
        part = self.part(op, side, dim, cut, simplify(maximum(s.extent - cut, 0)))
        steps = self.from_the_start(part, side, rest) if part is not None else None
        return self.either(s.offset >= 0, whole, steps, op, side, ends)

    def to_the_end(self, op: Op, side: int, ends: _Ends) -> Body:
        """The movement of a tile that may end behind its tensor in some dimensions before its rows:
        as it is where it does not, and else of the part inside."""
        if not ends.late:
            return (op,) if ends.padded is None else ends.padded.load(op)
        dim, *others = ends.late
        rest = replace(ends, late=others)
        gm = _region(op, side)
        s, room = gm.dims[dim], room_along(gm, dim)
        whole = self.to_the_end(op, side, rest)
        there = simplify(minimum(maximum(room, 0), s.extent))
        part = self.part(op, side, dim, Const(0), there)
        steps = self.to_the_end(part, side, rest) if part is not None else None
        return self.either(room >= s.extent, whole, steps, op, side, ends)

    def part(self, op: Op, side: int, dim: int, start: Expr, extent: Expr) -> Op | None:
        """The movement of so many elements along a dimension; None where the tile on chip has no
        such dimension, or that part of it begins inside of a block."""
        pairs = ((p.src_dim, p.dst_dim) for p in match_copy(_region(op, 0), _region(op, 1)))
        partner = next((pair[1 - side] for pair in pairs if pair[side] == dim), None)
        gm, local = _region(op, side), _region(op, 1 - side)
        if partner is None:
            return None
        parts = [part_along(local, partner, start, extent)] * 2
        if not starts_at_blocks(parts[1 - side], self.target):
            return None
        parts[side] = part_along(gm, dim, start, extent)
        return replace(op, operands=(*parts, *op.operands[2:]))

    def either(
        self, inside: Expr, whole: Body, part: Body | None, op: Op, side: int, ends: _Ends
    ) -> Body:
        """The whole tile where it lies in its tensor, and else the part that does, or elements
        where there is no such part."""
        local = _region(op, 1 - side)
        if part is None and (local.memory is not Memory.UB or op.opdef.atomic):
            return whole
        empty = self.emptied(op, local) if side == 0 else ()
        steps = (*empty, *(self.by_element(ends.original, side) if part is None else part))
        return (If(inside, whole, tuple(map(generated, steps)), op.loc),)

    def emptied(self, op: Op, local: Region) -> Body:
        """The fill of a tile where its tensor has nothing; element by element where its rows begin
        at no blocks."""
        if local.memory is Memory.L1:
            slots, matrix = each_matrix(local, lambda: Var(self.names.fresh("slot")))
            return in_loops(slots, (Op(OPS["clear_l1"], (matrix,), (), op.loc),), op.loc)
        pad = op.attr("pad_value") if "pad_value" in {a.name for a in op.opdef.attrs} else None
        value = cast(Const(pad or 0), local.dtype)
        if starts_at_blocks(local, self.target):
            return (Op(OPS["fill"], (local, value), (), op.loc),)
        loops = [(Var(self.names.fresh("e")), s.extent) for s in local.dims]
        places = element_of(local, {d: var for d, (var, _) in enumerate(loops)})
        return in_loops(loops, (Store(local.buffer, places, value, op.loc),), op.loc)

    def by_element(self, op: Op, side: int) -> Body:
        """The movement element by element, each with its own test."""
        src, dst = _region(op, 0), _region(op, 1)
        loops: list[tuple[Var, Expr]] = []
        places: list[dict[int, Expr]] = [{}, {}]
        for pair in match_copy(src, dst):
            var = Var(self.names.fresh("e"))
            whole, dim = (dst, pair.dst_dim) if side == 0 else (src, pair.src_dim)
            loops.append((var, ONE if dim is None else whole.dims[dim].extent))
            for at, d in zip(places, (pair.src_dim, pair.dst_dim), strict=True):
                if d is not None:
                    at[d] = var
        gm = _region(op, side)
        index = element_of(gm, places[side])
        ends = zip(index, gm.buffer.shape, strict=True)
        test = simplify(conjunction(t for i, n in ends for t in _tests(i, n, True, True)))
        if is_constant(test, False):
            return ()
        load = Load(src.buffer, element_of(src, places[0]))
        store = Store(dst.buffer, element_of(dst, places[1]), cast(load, dst.dtype), op.loc)
        return in_loops(loops, (If(test, (store,), (), op.loc),), op.loc)


def _moves_gm(op: Op) -> bool:
    """Whether the operation moves a tile from or to gm, element for element."""
    regions = [o for o in op.operands[:2] if isinstance(o, Region)]
    turned = any(a.name == "transpose" and op.attr(a.name) for a in op.opdef.attrs)
    return len(regions) == 2 and sum(r.memory is Memory.GM for r in regions) == 1 and not turned


def _region(op: Op, position: int) -> Region:
    region = op.operands[position]
    assert isinstance(region, Region), "the movement has two tiles"
    return region


def _with_region(op: Op, position: int, region: Region) -> Op:
    operands = list(op.operands)
    operands[position] = region
    return replace(op, operands=tuple(operands))


def _with_rows(gm: Region, tests: Mapping[int, Sequence[Expr]]) -> Region:
    """The tile of gm with its tested indices inside: none of its rows where a test fails."""
    dims = list(gm.dims)
    for d in tests:
        first = minimum(maximum(dims[d].offset, 0), gm.buffer.shape[d] - 1)
        dims[d] = replace(dims[d], offset=simplify(first))
    row = clamped_dims(gm)[0]
    extent, none = dims[row].extent, cast(Const(0), dims[row].extent.dtype)
    dims[row] = replace(dims[row], extent=select(_all(tests), extent, none))
    return Region(gm.buffer, tuple(dims))


def _all(tests: Mapping[int, Sequence[Expr]]) -> Expr:
    return conjunction(test for its in tests.values() for test in its)


def _is_row_of_both(gm: Region, op: Op, side: int) -> bool:
    """Whether the rows of the tile in gm are a dimension of the tile on chip, too."""
    row = clamped_dims(gm)[0]
    sides = (gm, _region(op, 1)) if side == 0 else (_region(op, 0), gm)
    pairs = ((p.src_dim, p.dst_dim) for p in match_copy(*sides))
    return any(p[side] == row and p[1 - side] is not None for p in pairs)


def _where(test: Expr, stmt: Stmt) -> Stmt:
    return stmt if is_constant(test, True) else If(test, (stmt,), (), stmt.loc)


def _tests(index: Expr, size: Expr, low: bool, high: bool) -> list[Expr]:
    return [t for t, wanted in ((index >= 0, low), (index < size, high)) if wanted]


def _reads_gm(expr: Expr) -> bool:
    return any(
        isinstance(part, Load) and part.buffer.memory is Memory.GM for part in walk_expr(expr)
    )
