"""Compute how long a block of a grid takes before anything about it is lowered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from tile_ir import (
    Body,
    Const,
    Core,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    LoopKind,
    Op,
    Pipe,
    Store,
    Target,
    Var,
    bodies,
    constant_value,
    core_of,
    pipe_of,
    reads_memory,
    substitute,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.costs.timing import DEFAULT_TIMING as TIMING
from tile_ir.layout.geometry import REPEAT_BYTES
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS

Resource = tuple[Core, Pipe]
Values = Mapping[Var, Expr]
# Of what is loaded or stored, where blocks follow each other on one core.
VERSIONS = 2


class BlockWork:
    """The pipes of a block work side by side: it takes as long as the longest of them, and what it
    waits for before the first of its results and after the last."""

    def __init__(
        self, func: Func, target: Target, lanes: int = 1, cores: int | None = None
    ) -> None:
        """`lanes` share the elements of T.Parallel, and so many `cores`, or all, the bandwidth."""
        self.func, self.target, self.lanes = func, target, lanes
        self._assumed = Assumed(cores=target.cube_cores if cores is None else cores)
        self._costs: dict[Op, tuple[Resource, float]] = {}
        # Whether loops run once.
        self._once = False

    def cycles(self, block: int | None = None) -> float:
        """Of the block of this number; of any, where that is None."""
        values: dict[Var, Expr] = {}
        if block is not None:
            values[self.func.launch.block] = Const(block)
        return self._longest(values) + TIMING.gm_load_latency

    def overlapped(self, count: int) -> float:
        """Of so many blocks, one after the other: pipes wait for each other in the first iterations
        of the first block and in the last of the last. On each kind of core, a block waits for
        versions of tiles, those of the block before the last."""
        whole = self._longest({})
        self._once = True
        first = self._longest({})
        alone: dict[Core, float] = defaultdict(float)
        for (core, _), cycles in self._busy.items():
            alone[core] += cycles
        self._once = False
        more = whole - first + TIMING.gm_load_latency
        held = max(alone.values(), default=0.0) + more
        return sum(alone.values()) + more + (count - 1) * max(whole, held / VERSIONS)

    def share(self, core: Core, pipe: Pipe) -> float:
        """The time of a pipe as a part of that of the busiest one."""
        longest = self._longest({})
        return self._busy[core, pipe] / longest if longest else 0.0

    def _longest(self, values: dict[Var, Expr]) -> float:
        self._busy: dict[Resource, float] = defaultdict(float)
        self._add(self.func.launch.body, values, 1.0)
        return max(self._busy.values(), default=0.0)

    def _add(self, body: Body, values: dict[Var, Expr], times: float) -> None:
        for stmt in body:
            match stmt:
                case Op() if pipe_of(stmt) is not Pipe.S:  # handovers cost what tiles hold
                    resource, cycles = self._cost(stmt)
                    self._busy[resource] += times * cycles
                case Let(var=var, value=value) if not reads_memory(value):
                    values[var] = substitute(value, values)
                case For(kind=LoopKind.PARALLEL):
                    self._busy[Core.VECTOR, Pipe.V] += times * _elements((stmt,), 1 / self.lanes)
                case For():
                    trips = constant_trips(stmt, values)
                    often = ASSUMED_ITERATIONS if trips is None else max(0, trips)
                    often = min(often, 1) if self._once else often
                    self._add(stmt.body, dict(values), times * often)
                case If(condition=condition, then=then, orelse=orelse):
                    taken = constant_value(substitute(condition, values)) if values else None
                    for found, inner in ((True, then), (False, orelse)):
                        if taken is None or bool(taken) is found:
                            self._add(inner, dict(values), times)
                case _:
                    for inner in bodies(stmt):
                        self._add(inner, dict(values), times)

    def _cost(self, op: Op) -> tuple[Resource, float]:
        if op not in self._costs:
            one, pipe = cost(op, self.target, self._assumed), pipe_of(op)
            cycles = one.done if pipe is Pipe.V else one.busy
            self._costs[op] = (core_of(op), pipe), cycles
        return self._costs[op]


def _elements(body: Body, times: float) -> float:
    """Vector instructions for statements that run for so many elements, one for each operation of
    their expressions."""
    total = 0.0
    for stmt in body:
        match stmt:
            case For():
                trips = constant_trips(stmt) or ASSUMED_ITERATIONS
                total += _elements(stmt.body, times * trips)
            case Store(buffer=buffer, value=value):
                steps = sum(not isinstance(p, (Load, Const)) for p in walk_expr(value)) or 1
                lanes = REPEAT_BYTES / buffer.dtype.size
                total += steps * (TIMING.vector_latency + times / lanes)
            case _:
                total += sum(_elements(inner, times) for inner in bodies(stmt))
    return total
