"""Random `T.Parallel` kernels: expressions over tiles, rows, columns, scalars, loop variables and
gm, in all types, with odd shapes, slices of wider buffers, and destinations that are operands too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from tile_ir import (
    DTYPES,
    OPS,
    Alloc,
    Buffer,
    DType,
    For,
    Func,
    If,
    Launch,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Store,
)
from tile_ir.dtypes import to_bytes
from tile_ir.expr import Const, Expr, Load, Var, as_expr, binary, cast, select, unary
from tile_ir.machine import Core
from tile_ir.nodes import Stmt

T = TypeVar("T")
Choose = Callable[[Sequence[Any]], Any]
HERE = Loc("parallel_kernels.py", 1, 1)
COPIES = (False, False, None)

FLOAT_BINARY = ("+", "-", "*", "/", "min", "max")
INTEGER_BINARY = ("+", "-", "*", "min", "max", "&", "|", "^")
EXACT_UNARY = ("-", "abs", "sqrt", "floor", "ceil", "round", "trunc")
INEXACT_UNARY = ("exp", "log", "rsqrt", "tanh", "erf")
TYPES = ("float32", "float32", "float16", "int32", "int16", "bfloat16", "int8", "uint8")


@dataclass
class RandomKernel:
    """One kernel under construction. `exact` turns false with the first function that rounds
    differently here and there."""

    choose: Choose
    dtype: DType
    rank: int
    extents: tuple[int, ...]
    run_time: bool
    allocs: list[Alloc] = field(default_factory=list)
    tensors: list[Buffer] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)
    exact: bool = True

    def __post_init__(self) -> None:
        self.vars = tuple(Var(f"p{i}") for i in range(self.rank))
        self.size = Var("n")
        self.rng = np.random.default_rng(self.choose(range(1000)))

    def buffer(self, name: str, shape: tuple[int, ...], dtype: DType, memory: Memory) -> Buffer:
        number = len(self.tensors)
        dims = tuple(Const(max(d, 1)) for d in shape)
        gm = Buffer(f"G{number}", Memory.GM, dtype, dims, HERE)
        self.tensors.append(gm)
        low, high = dtype.limits() if dtype.is_integer and dtype.size == 1 else (1, 8)
        values = self.rng.integers(low, high, [max(d, 1) for d in shape], endpoint=True)
        self.arrays.append(to_bytes(values / (1 if dtype.is_integer else 4), dtype))
        if memory is Memory.GM:
            return gm
        ub = Buffer(f"{name}{number}", Memory.UB, dtype, dims, HERE)
        self.allocs.append(Alloc(ub, HERE))
        self.before.append(Op(OPS["copy"], (Region.whole(gm), Region.whole(ub)), COPIES, HERE))
        self.after.append(Op(OPS["copy"], (Region.whole(ub), Region.whole(gm)), COPIES, HERE))
        return ub

    def tile(self, memory: Memory, dtype: DType | None = None) -> Load:
        """A tile: the whole buffer, or a slice of a wider one, aligned or not, or of a slot."""
        dtype = dtype or self.dtype
        block = 32 // dtype.size
        inner = self.extents[-1]
        form = self.choose(["whole", "whole", "wide", "wide", "odd", "slot"])
        outer = self.extents[:-1]
        if form == "whole" and (memory is Memory.UB or self.rank == 1):
            return Load(self.buffer("t", self.extents, dtype, memory), self.vars)
        start = {"odd": 3, "slot": 0}.get(form, block)
        width = -(-(inner + start) // block) * block
        places = (*self.vars[:-1], self.vars[-1] + start)
        if form == "slot":
            return Load(self.buffer("s", (2, *outer, width), dtype, memory), (Const(1), *places))
        return Load(self.buffer("w", (*outer, width), dtype, memory), places)

    def line(self) -> Load:
        """One row or one column of a two-dimensional domain, as a vector or a thin matrix."""
        position = self.choose([0, 1])
        count, var = self.extents[position], self.vars[position]
        form = self.choose(["vector", "vector", "thin", "part"])
        if form == "thin" and position == 0:
            return Load(self.buffer("c", (count, 1), self.dtype, Memory.UB), (var, Const(0)))
        if form == "thin":
            return Load(self.buffer("r", (1, count), self.dtype, Memory.UB), (Const(0), var))
        if form == "part":
            block = 32 // self.dtype.size
            size = -(-(count + block) // block) * block
            memory = self.choose([Memory.UB, Memory.GM])
            return Load(self.buffer("q", (size,), self.dtype, memory), (var + block,))
        return Load(self.buffer("v", (count,), self.dtype, Memory.UB), (var,))

    def leaf(self) -> Expr:
        kinds = ["tile", "tile", "tile", "gm", "constant", "element", "index"]
        if self.rank == 2:
            kinds += ["line", "line"]
        match self.choose(kinds):
            case "tile":
                return self.tile(Memory.UB)
            case "gm":
                return self.tile(Memory.GM)
            case "line":
                return self.line()
            case "index":
                return cast(self.index(), self.dtype)
            case "element":
                shape = (32 // self.dtype.size * 2,)
                return Load(self.buffer("e", shape, self.dtype, Memory.UB), (Const(3),))
        value = self.choose([1, 2, 3])
        return as_expr(value if self.dtype.is_integer else value * 0.3, self.dtype)

    def index(self) -> Expr:
        """A value made of loop variables."""
        var = self.choose(self.vars)
        match self.choose(["plain", "step", "both", "quotient", "limit"]):
            case "step":
                return var * self.choose([2, -3, 8]) + self.choose([0, 5, -70])
            case "both":
                return self.vars[0] * 10 - self.vars[-1]
            case "quotient":
                return binary(self.choose(["//", "%"]), var - 4, self.choose([1, 2, 3, 7, 8]))
            case "limit":
                return binary(self.choose(["min", "max"]), var, self.choose(self.vars) + 2)
        return var

    def expression(self, depth: int) -> Expr:
        if depth == 0:
            return self.leaf()
        kind = self.choose(["binary", "binary", "binary", "unary", "select", "cast", "leaf"])
        match kind:
            case "binary":
                ops = INTEGER_BINARY if self.dtype.is_integer else FLOAT_BINARY
                op = self.choose(ops)
                return binary(op, self.expression(depth - 1), self.expression(depth - 1))
            case "unary":
                return self.unary(self.expression(depth - 1))
            case "select":
                return select(
                    self.condition(depth - 1), self.expression(depth - 1), self.expression(0)
                )
            case "cast":
                other = DTYPES[self.choose(["float32", "float16", "int32", "int16"])]
                return cast(cast(self.leaf(), other), self.dtype)
        return self.leaf()

    def unary(self, x: Expr) -> Expr:
        if self.dtype.is_integer:
            return unary(self.choose(["-", "~"]), x)
        op = self.choose([*EXACT_UNARY, *INEXACT_UNARY])
        if op == "sqrt":
            x = unary("abs", x)
        self.exact = self.exact and op in EXACT_UNARY
        return unary(op, x)

    def condition(self, depth: int) -> Expr:
        if depth > 0 and self.choose([False, False, True]):
            op = self.choose(["and", "or", "not"])
            if op == "not":
                return unary("not", self.condition(depth - 1))
            return binary(op, self.condition(depth - 1), self.condition(depth - 1))
        op = self.choose(["<", "<=", ">", ">=", "==", "!="])
        if self.choose([False, False, True]):
            return binary(op, self.index() + self.choose([1, 2]), self.index())
        return binary(op, self.expression(0), self.expression(depth))

    def statement(self, reuse: list[Load]) -> Store:
        target = self.choose(["new", "new", "gm", "other", "old"])
        value = self.expression(self.choose([0, 1, 1, 2, 2, 3]))
        if target == "old" and reuse:
            place = self.choose(reuse)
            value = binary("+", cast(place, self.dtype), value)
        elif target == "gm":
            place = self.tile(Memory.GM)
        elif target == "other":
            place = self.tile(Memory.UB, DTYPES[self.choose(["float32", "float16"])])
        else:
            place = self.tile(Memory.UB)
        reuse.append(place)
        return Store(place.buffer, place.indices, value, HERE)

    def branch(self, reuse: list[Load]) -> Stmt:
        """A statement, now and then under a condition of each element."""
        store = self.statement(reuse)
        form = self.choose(["store", "store", "store", "if", "else", "chain", "both"])
        if form == "store":
            return store
        condition = self.condition(self.choose([0, 1]))
        if form == "chain":
            last = If(self.condition(0), (self.statement(reuse),), (), HERE)
            return If(condition, (store,), (last,), HERE)
        if form == "both":
            return If(condition, (store, self.statement(reuse)), (self.statement(reuse),), HERE)
        other = Store(store.buffer, store.indices, self.expression(1), HERE)
        return If(condition, (store,), (other,) if form == "else" else (), HERE)

    def build(self) -> Func:
        reuse: list[Load] = []
        body: tuple[Stmt, ...] = tuple(self.branch(reuse) for _ in range(self.choose([1, 1, 2, 3])))
        for i in reversed(range(self.rank)):
            last = self.run_time and i == self.rank - 1
            stop: Expr = self.size if last else Const(self.extents[i])
            body = (For(self.vars[i], Const(0), stop, LoopKind.PARALLEL, body, HERE),)
        fence = Op(OPS["barrier_all"], (), (), HERE)
        inside = (*self.before, fence, *body, fence, *self.after)
        section = Section(Core.VECTOR, inside, HERE)
        launch = Launch(Const(1), Var("cid"), Var("vid"), 1, tuple(self.allocs), (section,), HERE)
        params = (*self.tensors, *((self.size,) if self.run_time else ()))
        return Func("parallel", params, launch, Phase.BUILT, HERE)

    @property
    def arguments(self) -> list[Any]:
        return [*self.arrays, *((self.extents[-1],) if self.run_time else ())]


def random_kernel(choose: Choose) -> tuple[RandomKernel, Func]:
    """A kernel whose every decision is made by `choose`."""
    dtype = DTYPES[choose(TYPES)]
    rank = choose([1, 2])
    inner = choose([8, 16, 32, 32, 64, 70, *range(34)])
    outer = choose([1, 2, 3, 5, 8, 0])
    extents = (inner,) if rank == 1 else (outer, inner)
    kernel = RandomKernel(choose, dtype, rank, extents, choose([False, False, False, True]))
    return kernel, kernel.build()


def same(kernel: RandomKernel, got: Sequence[Any], want: Sequence[Any]) -> str:
    """Why two results differ; empty if they do not. Zeros of both signs are equal."""
    from tile_ir.dtypes import from_bytes

    for tensor, a, b in zip(kernel.tensors, got, want, strict=False):
        x, y = from_bytes(a, tensor.dtype), from_bytes(b, tensor.dtype)
        if kernel.exact or tensor.dtype.is_integer:
            equal = np.array_equal(x, y, equal_nan=not tensor.dtype.is_integer)
        else:
            loose = {4: 1e-4}.get(tensor.dtype.size, 0.1)
            with np.errstate(all="ignore"):
                equal = np.allclose(x, y, rtol=loose, atol=loose, equal_nan=True)
        if not equal:
            return f"{tensor.name}: {x.reshape(-1)[:80]} is not {y.reshape(-1)[:80]}"
    return ""
