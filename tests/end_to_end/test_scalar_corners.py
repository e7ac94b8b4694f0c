"""Operators at the corners of their types: folded, interpreted, on the scalar unit and in vectors they
give what docs/language/index.md#numbers says, which the table below has from there and from NumPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_frontend._tracing.scalars import Scalar
from tile_ir import DTYPES, Automatic, Func
from tile_ir.dtypes import from_bytes, to_bytes
from tile_ir.expr import Const, Var
from tile_ir.interpreter.scalars import evaluate

from .kernel_batch import KernelBatch

STRICT = 2
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
FLOATS = ("float32", "float16", "bfloat16")
NAN, INF = math.nan, math.inf


def corners(dtype: str) -> list[Any]:
    if dtype in FLOATS:
        large = {"float32": 3e38, "float16": 65504.0, "bfloat16": 3e38}[dtype]
        small = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25]
        return [*small, 200.7, -200.7, large, -large, INF, -INF, NAN]
    low, high = limits(dtype)
    return sorted({low, low + 1, max(low, -7), max(low, -1), 0, 1, 2, 5, 31, high - 1, high})


def limits(dtype: str) -> tuple[int, int]:
    bits, sign = int(dtype.strip("uint")), not dtype.startswith("u")
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if sign else (0, (1 << bits) - 1)


# The meaning, in Python's integers and NumPy's floats ------------------------------------------------


def wrapped(value: int, dtype: str) -> int:
    low, high = limits(dtype)
    return (value - low) % (high - low + 1) + low


def held(value: Any, dtype: str) -> float:
    """The nearest number of a float type, ties to even."""
    if dtype == "bfloat16":
        kind = DTYPES[dtype]
        return float(from_bytes(to_bytes(np.asarray([value], np.float64), kind), kind)[0])
    with np.errstate(all="ignore"):
        return float(np.dtype(dtype).type(value))


def working(dtype: str) -> str:
    """What arithmetic is done in."""
    return "int32" if dtype in ("int8", "uint8", "int16", "uint16") else dtype


def arithmetic(exact: Callable[[Any, Any], Any]) -> Callable[[Any, Any, str], Any]:
    def meaning(a: Any, b: Any, dtype: str) -> Any:
        if dtype not in FLOATS:
            return wrapped(exact(a, b), working(dtype))
        with np.errstate(all="ignore"):
            wide = np.float32 if dtype == "bfloat16" else np.dtype(dtype).type
            return held(exact(wide(a), wide(b)), dtype)

    return meaning


def extreme(pick: Callable[..., Any]) -> Callable[[Any, Any, str], Any]:
    """NaN wins, and 0 is above -0."""

    def meaning(a: Any, b: Any, dtype: str) -> Any:
        if a != a or b != b:
            return NAN
        return pick((a, b), key=lambda v: (v, math.copysign(1, v)))

    return meaning


def shift_left(a: int, n: int, dtype: str) -> int:
    kind = working(dtype)
    return wrapped(a << n, kind) if 0 <= n < int(kind.strip("uint")) else 0


def shift_right(a: int, n: int, dtype: str) -> int:
    return a >> n if 0 <= n < int(dtype.strip("uint")) else -(a < 0)


BINARY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any, str], Any], str]] = {
    "+": (lambda a, b: a + b, arithmetic(lambda a, b: a + b), "all"),
    "-": (lambda a, b: a - b, arithmetic(lambda a, b: a - b), "all"),
    "*": (lambda a, b: a * b, arithmetic(lambda a, b: a * b), "all"),
    "/": (lambda a, b: a / b, arithmetic(lambda a, b: a / b), "float"),
    "//": (lambda a, b: a // b, arithmetic(lambda a, b: a // b), "division"),
    "%": (lambda a, b: a % b, arithmetic(lambda a, b: a % b), "division"),
    "ceildiv": (T.ceildiv, arithmetic(lambda a, b: -(-a // b)), "division"),
    "max": (T.max, extreme(max), "all"),
    "min": (T.min, extreme(min), "all"),
    "&": (lambda a, b: a & b, lambda a, b, d: a & b, "integer"),
    "|": (lambda a, b: a | b, lambda a, b, d: a | b, "integer"),
    "^": (lambda a, b: a ^ b, lambda a, b, d: a ^ b, "integer"),
    "<<": (lambda a, b: a << b, shift_left, "shift"),
    ">>": (lambda a, b: a >> b, shift_right, "shift"),
    "<": (lambda a, b: a < b, lambda a, b, d: a < b, "compare"),
    "<=": (lambda a, b: a <= b, lambda a, b, d: a <= b, "compare"),
    ">": (lambda a, b: a > b, lambda a, b, d: a > b, "compare"),
    ">=": (lambda a, b: a >= b, lambda a, b, d: a >= b, "compare"),
    "==": (lambda a, b: a == b, lambda a, b, d: a == b, "compare"),
    "!=": (lambda a, b: a != b, lambda a, b, d: a != b, "compare"),
    "choice": (lambda a, b: T.if_then_else(a > b, a, b), lambda a, b, d: a if a > b else b, "all"),
}  # fmt: skip


def one_argument(fn: Callable[[Any], Any]) -> Callable[[Any, Any, str], Any]:
    return arithmetic(lambda a, b: fn(a))


def rounding(fn: Callable[[Any], Any]) -> Callable[[Any, Any, str], Any]:
    """Whole numbers; zeros lose their sign."""
    return lambda a, b, d: float(fn(a)) + 0.0 if math.isfinite(a) else a


UNARY = {
    "negative": (lambda a, b: -a, one_argument(lambda a: -a), "all"),
    "magnitude": (lambda a, b: T.abs(a), one_argument(abs), "all"),
    "inverted": (lambda a, b: ~a, lambda a, b, d: ~a if not d.startswith("u") else limits(d)[1] - a, "integer"),
    "floor": (lambda a, b: T.floor(a), rounding(math.floor), "float"),
    "ceil": (lambda a, b: T.ceil(a), rounding(math.ceil), "float"),
    "round": (lambda a, b: T.round(a), rounding(round), "float"),
    "trunc": (lambda a, b: T.trunc(a), rounding(math.trunc), "float"),
}  # fmt: skip


def to_type(target: str) -> Callable[[Any, Any, str], Any]:
    def meaning(a: Any, b: Any, dtype: str) -> Any:
        if target in FLOATS:
            return held(np.float32(a) if dtype not in FLOATS else a, target)
        if dtype not in FLOATS:
            return wrapped(a, target)
        low, high = limits(target)
        return 0 if a != a else low if a <= low else high if a >= high else int(a)

    return meaning


CASTS: dict[str, Any] = {
    f"to {t}": (lambda a, b, t=t: T.cast(a, t), to_type(t), t) for t in (*INTEGERS, *FLOATS)
}
TABLE: dict[str, Any] = {**BINARY, **UNARY, **CASTS}


def suits(name: str, dtype: str) -> bool:
    kind = TABLE[name][2]
    if dtype in FLOATS:
        return kind not in ("integer", "division", "shift")
    return kind != "float"


def result_type(name: str, dtype: str) -> str:
    """Of the tile that the results are stored in: wide enough for all of them."""
    kind = TABLE[name][2]
    if name in CASTS:
        return str(kind)
    return "int32" if kind == "compare" else dtype if dtype in FLOATS else working(dtype)


def operands(name: str, dtype: str) -> list[tuple[Any, Any]]:
    """The pairs that have a value."""
    right = corners(dtype)
    if TABLE[name][2] == "shift":
        right = [
            n for n in (-1, 0, 1, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100) if n >= limits(dtype)[0]
        ]
    pairs = list(itertools.product(corners(dtype), right))
    if TABLE[name][2] == "division":
        least = limits(working(dtype))[0]
        pairs = [(a, b) for a, b in pairs if b != 0 and not (b == -1 and a == least < 0)]
        pairs = [(a, b) for a, b in pairs if not (name == "ceildiv" and sums_wrap(a, b, dtype))]
    if name in UNARY or name in CASTS:
        pairs = [(a, a) for a in corners(dtype)]
    return pairs


# The one conversion of vectors that the rules except.
SATURATES = ("to int32", "int64", "vector")


def sums_wrap(a: int, b: int, dtype: str) -> bool:
    """`ceildiv` adds to the dividend, or takes its negative."""
    low, high = limits(working(dtype))
    return not low < a <= high or not low <= a + b - 1 <= high


def same(got: Any, want: Any) -> bool:
    if isinstance(want, float) and want != want:
        return bool(got != got)
    return bool(got == want) and math.copysign(1, got) == math.copysign(1, want)


CASES = [(n, d) for n in TABLE for d in (*INTEGERS, *FLOATS) if suits(n, d) and n != f"to {d}"]


def scalar(value: Any, dtype: str) -> Scalar:
    return Scalar(Const(value, DTYPES[dtype]))


@pytest.mark.whole
def test_folded_and_interpreted() -> None:
    wrong = []
    for name, dtype in CASES:
        kind = DTYPES[dtype]
        formula, meaning, _ = TABLE[name]
        x, y = Var("x", kind), Var("y", kind)
        runtime = formula(Scalar(x), Scalar(y)).expr
        for a, b in operands(name, dtype):
            a, b = (held(v, dtype) if dtype in FLOATS else v for v in (a, b))
            want = meaning(a, b, dtype)
            got = evaluate(runtime, {x: a, y: b}, lambda load: 0)
            if not same(got, want):
                wrong.append(f"interpreted {name} {dtype} {a} {b}: {got} for {want}")
            if name in ("<<", ">>") and not 0 <= b < int(working(dtype).strip("uint")):
                continue  # refused
            folded = formula(scalar(a, dtype), scalar(b, dtype)).expr
            got = evaluate(folded, {}, lambda load: 0)
            if not same(got, want):
                wrong.append(f"folded {name} {dtype} {a} {b}: {got} for {want}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:30])


def kernel(name: str, dtype: str, size: int, vector: bool) -> Func:
    formula, result = TABLE[name][0], result_type(name, dtype)
    loop = T.Parallel if vector else T.serial

    @T.prim_func
    def k(X: T.Tensor((size,), dtype), Y: T.Tensor((size,), dtype), Z: T.Tensor((size,), result)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((size,), dtype)
            y = T.alloc_ub((size,), dtype)
            z = T.alloc_ub((size,), result)
            T.copy(X, x)
            T.copy(Y, y)
            for i in loop(size):
                z[i] = formula(x[i], y[i])
            T.copy(z, Z)

    return k


def array(values: list[Any], dtype: str) -> Any:
    kind = DTYPES[dtype]
    with np.errstate(all="ignore"):
        return np.asarray(to_bytes(np.asarray(values, kind.compute), kind))


@pytest.mark.parametrize("unit", ["scalar", "vector"])
def test_on_a_unit(unit: str, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = []
    for name, dtype in kept(CASES):
        pairs = operands(name, dtype)
        number = batch.add(kernel(name, dtype, len(pairs), unit == "vector"), AUTOMATIC)
        listed.append((number, name, dtype, pairs))
    batch.build(flags=("-Wno-tautological-compare",))
    wrong = []
    for number, name, dtype, pairs in listed:
        x, y = (array([p[side] for p in pairs], dtype) for side in (0, 1))
        result = result_type(name, dtype)
        outcome = batch.run(number, [x, y, array([0] * len(pairs), result)], checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{name} {dtype}: {outcome.error.text}")
            continue
        got = from_bytes(outcome.arrays[2], DTYPES[result]).tolist()
        numbers = [from_bytes(v, DTYPES[dtype]).tolist() for v in (x, y)]
        for a, b, found in zip(*numbers, got, strict=True):
            if (name, dtype, unit) == SATURATES and wrapped(a, "int32") != a:
                continue
            want = TABLE[name][1](a, b, dtype)
            want = int(want) if isinstance(want, (bool, np.bool_)) else want
            if not same(found, want):
                wrong.append(f"{name} {dtype} {a} {b}: {found} for {want}")
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:40])
