"""Which tensors in gm are workspaces of a loop: each round writes what it reads of them, and nobody
else asks for it, so that every round may have bytes of its own.

Those that the compiler made for a copy stand where the copy does. One that the author declares is
known by its name, which has "workspace" in it, and is looked at: boxes that the statements of a
round write, round by round of their own loops and by both vector cores, have to hold all that is
read behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_ir import (
    Access,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Let,
    Op,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    Var,
    accesses,
    bodies,
    buffers_of,
    constant_value,
    linear_form,
    loads,
    map_region,
    reads_memory,
    resolved,
    simplify,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips

# How the author names a workspace; languages related to this one know it by the same word.
NAME = "workspace"
LANES = 2


def workspaces(func: Func, work: Body) -> dict[Buffer, bool]:
    """The workspaces that are touched in the loop only, each round having its own values there, and
    whether the author has declared them.

    `work` are the statements of one round in order."""
    inside = {id(s) for s in walk(work)}
    users: dict[Buffer, list[Stmt]] = {p: [] for p in func.params if isinstance(p, Buffer)}
    for stmt in walk(func.launch.body):
        for buffer in buffers_of(stmt) & users.keys():
            users[buffer].append(stmt)
    values = {s.var: s.value for s in walk(func.launch.body) if isinstance(s, Let)}
    found: dict[Buffer, bool] = {}
    for buffer, stmts in users.items():
        if not stmts or any(id(s) not in inside for s in stmts):
            continue
        if all(s.loc == buffer.loc for s in stmts):
            if _writes(stmts[0], buffer):
                found[buffer] = False
        elif NAME in buffer.name and _Round(func.launch.lane, values, buffer).keeps(work):
            found[buffer] = True
    return found


def _writes(stmt: Stmt, buffer: Buffer) -> bool:
    found = accesses(stmt) if isinstance(stmt, Op) else ()
    return any(region.buffer is buffer and access is Access.WRITE for region, access in found)


class _Round:
    """One round, of which the boxes of one tensor are followed that are surely written so far."""

    def __init__(self, lane: Var, values: Mapping[Var, Expr], buffer: Buffer) -> None:
        self.lane, self.values, self.buffer = lane, values, buffer
        self.written: list[Region] = []

    def keeps(self, work: Body) -> bool:
        """Whether all that is read was written before it in the round."""
        return all(self._stmt(s, (), True) for s in work)

    def _stmt(self, stmt: Stmt, around: tuple[For, ...], surely: bool) -> bool:
        if any(load.buffer is self.buffer for load in loads(stmt)):
            return False
        match stmt:
            case Store(buffer=buffer) if buffer is self.buffer:
                return False
            case Op():
                return self._op(stmt, around, surely)
            case For():
                surely = surely and (constant_trips(stmt, self.values) or 0) > 0
                return all(self._stmt(s, (*around, stmt), surely) for s in stmt.body)
            case Section(body=body):
                return all(self._stmt(s, around, surely) for s in body)
        return all(self._stmt(s, around, False) for body in bodies(stmt) for s in body)

    def _op(self, op: Op, around: tuple[For, ...], surely: bool) -> bool:
        own = [(r, a) for r, a in accesses(op) if r.buffer is self.buffer]
        if any(a is Access.READ_WRITE for _, a in own):
            return False
        for region, access in own:
            box = self._box(region, around)
            if access is Access.WRITE:
                if surely and box is not None:
                    self.written.append(box)
            elif box is None or not any(_holds(w, box) for w in self.written):
                return False
        return True

    def _box(self, region: Region, around: tuple[For, ...]) -> Region | None:
        """All that the statement touches of the region in all rounds of the loops around it, by
        both vector cores; None unless these are one run after another."""
        region = map_region(region, self._spelled)
        if any(reads_memory(e) for s in region.dims for e in (s.offset, s.extent)):
            return None
        moved = [{e for e in walk_expr(s.offset) if isinstance(e, Var)} for s in region.dims]
        if any(sum(var in names for names in moved) > 1 for var, _, _ in self._turns(around)):
            return None
        dims = [self._run(s, around) for s in region.dims]
        found = tuple(s for s in dims if s is not None)
        return Region(region.buffer, found) if len(found) == len(dims) else None

    def _run(self, s: Slice, around: tuple[For, ...]) -> Slice | None:
        turns = {var: (first, count) for var, first, count in self._turns(around)}
        if any(e in turns for e in walk_expr(s.extent)):
            return None
        while left := turns.keys() & set(walk_expr(s.offset)):
            terms, _ = linear_form(s.offset)
            extent = constant_value(s.extent)
            var = next((v for v in left if terms.get(v) == extent), None)
            if var is None or extent is None or s.stride != 1:
                return None
            first, count = turns.pop(var)
            if count is None:
                return None
            s = Slice(simplify(substitute(s.offset, {var: first})), Const(extent * count))
        return s

    def _turns(self, around: tuple[For, ...]) -> Iterator[tuple[Var, Expr, int | None]]:
        yield self.lane, Const(0), LANES
        for loop in reversed(around):
            yield loop.var, self._spelled(loop.start), constant_trips(loop, self.values)

    def _spelled(self, expr: Expr) -> Expr:
        return simplify(resolved(expr, self.values))


def _holds(outer: Region, inner: Region) -> bool:
    """Whether one box has all of another."""
    return all(a == b or _within(a, b) for a, b in zip(outer.dims, inner.dims, strict=True))


def _within(a: Slice, b: Slice) -> bool:
    behind = constant_value(simplify(b.offset - a.offset))
    left = constant_value(simplify(a.extent - b.extent))
    units = a.stride == b.stride == 1
    return units and behind is not None and left is not None and 0 <= behind <= left


__all__ = ["workspaces"]
