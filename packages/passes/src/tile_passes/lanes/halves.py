"""Writes a kernel for both lanes: each works on its rows, and stores those it owns.

Of an odd number of rows lane 0 holds one more than it owns. Both lanes work on tiles of one size,
and lane 0 leaves its last row to lane 1 when it stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import partial

from tile_ir import (
    TOLD,
    Axes,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    LoopKind,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    accesses,
    bodies,
    check_op,
    clamped_dims,
    constant_value,
    equal,
    map_own_expressions,
    maximum,
    minimum,
    rebuild,
    simplify,
    walk,
    with_bodies,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.lanes.choice import Choice
from tile_passes.lanes.places import Names, OwnIteration, Touch, Whole, resolved, with_name
from tile_passes.lanes.relations import Dim, Node, Reason, Relations, Site
from tile_passes.lanes.shared_memory import SHARED


class Unfit(Exception):
    """Halves that an operation does not take."""

    def __init__(self, node: Node, reason: Reason) -> None:
        super().__init__(reason.text)
        self.node = node
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a lane: `held` from `first` on, of which it owns `owned`."""

    count: int
    lane: Var

    @property
    def odd(self) -> bool:
        return self.count % 2 == 1

    @property
    def held(self) -> int:
        return -(-self.count // 2)

    @property
    def first(self) -> Expr:
        return self.lane * (self.count // 2)

    @property
    def owned(self) -> Expr:
        return self.lane + self.count // 2 if self.odd else Const(self.held)


def write_halves(func: Func, found: Relations, choice: Choice, target: Target) -> Func:
    """The function for two explicit lanes. Raises Unfit."""
    launch = func.launch
    buffers = {
        a.buffer: _halved(a.buffer, choice)
        for a in launch.allocs
        if any(Dim(a.buffer, n) in choice.sizes for n in range(a.buffer.rank))
    }
    allocs = tuple(
        replace(
            a,
            buffer=buffers.get(a.buffer, a.buffer),
            alias_of=a.alias_of and buffers.get(a.alias_of, a.alias_of),
        )
        for a in launch.allocs
    )
    sites = {site.stmt: site for site in found.sites}
    body = _Writer(choice, launch.lane, buffers, sites, target).body(launch.body, {}, {})
    return replace(func, launch=replace(launch, body=body, allocs=allocs, threads=None))


def _halved(buffer: Buffer, choice: Choice) -> Buffer:
    shape = tuple(
        Const(-(-choice.sizes[Dim(buffer, n)] // 2)) if Dim(buffer, n) in choice.sizes else size
        for n, size in enumerate(buffer.shape)
    )
    return replace(buffer, shape=shape)


Shift = Mapping[Var, Expr]


@dataclass(frozen=True, slots=True)
class _Writer:
    choice: Choice
    lane: Var
    buffers: Mapping[Buffer, Buffer]
    sites: Mapping[Stmt, Site]
    target: Target
    empty: Body = field(default=())

    def body(self, body: Body, shift: Shift, names: Names) -> Body:
        result: list[Stmt] = []
        for stmt in body:
            result.append(self.stmt(stmt, shift, names))
            if isinstance(stmt, Let):
                names = with_name(names, stmt)
        return tuple(result)

    def stmt(self, stmt: Stmt, shift: Shift, names: Names) -> Stmt:
        match stmt:
            case Op():
                return self.guarded(stmt, self.op(stmt, shift, names), shift)
            case Store(buffer=buffer, indices=indices, value=value):
                new = self.element(buffer, indices, shift, names)
                store = Store(new.buffer, new.indices, self.expr(value, shift, names), stmt.loc)
                return self.guarded(stmt, store, shift)
            case For() if stmt in self.choice.sizes:
                rows = self.rows(stmt)
                alone = stmt.kind is LoopKind.PARALLEL and rows.odd and self.stores(stmt)
                inner = {**shift, stmt.var: stmt.var + rows.first}
                body = self.body(stmt.body, inner, names)
                return replace(stmt, stop=rows.owned if alone else Const(rows.held), body=body)
        changed = map_own_expressions(stmt, partial(self.expr, shift=shift, names=names))
        return with_bodies(changed, tuple(self.body(b, shift, names) for b in bodies(stmt)))

    def rows(self, node: Node) -> Rows:
        return Rows(self.choice.sizes[node], self.lane)

    def stores(self, loop: For) -> bool:
        """Whether anything in a loop stores to gm."""
        return any(_shared_target(s) for s in walk(loop.body))

    def guarded(self, old: Stmt, new: Stmt, shift: Shift) -> Stmt:
        """A store to memory of both lanes: by the one that owns the rows."""
        site = self.sites.get(old)
        if site is None or not site.is_lanes or not (_shared_target(old) or _tells(old)):
            return new
        node = self.choice.of(site)
        if node is None and _tells(old):
            return new
        if node is None:
            return If(equal(self.lane, 0), (new,), (), old.loc)
        if isinstance(node, For) and self.rows(node).odd:
            if node.kind is LoopKind.PARALLEL:
                return new  # the loop itself only has the iterations that are owned
            return If(node.var < self.rows(node).owned, (new,), (), old.loc)
        return new

    # Expressions --------------------------------------------------------------------------------

    def expr(self, expr: Expr, shift: Shift, names: Names) -> Expr:
        match expr:
            case Var():
                return shift.get(expr, expr)
            case Load(buffer=buffer, indices=indices):
                return self.element(buffer, indices, shift, names)
        return rebuild(expr, partial(self.expr, shift=shift, names=names))

    def element(
        self, buffer: Buffer, indices: tuple[Expr, ...], shift: Shift, names: Names
    ) -> Load:
        """One element: of rows that are split by the number of the lane's own iteration."""
        new = tuple(
            resolved(index, names)
            if Dim(buffer, n) in self.choice.sizes
            else self.expr(index, shift, names)
            for n, index in enumerate(indices)
        )
        return Load(self.buffers.get(buffer, buffer), new)

    # Operations ---------------------------------------------------------------------------------

    def op(self, op: Op, shift: Shift, names: Names) -> Op:
        site = self.sites.get(op)
        expr = partial(self.expr, shift=shift, names=names)
        operands: list[Operand] = [
            expr(o) if o is not None and not isinstance(o, Region) else o for o in op.operands
        ]
        if site is None:
            return Op(op.opdef, tuple(operands), op.attrs, op.loc)
        node = self.choice.of(site) if site.is_lanes else None
        label = next((n for n, dim in site.along.items() if dim == node), None)
        for touch in site.touches:
            if touch.operand is not None:
                own = site.labels[touch.operand] if site.labels else None
                operands[touch.operand] = Region(
                    self.buffers.get(touch.buffer, touch.buffer),
                    tuple(
                        self.slice(
                            touch,
                            n,
                            node if own is not None and own[n] == label is not None else None,
                            _shared_target(op),
                            expr,
                        )
                        for n in range(len(touch.slices))
                    ),
                )
        new = Op(op.opdef, tuple(operands), op.attrs, op.loc)
        if new.operands == op.operands:
            return op
        if node is not None and label is not None:
            _check(site, op, new, node, self.target)
        return new

    def slice(
        self, touch: Touch, n: int, node: Node | None, stores: bool, expr: partial[Expr]
    ) -> Slice:
        """One dimension of a region; `node` is what is split if it is this dimension."""
        s, place = touch.slices[n], touch.places[n]
        dim = Dim(touch.buffer, n)
        if dim in self.choice.sizes:
            if isinstance(place, OwnIteration):
                return Slice(place.loop.var, Const(1))
            assert isinstance(place, Whole), "anything else keeps the dimension whole"
            rows = self.rows(dim)
            return Slice(Const(0), rows.owned if stores else Const(rows.held))
        offset, extent = expr(s.offset), expr(s.extent)
        if node is None:
            return Slice(offset, extent, s.stride)
        rows = self.rows(node)
        count = rows.owned if stores else Const(rows.held)
        if constant_value(extent) != rows.count:
            count = simplify(minimum(maximum(extent - rows.first, 0), count))
        return Slice(simplify(offset + rows.first * s.stride), count, s.stride)


def _shared_target(stmt: Stmt) -> bool:
    """Whether a statement stores to memory of both lanes."""
    if isinstance(stmt, Store):
        return stmt.buffer.memory in SHARED
    return isinstance(stmt, Op) and any(
        access.writes and region.memory in SHARED for region, access in accesses(stmt)
    )


def _tells(stmt: Stmt) -> bool:
    """Whether the user sees each time that a statement runs."""
    return isinstance(stmt, Op) and stmt.opdef.effect in TOLD


def _check(site: Site, old: Op, new: Op, node: Node, target: Target) -> None:
    """The operation on a half is legal, and still runs along the same dimensions."""
    problem = check_op(new, target)
    if problem is not None:
        raise Unfit(node, Reason(old.loc, f"half of it is not legal: {problem.message}"))
    axes = old.opdef.axes
    assert axes is not None, "what is split has labels"
    if _together(site.labels, new) != _together(axes(new), new):
        raise Unfit(node, Reason(old.loc, f"half of it means another {old.opdef.name}"))
    for before, after in zip(old.operands, new.operands, strict=True):
        if not isinstance(before, Region) or not isinstance(after, Region):
            continue
        if clamped_dims(before) != clamped_dims(after):
            text = "single rows are cut at other edges of the tensor"
            raise Unfit(node, Reason(old.loc, text))


def _together(axes: Axes, op: Op) -> set[frozenset[tuple[int, int]]]:
    """The dimensions, of those longer than one, that run along together."""
    groups: dict[int, set[tuple[int, int]]] = {}
    for number, (operand, own) in enumerate(zip(op.operands, axes, strict=True)):
        if isinstance(operand, Region) and own is not None:
            for dim, label in enumerate(own):
                if label is not None and constant_value(operand.dims[dim].extent) != 1:
                    groups.setdefault(label, set()).add((number, dim))
    return {frozenset(group) for group in groups.values()}
