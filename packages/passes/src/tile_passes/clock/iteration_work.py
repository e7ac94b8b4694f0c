"""List the instructions of each iteration of a loop, with their costs and what they touch.

Iterations of inner loops are replaced by a few that take as long as all. The result of one
iteration is kept and used for all others unless the loop variable matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from tile_ir import (
    Body,
    Buffer,
    Const,
    Core,
    Expr,
    For,
    Func,
    If,
    Let,
    Memory,
    Op,
    Pipe,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    While,
    accesses,
    bodies,
    constant_value,
    expressions,
    loads,
    pipe_of,
    reads_memory,
    substitute,
    walk_expr,
    walk_ops,
    written_buffers,
)
from tile_ir import walk as walk_statements
from tile_ir.analysis import constant_trips, regions_of
from tile_ir.costs.instruction_cost import Assumed, Cost, cost
from tile_ir.costs.timing import DEFAULT_TIMING as TIMING
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS

# Iterations of an inner loop that are listed.
INNER_ITERATIONS = 3

Box = tuple[tuple[int, int] | None, ...]


class Statements(Protocol):
    """Statements that stay together."""

    @property
    def stmts(self) -> Body: ...


Unit = TypeVar("Unit", bound=Statements)


class BoxAccess(NamedTuple):
    """Elements of a buffer: in each dimension the first and the one behind the last, where known.
    `buffer` is the owner of the bytes."""

    buffer: Buffer
    box: Box | None
    writes: bool

    def meets(self, other: BoxAccess) -> bool:
        (_, mine, writes), (_, theirs, also_writes) = self, other
        if not writes and not also_writes:
            return False
        if mine is None or theirs is None or len(mine) != len(theirs):
            return True
        for a, b in zip(mine, theirs, strict=True):
            if a and b and (a[1] <= b[0] or b[1] <= a[0]):
                return False
        return True


class Instruction(NamedTuple):
    """One instruction, or as many as `times` in a row on one pipe, as iterations of inner loops
    have; on pipe S the scalar unit does it itself and issues nothing meanwhile."""

    pipe: Pipe
    cost: Cost
    touches: tuple[BoxAccess, ...]
    times: float = 1.0


class IterationWork(Generic[Unit]):
    """The instructions of each unit in each iteration, listed on demand.

    `owner`: whose bytes a buffer names. Tensors that the kernel both writes and reads lie in L2, as
    do operands of products, which many blocks load; everything else that vector cores move comes
    from HBM or is new to L2. As many cores move bytes at a time as the launch has blocks, all cores
    if that number is known at run time only.
    """

    def __init__(
        self, func: Func, loop: For, owner: Mapping[Buffer, Buffer], core: Core, target: Target
    ) -> None:
        self.loop, self.owner, self.core, self.target = loop, owner, core, target
        body = func.launch.body
        read = {r.buffer for op in walk_ops(body) for r, access in accesses(op) if access.reads}
        self.handed = written_buffers(body) & read
        known = constant_value(func.launch.blocks)
        self.blocks = target.cube_cores if known is None else min(known, target.cube_cores)
        self.costs: dict[Op, Cost] = {}
        # Instructions that are the same in all iterations.
        self.anywhere: dict[tuple[Op, float], Instruction] = {}
        self.regions: dict[tuple[Stmt, bool], tuple[tuple[BoxAccess, Region | None], ...]] = {}
        # Other tensors delay nothing.
        self.tensors = _written_and_read(loop.body)
        self.known: dict[tuple[Unit, int], tuple[Instruction, ...]] = {}
        self.varies: dict[Unit, bool] = {}

    def of(self, unit: Unit, iteration: int) -> tuple[Instruction, ...]:
        varies = self.varies.get(unit)
        if varies is None:
            varies = self.varies[unit] = self._varies(unit)
        key = unit, iteration if varies else 0
        found = self.known.get(key)
        if found is None:
            start = constant_value(self.loop.start) or 0
            values: dict[Var, Expr] = {self.loop.var: Const(start + iteration)}
            found = self.known[key] = tuple(self._body(unit.stmts, values, 1.0))
        return found

    def _varies(self, unit: Unit) -> bool:
        """Whether its instructions, or elements that others wait for, depend on the iteration."""
        asked: list[Expr] = []
        for stmt in walk_statements(unit.stmts):
            match stmt:
                case If() | For() | While() | Let():
                    asked += expressions(stmt)
            for region, _, _, _ in regions_of(stmt):
                if region.memory is not Memory.GM or region.buffer in self.tensors:
                    asked += [e for s in region.dims for e in (s.offset, s.extent)]
        return any(part == self.loop.var for e in asked for part in walk_expr(e))

    def _body(self, body: Body, values: dict[Var, Expr], times: float) -> Iterator[Instruction]:
        for stmt in body:
            yield from self._stmt(stmt, values, times)

    def _stmt(self, stmt: Stmt, values: dict[Var, Expr], times: float) -> Iterator[Instruction]:
        own = bool(loads(stmt))
        if own or isinstance(stmt, Store):
            yield self._scalar(stmt, values, times)
        match stmt:
            case Op():
                yield self._op(stmt, values, times)
            case Let(var=var, value=value) if not reads_memory(value):
                values[var] = substitute(value, values)
            case If(condition=condition):
                taken = constant_value(substitute(condition, values))
                if taken is None:
                    taken = not (stmt.unlikely or not stmt.then)
                yield from self._body(stmt.then if taken else stmt.orelse, dict(values), times)
            case For(var=var):
                yield from self._loop(stmt, var, values, times)
            case _:
                for inner in bodies(stmt):
                    yield from self._body(inner, dict(values), times * ASSUMED_ITERATIONS)

    def _loop(
        self, loop: For, var: Var, values: dict[Var, Expr], times: float
    ) -> Iterator[Instruction]:
        trips = constant_trips(loop, values)
        trips = ASSUMED_ITERATIONS if trips is None else max(0, trips)
        shown = min(trips, INNER_ITERATIONS)
        start = substitute(loop.start, values)
        for number in range(shown):
            inside = {**values, var: start + number}
            yield from self._body(loop.body, inside, times * trips / shown)

    def _scalar(self, stmt: Stmt, values: Mapping[Var, Expr], times: float) -> Instruction:
        touches = tuple(self._touches(stmt, values, scalar=True))
        whole = stmt if not isinstance(stmt, Op) else None
        each = TIMING.scalar_local * len(touches)
        cycles = cost(whole, self.target).busy if whole is not None else each
        return Instruction(Pipe.S, Cost(cycles * times, cycles * times), touches)

    def _op(self, op: Op, values: Mapping[Var, Expr], times: float) -> Instruction:
        found = self.anywhere.get((op, times))
        if found is not None:
            return found
        if op not in self.costs:
            self.costs[op] = cost(op, self.target, self._assumed(op))
        one = self.costs[op]
        took = Cost(one.busy * times, one.busy * (times - 1) + one.done, one.entries * times)
        touches = tuple(self._touches(op, values, scalar=False))
        found = Instruction(pipe_of(op), took, touches, times)
        if all(moving is None for _, moving in self.regions[op, False]):
            self.anywhere[op, times] = found
        return found

    def _assumed(self, op: Op) -> Assumed:
        if self.core is Core.CUBE:
            return Assumed(cores=self.blocks)
        moved = [r.buffer for r, _ in accesses(op) if r.memory is Memory.GM]
        lanes = self.target.vector_cores // self.target.cube_cores
        return Assumed(in_l2=self.handed.issuperset(moved), cores=self.blocks * lanes)

    def _touches(self, stmt: Stmt, values: Mapping[Var, Expr], scalar: bool) -> Iterator[BoxAccess]:
        key = stmt, scalar
        if key not in self.regions:
            self.regions[key] = tuple(self._found(stmt, scalar))
        for touch, moving in self.regions[key]:
            if moving is not None and touch.box is not None:
                sides = zip(touch.box, moving.dims, strict=True)
                box = tuple(side or _side(s, values) for side, s in sides)
                touch = touch._replace(box=box)
            yield touch

    def _found(self, stmt: Stmt, scalar: bool) -> Iterator[tuple[BoxAccess, Region | None]]:
        """Every access, with its region if the box depends on variables."""
        for region, access, _, pipe in regions_of(stmt):
            if (pipe is None) is not scalar:
                continue
            if region.memory is Memory.GM and region.buffer not in self.tensors:
                continue
            owner = self.owner.get(region.buffer, region.buffer)
            box = _box(region, {}) if owner is region.buffer else None
            yield BoxAccess(owner, box, access.writes), region if box and None in box else None


def _written_and_read(body: Body) -> set[Buffer]:
    """The tensors that a loop both writes and reads."""
    found: tuple[set[Buffer], set[Buffer]] = set(), set()
    for stmt in walk_statements(body):
        for region, access, _, _ in regions_of(stmt):
            if region.memory is Memory.GM:
                found[access.writes].add(region.buffer)
    return found[False] & found[True]


def _box(region: Region, values: Mapping[Var, Expr]) -> Box:
    return tuple(_side(s, values) for s in region.dims)


def _side(s: Slice, values: Mapping[Var, Expr]) -> tuple[int, int] | None:
    offset = constant_value(substitute(s.offset, values))
    extent = constant_value(substitute(s.extent, values))
    known = offset is not None and extent is not None
    return (offset, offset + extent * s.stride) if known else None  # type: ignore
