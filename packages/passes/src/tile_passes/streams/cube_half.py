"""The cube core's part of a copy between the cores, once it has left the loops and branches that
only the vector cores need: one operation for all their iterations, or these iterations again."""

from __future__ import annotations

from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    LoopKind,
    Op,
    Region,
    Stmt,
    Var,
    binary,
    difference,
    expressions,
    is_constant,
    map_expressions,
    rewrite,
    simplify,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.region_sweep import Run, swept, swept_exactly


@dataclass(frozen=True, slots=True)
class Guard:
    """A branch that is left; `positive` says whether it was the one taken where the condition
    holds."""

    condition: Expr
    positive: bool


@dataclass(frozen=True, slots=True)
class CubeHalf:
    """`sends` says whether the cube core writes the workspace; `left` is what the operation has
    left behind, inside out."""

    op: Op
    buffer: Buffer
    sends: bool
    left: tuple[For | Guard, ...] = ()

    def outside(self, around: For | Guard) -> CubeHalf:
        return replace(self, left=(*self.left, around))

    def placed(self, func: Func) -> Body:
        """The statements in its place. A send may move more than the other half takes. A fetch
        moves exactly the sent part, since everything else in the buffer keeps its value."""
        workspace = self.op.region("dst" if self.sends else "src")
        near = self.op.region("src" if self.sends else "dst")
        runs = [Run(r.var, r.start, difference(r.stop, r.start)) for r in self.left
                if isinstance(r, For)]  # fmt: skip
        if func.launch.threads is None and self.mentions(func.launch.lane):
            runs.append(Run(func.launch.lane, Const(0), Const(2)))
        guarded = any(isinstance(r, Guard) for r in self.left)
        moved = None if guarded else swept_exactly(near, runs)
        if moved is None and self.sends:
            moved = swept(near, runs)
        if moved is None:
            return self.again(func)
        there = Region(workspace.buffer, (workspace.dims[0], *moved.dims))
        operands = (moved, there) if self.sends else (there, moved)
        return (replace(self.op, operands=operands),)

    def mentions(self, var: Var) -> bool:
        bounds: list[Expr] = []
        for r in self.left:
            bounds += [r.start, r.stop] if isinstance(r, For) else [r.condition]
        return _mentioned((self.op,), var) or any(e == var for b in bounds for e in walk_expr(b))

    def again(self, func: Func) -> Body:
        """The operation in what it has left, once for each vector core if these differ."""
        lane = func.launch.lane
        if func.launch.threads is not None or not self.mentions(lane):
            return self.nest()
        return tuple(s for number in (0, 1) for s in _of_lane(self.nest(), lane, number))

    def nest(self) -> Body:
        """A loop whose iterations are all the same becomes the question whether there is one."""
        body: Body = (self.op,)
        for r in self.left:
            match r:
                case For(var=var, start=start, stop=stop) if _mentioned(body, var):
                    body = (For(var, start, stop, LoopKind.SERIAL, body, self.op.loc),)
                case For(start=start, stop=stop):
                    some = simplify(binary("<", start, stop))
                    body = _decided((If(some, body, (), self.op.loc),))
                case Guard(condition, positive):
                    then, orelse = (body, ()) if positive else ((), body)
                    body = (If(condition, then, orelse, self.op.loc),)
        return body


def _mentioned(body: Body, var: Var) -> bool:
    own = (e for s in walk(body) for e in expressions(s))
    return any(var == part for e in own for part in walk_expr(e))


def _of_lane(body: Body, lane: Var, number: int) -> Body:
    """The statements of one vector core; branches it surely takes, or does not, are gone."""
    known = map_expressions(body, lambda e: simplify(substitute(e, {lane: Const(number)})))
    return _decided(known)


def _decided(body: Body) -> Body:
    def taken(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case If(condition=c) if is_constant(c, True):
                return stmt.then
            case If(condition=c) if is_constant(c, False):
                return stmt.orelse
            case If(then=(), orelse=()) | For(body=()):
                return ()
        return stmt

    return rewrite(body, taken)
