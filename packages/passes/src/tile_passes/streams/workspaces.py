"""Find the tensors in gm that are workspaces of a loop.

Each iteration writes what it reads of a workspace, and nothing outside of the loop accesses it, so
that every iteration may have bytes of its own. A tensor that the compiler made for one copy is one.
A tensor of the author's is one if its name has "workspace" in it and the boxes that an iteration
surely writes hold all that it reads behind them.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    loads,
    map_region,
    reads_memory,
    resolved,
    simplify,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_passes.analysis.region_sweep import Run, swept_exactly

# How the author names a workspace; languages related to this one know it by the same word.
NAME = "workspace"
LANES = 2


def workspaces(func: Func, work: Body) -> dict[Buffer, bool]:
    """Map each workspace of a loop to whether the author has declared it. `work` are the statements
    of one iteration in order."""
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
        elif NAME in buffer.name and _Writes(func.launch.lane, values, buffer).hold_reads(work):
            found[buffer] = True
    return found


def _writes(stmt: Stmt, buffer: Buffer) -> bool:
    found = accesses(stmt) if isinstance(stmt, Op) else ()
    return any(region.buffer is buffer and access is Access.WRITE for region, access in found)


class _Writes:
    """The boxes of one tensor that an iteration has surely written so far."""

    def __init__(self, lane: Var, values: Mapping[Var, Expr], buffer: Buffer) -> None:
        self.lane, self.values, self.buffer = lane, values, buffer
        self.written: list[Region] = []

    def hold_reads(self, work: Body) -> bool:
        """Whether all that the iteration reads was written before in it."""
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
        """The union of a region over all iterations of the loops around it and both vector cores,
        if it is one box."""
        region = map_region(region, self._spelled)
        bounds = [e for s in region.dims for e in (s.offset, s.extent)]
        mentioned = {part for e in bounds for part in walk_expr(e)}
        runs = [Run(self.lane, Const(0), Const(LANES))]
        for loop in around:
            if loop.var in mentioned:
                start, trips = self._spelled(loop.start), constant_trips(loop, self.values)
                if trips is None or any(r.var in walk_expr(start) for r in runs):
                    return None
                runs.append(Run(loop.var, start, Const(trips)))
        return None if any(map(reads_memory, bounds)) else swept_exactly(region, runs)

    def _spelled(self, expr: Expr) -> Expr:
        return simplify(resolved(expr, self.values))


def _holds(outer: Region, inner: Region) -> bool:
    """Whether one box contains another."""
    return all(a == b or _within(a, b) for a, b in zip(outer.dims, inner.dims, strict=True))


def _within(a: Slice, b: Slice) -> bool:
    behind = constant_value(simplify(b.offset - a.offset))
    left = constant_value(simplify(a.extent - b.extent))
    units = a.stride == b.stride == 1
    return units and behind is not None and left is not None and 0 <= behind <= left
