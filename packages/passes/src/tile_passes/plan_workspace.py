"""Gives copies between the cube core and the vector cores a way through global memory."""

from __future__ import annotations

from dataclasses import field
from itertools import count, takewhile

from tile_ir import (
    Automatic,
    Body,
    Break,
    Buffer,
    Const,
    Diagnostic,
    Expr,
    For,
    Func,
    If,
    KernelError,
    Let,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    bodies,
    buffers_of,
    constant_value,
    loads,
    map_own_expressions,
    resolved,
    rewrite,
    round_up,
    walk,
    walk_expr,
    with_bodies,
    with_statements,
    written_buffers,
)
from tile_ir.costs.instruction_cost import REQUEST_BYTES, cost
from tile_ir.ops.movement import goes_through_workspace
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.own_order import left_with, own_cross_flag
from tile_passes.passdef import ir_pass
from tile_passes.streams.cube_half import CubeHalf, Guard
from tile_passes.streams.scoped_tiles import in_step

# The part of the time that rows apart have to leave to be worth it.
WORTH = 0.95


@ir_pass(needs=Phase.TYPED)
def plan_workspace(func: Func, target: Target) -> Func:
    """Replace every copy l0c to ub and ub to l1 by one to a workspace in gm and one from it.

    Needs, gives: TYPED. Idea: each copy gets a workspace as large as the buffer of the cube core,
    once per block, as a hidden parameter. Rows of results are as far apart as makes their requests
    whole. The half of the vector cores stays in place. The half of the cube core leaves the loops
    over rows and branches over lanes around it. It is one copy if that covers the work of both
    vector cores, else it keeps them for each lane. Data are fetched right before their first use.
    The compiler then orders the cores (`Automatic.CROSS`). If such a copy stands in the scope of
    one core, the scopes of the kernel are removed. Limits: the buffer of the cube core has a static
    shape; one workspace per copy.
    """
    crossing = [s for s in walk(func.launch.body) if _crosses(s)]
    if not crossing:
        return func
    flag = own_cross_flag(func)
    if flag is not None:
        raise KernelError(
            "cross-order-mixed",
            f"this copy hands a tile from one core to another in an order the compiler makes, but "
            f"line {flag.loc.line} has a cross-core flag of the source's own",
            crossing[0].loc,
            "remove the cross-core flags, or declare a workspace tensor and copy to and from it",
        )
    scoped = _in_a_scope(func.launch.body)
    if scoped is not None:
        body = in_step(func, [s for s in crossing if isinstance(s, Op)])
        opened = func.with_body(rewrite(body, lambda s: s.body if isinstance(s, Section) else s))
        func = replace(opened, remarks=(*func.remarks, _scopes_left_out(scoped)))
    planner = _Planner(func, target)
    body = planner.body(func.launch.body)
    params = (*func.params, *planner.workspaces)
    left = left_with(func, Automatic.CROSS)
    return replace(func.with_body(body), params=params, automatic=left)


@dataclass(eq=False)
class _Planner:
    """Rewrites one function; `workspaces` are the tensors it has added."""

    func: Func
    target: Target
    workspaces: list[Buffer] = field(default_factory=list)
    values: dict[Var, Expr] = field(default_factory=dict)
    written: set[Buffer] = field(default_factory=set)

    def body(self, body: Body) -> Body:
        """A body in which every half has found its place."""
        new, halves = self.inside(body, None)
        assert not halves, "the outermost body keeps all"
        return new

    def inside(self, body: Body, around: Stmt | None) -> tuple[Body, list[CubeHalf]]:
        """The new statements of a body, and the halves that must leave the statement around it."""
        result: list[Stmt] = []
        leaving: list[CubeHalf] = []
        given = frozenset(self.written)
        fetched: list[tuple[Stmt, Buffer]] = []
        for stmt in body:
            if isinstance(stmt, Let):
                self.values[stmt.var] = self.resolved(stmt.value)
            kept, halves = self.stmt(stmt)
            staying = [h for h in halves if around is None or not self.leaves(h, around, body)]
            leaving.extend(h for h in halves if h not in staying)
            result.extend(s for h in staying if h.sends for s in h.placed(self.func))
            if isinstance(stmt, Op) and self.may_wait(stmt):
                fetched.append((kept, stmt.region("dst").buffer))  # where it is first used
            else:
                result.append(kept)
            for half in staying:
                if not half.sends:
                    fetched.extend((s, half.buffer) for s in half.placed(self.func))
            repeated = given if isinstance(around, For) else None
            fetched = self.place(fetched, result, body, stmt, repeated)
            if isinstance(stmt, (Op, Store)):  # what stands inside others is there already
                self.written |= written_buffers((stmt,))
        result.extend(op for op, _ in fetched)
        return with_statements(body, result), leaving

    def may_wait(self, op: Op) -> bool:
        """Whether a tile is fetched where it is first used, by the one name that it has."""
        if not _crosses(op) or not _sends(op):
            return False
        dst = op.region("dst").buffer
        return not any(
            a.alias_of is not None and dst in (a.buffer, a.alias_of)
            for a in self.func.launch.allocs
        )

    def place(
        self,
        fetched: list[tuple[Stmt, Buffer]],
        result: list[Stmt],
        body: Body,
        done: Stmt,
        given: frozenset[Buffer] | None,
    ) -> list[tuple[Stmt, Buffer]]:
        """Put what is fetched before the statement behind `done` that first uses it; gives what has
        not come to that. `given` is for the body of a loop: the buffers that have a value before
        it."""
        if not fetched:
            return fetched
        at = next(i for i, s in enumerate(body) if s is done) + 1
        waiting = []
        for op, buffer in fetched:
            if at == len(body):
                first = None if given is None else _early_use(buffer, body, given, done)
                if first is None:
                    result.append(op)
                else:
                    place = next(i for i, s in enumerate(result) if s is first or _holds(s, first))
                    result.insert(place, op)
            elif _uses(body[at], buffer) or _leaves_the_loop(body[at]) or _reads(op):
                result.append(op)
            else:
                waiting.append((op, buffer))
        return waiting

    def stmt(self, stmt: Stmt) -> tuple[Stmt, list[CubeHalf]]:
        if isinstance(stmt, Op) and _crosses(stmt):
            return self.copy(stmt)
        inner: list[Body] = []
        halves: list[CubeHalf] = []
        for b in bodies(stmt):
            new, out = self.inside(b, stmt)
            inner.append(new)
            halves.extend(self.outside(h, stmt, b) for h in out)
        return with_bodies(stmt, tuple(inner)), halves

    def copy(self, op: Op) -> tuple[Stmt, list[CubeHalf]]:
        """The vector core's half, and the cube core's."""
        src, dst = op.region("src"), op.region("dst")
        sends = _sends(op)
        cube, vector = (src, dst) if sends else (dst, src)
        if cube.buffer.static_shape() is None:
            raise KernelError(
                "workspace-shape",
                f"`{cube.buffer.name}` has no static shape, so that no workspace fits it",
                op.loc,
                "allocate it with constant sizes",
            )
        near, far = self.halves(op, cube, vector, sends)
        return near, [CubeHalf(self.with_values(far), cube.buffer, sends)]

    def halves(self, op: Op, cube: Region, vector: Region, sends: bool) -> tuple[Op, Op]:
        """The halves of both cores, through a workspace that is new. Results leave the cube core
        row by row, and a row is written in whole requests: rows are as far apart as makes both
        halves fastest."""
        src, dst = op.region("src"), op.region("dst")
        relu, transpose, pad = op.attrs
        plain = (False, transpose, pad)
        block = Slice(self.func.launch.block, Const(1))
        name = self.fresh_name()

        def through(columns: int) -> tuple[Op, Op]:
            shape = (self.func.launch.blocks, *cube.buffer.shape[:-1], Const(columns))
            workspace = Buffer(name, Memory.GM, vector.dtype, shape, op.loc)
            place = Region(workspace, (block, *cube.dims))
            into = replace(op, operands=(src, place), attrs=(relu and sends, transpose, pad))
            out_of = replace(op, operands=(place, dst), attrs=plain)
            return (out_of, into) if sends else (into, out_of)

        def cycles(halves: tuple[Op, Op]) -> float:
            either = WORTH if halves is touching else 1.0
            return either * sum(cost(half, self.target).busy for half in halves)

        columns = constant_value(cube.buffer.shape[-1])
        assert columns is not None, "the shape is static"
        touching = through(columns)
        requests = map(vector.dtype.elements_in, REQUEST_BYTES if sends else ())
        apart = (through(round_up(columns, request)) for request in requests)
        near, far = min((touching, *apart), key=cycles)
        self.workspaces += {b for b in buffers_of(far) if b.name == name}
        return near, far

    def fresh_name(self) -> str:
        taken = {p.name for p in (*self.func.params, *self.workspaces)}
        taken |= {a.buffer.name for a in self.func.launch.allocs}
        return next(n for n in map("workspace_{}".format, count(1)) if n not in taken)

    def leaves(self, half: CubeHalf, around: Stmt, body: Body) -> bool:
        """Whether the cube core's half must stand outside a statement: a loop or a branch in which
        that core has nothing to do with the buffer."""
        match around:
            case If(condition=condition):
                return self.depends_on_lane(condition)
            case For():
                inside = list(walk(around.body))
                if any(isinstance(s, Break) for s in inside):
                    return False
                return not any(_computes_with(s, half.buffer) for s in inside)
        return False

    def outside(self, half: CubeHalf, around: Stmt, body: Body) -> CubeHalf:
        """The half outside of a statement in whose body it stood."""
        match around:
            case For(start=start, stop=stop):
                loop = replace(around, start=self.resolved(start), stop=self.resolved(stop))
                return half.outside(loop)
            case If(condition=condition):
                return half.outside(Guard(self.resolved(condition), body is around.then))
        raise AssertionError("only loops and branches are left")

    def depends_on_lane(self, expr: Expr) -> bool:
        lane = self.func.launch.lane
        return any(e == lane for e in walk_expr(self.resolved(expr)))

    def resolved(self, expr: Expr) -> Expr:
        return resolved(expr, self.values)

    def with_values(self, op: Op) -> Op:
        """The operation with the definitions of lets put in: it may leave the block they are in."""
        new = map_own_expressions(op, self.resolved)
        assert isinstance(new, Op), "an operation stays one"
        return new


def _early_use(buffer: Buffer, body: Body, given: frozenset[Buffer], done: Stmt) -> Stmt | None:
    """The first statement of a loop's body that uses a value fetched only by this body, before the
    statement `done` that fetches it. Nothing before the loop gives it a value: the fetch behind it
    in the text must come before it."""
    earlier = takewhile(lambda s: s is not done, body)
    first = next((s for s in earlier if _uses(s, buffer)), None)
    if buffer in given or first is None or buffer in written_buffers((first,)):
        return None
    return first


def _crosses(stmt: Stmt) -> bool:
    return isinstance(stmt, Op) and goes_through_workspace(stmt)


def _in_a_scope(body: Body) -> Stmt | None:
    """The first copy between the cores that stands in the scope of one."""
    sections = (s for s in walk(body) if isinstance(s, Section))
    return next((s for section in sections for s in walk(section.body) if _crosses(s)), None)


def _scopes_left_out(copy: Stmt) -> Diagnostic:
    assert isinstance(copy, Op), "copies are operations"
    src, dst = copy.region("src").buffer, copy.region("dst").buffer
    return Diagnostic(
        "scope-left-out",
        f"a copy from `{src.name}` in {src.memory.value} to `{dst.name}` in {dst.memory.value} "
        "takes both kinds of core: the scopes of this kernel do not count, each statement runs "
        "where its memories are",
        copy.loc,
        "remove the scopes",
        "warning",
    )


def _sends(op: Op) -> bool:
    """Whether the tile goes from the cube core to the vector cores."""
    return op.region("src").memory is Memory.L0C


def _holds(stmt: Stmt, inner: Stmt) -> bool:
    return any(s is inner for s in walk((stmt,)))


def _uses(stmt: Stmt, buffer: Buffer) -> bool:
    return any(buffer in buffers_of(s) for s in walk((stmt,)))


def _leaves_the_loop(stmt: Stmt) -> bool:
    """Whether what stands behind a statement may be skipped."""
    return any(isinstance(s, Break) for s in walk((stmt,)))


def _reads(stmt: Stmt) -> bool:
    """Whether places or bounds are read from memory, which may change."""
    return any(True for s in walk((stmt,)) for _ in loads(s))


def _computes_with(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement uses a buffer of the cube core for anything but handing it over."""
    return not _crosses(stmt) and buffer in buffers_of(stmt)
