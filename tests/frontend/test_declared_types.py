"""`T.reinterpret` of what is computed of narrow integers: every operation has kept their bits."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tile_frontend as T
from tile_frontend._tracing.declared_types import in_declared_type
from tile_frontend._tracing.scalars import Scalar
from tile_ir import DTYPES, INT8, INT16, INT32, UINT8, DType, Expr, Var, binary, cast, select
from tile_ir.interpreter.scalars import evaluate

TYPES = (INT8, UINT8, INT16, DTYPES["uint16"])


def wrapped(value: int, dtype: DType) -> int:
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value > dtype.limits()[1] else value


# With `w`, which keeps the bits of the type, and the value as the language declares it.
FORMULAS: dict[str, tuple[Callable[[Expr], Expr], Callable[[int, Callable[[int], int]], int]]] = {
    "shifted out": (lambda x: binary("<<", x, 4), lambda x, w: w(x << 4)),
    "and back": (
        lambda x: binary(">>", binary("<<", x, 4), 4),
        lambda x, w: w(x << 4) >> 4,
    ),
    "sum halved": (
        lambda x: binary("//", binary("+", binary("*", x, 3), x), 2),
        lambda x, w: w(w(x * 3) + x) // 2,
    ),
    "negated": (lambda x: binary(">>", -x, 1), lambda x, w: w(-x) >> 1),
    "larger": (
        lambda x: binary("max", binary("+", x, 100), binary("^", x, 5)),
        lambda x, w: max(w(x + 100), w(x ^ 5)),
    ),
    "chosen": (
        lambda x: binary(
            ">>", select(binary("<", x, 9), binary("*", x, 7), binary("-", x, 9)), 1
        ),
        lambda x, w: w(x * 7 if x < 9 else x - 9) >> 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", FORMULAS)
def test_bits_of_every_operation(name: str, dtype: DType) -> None:
    make, meant = FORMULAS[name]
    x = Var("x", dtype)
    found = in_declared_type(make(x), dtype.bits)
    assert found.dtype is dtype
    low, high = dtype.limits()
    for value in range(low, high + 1, 1 if dtype.bits == 8 else 251):
        expected = wrapped(meant(value, lambda v: wrapped(v, dtype)), dtype)
        got = evaluate(found, {x: value}, lambda load: 0)
        assert got == expected, (name, value)


def test_what_has_no_narrow_type_stays() -> None:
    byte, place, other = Var("x", UINT8), Var("place", INT32), Var("y", INT8)
    for expr in (
        binary("<<", byte, place),
        binary("+", byte, other),
        binary("+", place, 1),
        binary("<<", cast(byte, INT16), 4),
    ):
        assert in_declared_type(expr, 8) is expr
    assert in_declared_type(binary("<<", byte, 4), 16).dtype is INT32


# With the bits that a right shift finds: those of the type, or of int32 where a number is none of it.
SHIFTED: dict[str, tuple[Callable[[Scalar], Scalar], Callable[[int, Callable[[int], int]], int]]] = {
    "up and down": (lambda x: (x << 4) >> 4, lambda x, w: w(x << 4) >> 4),
    "by names": (lambda x: T.shift_right(T.shift_left(x, 5), 6), lambda x, w: w(x << 5) >> 6),
    "a field": (lambda x: ((x & 15) << 4) >> 2, lambda x, w: w((x & 15) << 4) >> 2),
    "wide number": (lambda x: ((x & 65535) << 4) >> 4, lambda x, w: x & 65535),
    "beyond the type": (lambda x: (x << 16) >> 12, lambda x, w: wrapped(x << 16, INT32) >> 12),
    "shifted once": (lambda x: (x << 4) + 1, lambda x, w: (x << 4) + 1),
}  # fmt: skip


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", SHIFTED)
def test_a_right_shift_finds_the_bits_of_the_type(name: str, dtype: DType) -> None:
    make, meant = SHIFTED[name]
    if name == "wide number" and dtype is DTYPES["uint16"]:
        pytest.skip("uint16 holds it")
    x = Var("x", dtype)
    found = make(Scalar(x)).expr
    low, high = dtype.limits()
    for value in range(low, high + 1, 1 if dtype.bits == 8 else 251):
        expected = meant(value, lambda v: wrapped(v, dtype))
        assert evaluate(found, {x: value}, lambda load: 0) == expected, (name, value)
