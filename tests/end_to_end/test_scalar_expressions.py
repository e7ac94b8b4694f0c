"""Random scalar expressions: emitted code on the simulator against the interpreter, bit for bit."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import DTYPES, OPS, Alloc, Buffer, DType, Func, Launch, Loc, Memory, Op, Phase, Region
from tile_ir.dtypes import BOOL
from tile_ir.expr import Cast, Const, Expr, Load, Var, binary, cast, select, unary
from tile_ir.machine import Core
from tile_ir.nodes import For, LoopKind, Section, Stmt, Store
from tile_ir.scalars.arithmetic import power
from tile_ir.text.printer import print_expr
from tile_ir.traversal import walk
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted
from .ulps import largest_distance

HERE = Loc("scalars.py", 1, 1)
ROWS = 24
INTEGERS = ("int32", "uint32", "int16", "uint16", "int8", "uint8", "int64")
INTEGER_OPS = ("+", "-", "*", "//", "%", "&", "|", "^", "min", "max")
FLOAT_OPS = ("+", "-", "*", "/", "min", "max")


class Builder:
    """Random expressions over one element of each input."""

    def __init__(self, seed: int, inputs: dict[str, Buffer], row: Var) -> None:
        self.random = random.Random(seed)
        self.inputs, self.row = inputs, row

    def integer(self, depth: int, types: tuple[str, ...] = INTEGERS) -> Expr:
        pick = self.random
        if depth == 0:
            name = pick.choice(types)
            if pick.random() < 0.7:
                return Load(self.inputs[name], (self.row,))
            low, high = DTYPES[name].limits()
            return Const(pick.choice([0, 1, 2, 7, max(low, -3), min(high, 100)]), DTYPES[name])
        match pick.randrange(8):
            case 0:
                a = self.integer(depth - 1, types)
                return unary(pick.choice(["-", "~", "abs"]), a)
            case 1:
                return select(
                    self.condition(depth - 1),
                    self.integer(depth - 1, types),
                    self.integer(depth - 1, types),
                )
            case 2:
                return cast(self.integer(depth - 1, types), DTYPES[pick.choice(types)])
            case 3:
                shift = Const(pick.randrange(7))
                return binary(pick.choice(["<<", ">>"]), self.integer(depth - 1, types), shift)
        op = pick.choice(INTEGER_OPS)
        a, b = self.integer(depth - 1, types), self.integer(depth - 1, types)
        if op in ("//", "%"):  # a divisor that is not zero: an odd number
            b = binary("|", b, Const(1, b.dtype))
        return binary(op, a, b)

    def condition(self, depth: int) -> Expr:
        pick = self.random
        test = pick.choice(["<", "<=", ">", ">=", "==", "!="])
        a, b = self.integer(depth), self.integer(depth)
        if depth and pick.random() < 0.3:
            inner = unary("not", binary(test, a, b))
            return binary(pick.choice(["and", "or"]), self.condition(0), inner)
        return binary(test, a, b)

    def floating(self, depth: int) -> Expr:
        pick = self.random
        if depth == 0:
            if pick.random() < 0.8:
                return Load(self.inputs["float32"], (self.row,))
            return Const(pick.choice([0.5, -2.0, 3.0]), DTYPES["float32"])
        match pick.randrange(6):
            case 0:
                return unary(pick.choice(["-", "abs", "floor", "ceil"]), self.floating(depth - 1))
            case 1:
                small = self.integer(0, ("int16", "int8"))
                return cast(small, DTYPES["float32"])
            case 2:
                return select(self.condition(0), self.floating(depth - 1), self.floating(depth - 1))
            case 3:
                bits = Cast(self.floating(depth - 1), DTYPES["int32"], True)
                return Cast(bits, DTYPES["float32"], True)
        return binary(pick.choice(FLOAT_OPS), self.floating(depth - 1), self.floating(depth - 1))


def copy(a: Buffer, b: Buffer) -> Op:
    return Op(OPS["copy"], (Region.whole(a), Region.whole(b)), (False, False, None), HERE)


def kernel(make: Any, count: int, seed: int) -> tuple[Func, list[Any]]:
    """`count` expressions of every row of inputs."""
    names = (*INTEGERS, "float32")
    shape = (Const(32),)
    gm = {n: Buffer(f"g_{n}", Memory.GM, DTYPES[n], shape, HERE) for n in names}
    ub = {n: Buffer(f"u_{n}", Memory.UB, DTYPES[n], shape, HERE) for n in names}
    row = Var("row")
    builder = Builder(seed, ub, row)
    body: list[Stmt] = []
    results: list[tuple[Buffer, Buffer]] = []
    for i in range(count):
        expr = make(builder)
        dtype: DType = DTYPES["int32"] if expr.dtype is BOOL else expr.dtype
        results.append(
            (
                Buffer(f"y{i}", Memory.GM, dtype, shape, HERE),
                Buffer(f"z{i}", Memory.UB, dtype, shape, HERE),
            )
        )
        body.append(Store(results[-1][1], (row,), cast(expr, dtype), HERE))
    fence = Op(OPS["barrier_all"], (), (), HERE)
    statements: list[Stmt] = [
        *(copy(gm[n], ub[n]) for n in names),
        *(copy(y, z) for y, z in results),
        fence,
        For(row, Const(0), Const(ROWS), LoopKind.SERIAL, tuple(body), HERE),
        fence,
        *(copy(z, y) for y, z in results),
    ]
    allocs = tuple(Alloc(b, HERE) for b in (*ub.values(), *(z for _, z in results)))
    section = Section(Core.VECTOR, tuple(statements), HERE)
    launch = Launch(Const(1), Var("cid"), Var("vid"), 1, allocs, (section,), HERE)
    params = (*gm.values(), *(y for y, _ in results))
    rng = np.random.default_rng(seed)
    arrays = [numbers(rng, DTYPES[n]) for n in names]
    arrays += [np.zeros(32, y.dtype.storage) for y, _ in results]
    return Func("scalars", params, launch, Phase.BUILT, HERE), arrays


def numbers(rng: np.random.Generator, dtype: DType) -> Any:
    if dtype.is_float:
        return (rng.standard_normal(32) * rng.choice([0.3, 4, 100], 32)).astype(np.float32)
    low, high = dtype.limits()
    values = rng.integers(low, high, 32, dtype=np.dtype(dtype.compute), endpoint=True)
    small = rng.integers(max(low, -20), 20, 32).astype(dtype.compute)
    return np.where(rng.random(32) < 0.6, small, values)


@pytest.mark.parametrize(
    ("make", "kernels"),
    [
        (lambda b: b.integer(1), 4),
        (lambda b: b.integer(3), 6),
        (lambda b: b.condition(2), 2),
        (lambda b: b.floating(2), 4),
    ],
    ids=["small", "deep", "conditions", "floats"],
)
@pytest.mark.exhaustive
def test_random_expressions(make: Any, kernels: int, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = [kernel(make, 40, seed) for seed in range(kernels)]
    ids = [batch.add(func) for func, _ in listed]
    # Random comparisons may be decided; the compiler need not say so.
    batch.build(flags=("-Wno-tautological-compare", "-Wno-bool-compare"))
    wrong = []
    for number, (func, arrays) in zip(ids, listed, strict=True):
        outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
        assert outcome.error is None, outcome.error.text
        stores = [s for s in walk(func.launch.body) if isinstance(s, Store)]
        want = interpreted(func, arrays)[8:]
        for got, right, store in zip(outcome.arrays[8:], want, stores, strict=True):
            if not np.array_equal(got[:ROWS], right[:ROWS], equal_nan=True):
                place = int(np.flatnonzero(got[:ROWS] != right[:ROWS])[0])
                wrong.append(f"{print_expr(store.value)}: {got[place]} for {right[place]}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:25])


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "sin": np.sin,
    "cos": np.cos,
}
EXACT = ("abs", "floor", "ceil")
# Off by 3 ulp of the result, or of 1/2 where that is more.
TURNS = ("sin", "cos")


def functions(size: int) -> Func:
    """Every scalar function of every element, which the scalar unit has to compute."""

    @T.prim_func
    def k(X: T.Tensor((size,), "float32"), Y: T.Tensor((11, size), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_), T.Scope("V"):
            x = T.alloc_ub((size,), "float32")
            y = T.alloc_ub((11, size), "float32")
            T.copy(X, x)
            T.barrier_all()
            for i in T.serial(size):
                y[0, i] = T.exp(x[i])
                y[1, i] = T.log(x[i])
                y[2, i] = T.sqrt(x[i])
                y[3, i] = T.rsqrt(x[i])
                y[4, i] = T.abs(x[i])
                y[5, i] = T.floor(x[i])
                y[6, i] = T.ceil(x[i])
                y[7, i] = T.tanh(x[i])
                y[8, i] = T.erf(x[i])
                y[9, i] = T.sin(x[i])
                y[10, i] = T.cos(x[i])
            T.barrier_all()
            T.copy(y, Y)

    return k


def test_functions_of_scalars(tmp_path: Path) -> None:
    size = 3072
    rng = np.random.default_rng(9)
    x = np.concatenate(
        [
            rng.uniform(-105, 90, 512),
            10 ** rng.uniform(-44, 38, 512),
            rng.uniform(0.5, 2, 512),
            rng.standard_normal(512) * 1e6,
            rng.uniform(-4, 4, 512),
            rng.uniform(-65504, 65504, 512),
        ]
    ).astype(np.float32)
    x[:9] = [0, -0.0, 1, np.inf, -np.inf, np.nan, -1, 8388609.0, -2.5]
    batch = KernelBatch(tmp_path)
    number = batch.add(functions(size))
    batch.build()
    outcome = batch.run(
        number, [x, np.zeros((11, size), np.float32)], checks=launcher().CHECKS_STRICT
    )
    assert outcome.error is None, outcome.error.text
    with np.errstate(all="ignore"):
        for row, (name, fn) in enumerate(FUNCTIONS.items()):
            want = fn(x.astype(np.float64)).astype(np.float32)
            if name == "rsqrt":
                want[1] = np.inf  # a zero has no sign there
            found = outcome.arrays[1][row]
            if name in TURNS:
                near = np.abs(x) <= 65504
                assert np.all(np.abs(found - want)[near] <= 3 * 2.0**-25), name
                assert np.all(np.isnan(found[~np.isfinite(x)])), name
                continue
            distance = largest_distance(found, want, DTYPES["float32"])
            assert distance <= (0 if name in EXACT else 3 if name in ("tanh", "erf") else 2), name


def powers(bases: int, exponents: int) -> Func:
    @T.prim_func
    def k(
        X: T.Tensor((bases,), "float32"),
        E: T.Tensor((exponents,), "float32"),
        Y: T.Tensor((bases, exponents), "float32"),
    ):
        with T.Kernel(1, threads=1, is_npu=True) as (_), T.Scope("V"):
            y = T.alloc_ub((bases, exponents), "float32")
            for i, j in T.grid(bases, exponents):
                y[i, j] = T.pow(X[i], E[j])
            T.barrier_all()
            T.copy(y, Y)

    return k


def test_powers_of_scalars(tmp_path: Path) -> None:
    inf, nan = np.inf, np.nan
    bases = [0, 1, -1, 2, -2, 0.5, -0.5, inf, -inf, nan, 1e-20, 1e20, 0.999, -3]
    given = [0, 1, 2, 3, -1, -2, 0.5, -0.5, 31, 33, 100, -100, 1000.5, 2e9, inf, -inf, nan, 0.25]
    x, e = np.array(bases, np.float32), np.array(given, np.float32)
    batch = KernelBatch(tmp_path)
    number = batch.add(powers(x.size, e.size))
    batch.build()
    arrays = [x, e, np.zeros((x.size, e.size), np.float32)]
    outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
    assert outcome.error is None, outcome.error.text
    with np.errstate(all="ignore"):
        want = np.array([[power(float(a), float(b)) for b in e] for a in x]).astype(np.float32)
    np.testing.assert_allclose(outcome.arrays[2], want, rtol=1e-5, atol=1e-38)
