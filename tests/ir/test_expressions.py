"""Scalar expressions: typing, folding, canonical form, the text they print as. What
holds of every expression is in test_expression_properties."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tile_ir import DTYPES, Buffer, Loc, Memory
from tile_ir.analysis.intervals import Interval, narrow
from tile_ir.dtypes import BOOL, FLOAT16, FLOAT32, INT8, INT32, INT64, UINT32
from tile_ir.expr import (
    Const,
    Expr,
    ExprError,
    Load,
    Var,
    as_expr,
    binary,
    cast,
    ceildiv,
    maximum,
    minimum,
    promote,
    substitute,
    unary,
)
from tile_ir.interpreter.scalars import evaluate
from tile_ir.scalars.affine import linear_form, simplify
from tile_ir.scalars.arithmetic import wrap

I_, J, K = Var("i"), Var("j"), Var("k")


def value(expr: Expr, i: int, j: int, k: int) -> Any:
    return evaluate(expr, {I_: i, J: j, K: k}, lambda load: 0)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((K + 1) * 64 - K * 64, as_expr(64)),
        (K * 64 + 64 - K * 64, as_expr(64)),
        ((K * 64 + 70) // 64, K + 1),
        ((K * 64 + 70) % 64, as_expr(6)),
        (I_ + J - I_, J),
        (minimum(I_, I_ + 3), I_),
        (maximum(I_, I_ + 3), I_ + 3),
        (0 - I_ + 70, 70 - I_),
        (I_ * 0, as_expr(0)),
    ],
)
def test_canonical_forms(expr: Expr, expected: Expr) -> None:
    assert simplify(expr) == simplify(expected)


def test_negative_terms_read_naturally() -> None:
    from tile_ir.text.printer import print_expr

    assert print_expr(simplify(as_expr(70) - J * 256)) == "70 - %j * 256"
    assert print_expr(simplify(-J)) == "-%j"


def test_linear_form_of_products() -> None:
    terms, constant = linear_form(3 * I_ - 2 * (J + 1) + I_)
    assert terms == {I_: 4, J: -2} and constant == -2
    terms, _ = linear_form(I_ * J)
    assert len(terms) == 1


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (INT32, FLOAT16, FLOAT16),
        (FLOAT16, FLOAT32, FLOAT32),
        (INT32, INT64, INT64),
        (BOOL, INT32, INT32),
        (INT32, UINT32, UINT32),
        (FLOAT16, DTYPES["bfloat16"], FLOAT32),
    ],
)
def test_promotion(left: Any, right: Any, expected: Any) -> None:
    assert promote(left, right) is expected and promote(right, left) is expected


def test_numbers_take_the_type_beside_them() -> None:
    assert (Var("x", FLOAT16) + 1) == binary("+", Var("x", FLOAT16), Const(1.0, FLOAT16))
    assert (I_ + 1.5).dtype is FLOAT32
    assert (Var("n", INT64) * 2).dtype is INT64
    assert as_expr(True).dtype is BOOL


def test_folding_wraps_and_floors() -> None:
    assert as_expr(-7) // 2 == as_expr(-4)
    assert as_expr(-7) % 4 == as_expr(1)
    assert wrap(130, INT8) == -126
    big = Const((1 << 31) - 1, INT32)
    assert (big + 1).value == -(1 << 31)  # type: ignore[attr-defined]
    assert cast(3.9, INT32) == as_expr(3)
    assert ceildiv(as_expr(10), 4) == as_expr(3)


def test_bits_of_truth_values_are_logic() -> None:
    a, b = I_ > 0, J > 0
    assert (a & b, a | b, ~a) == (binary("and", a, b), binary("or", a, b), unary("not", a))
    assert (a & True, a | True, ~as_expr(True)) == (a, as_expr(True), as_expr(False))
    assert (a & I_).dtype is INT32 and (a ^ b).dtype is BOOL


def test_signed_zeros_differ() -> None:
    assert Const(0.0, FLOAT32) != Const(-0.0, FLOAT32)
    assert Const(math.nan, FLOAT32) == Const(math.nan, FLOAT32)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: I_ / J, "`/` on two integers is ambiguous"),
        (lambda: Var("x", FLOAT32) & 3, "needs integers"),
        (lambda: ~Var("x", FLOAT32), "needs an integer"),
        (lambda: as_expr(1) // 0, "division by zero"),
        (lambda: bool(I_), "no truth value"),
    ],
)
def test_meaningless_operators(build: Any, message: str) -> None:
    with pytest.raises(ExprError, match=message):
        build()


def test_substitution_and_sharing() -> None:
    expr = I_ * 2 + J
    assert substitute(expr, {I_: as_expr(3)}) == binary("+", as_expr(6), J)
    assert substitute(expr, {K: as_expr(3)}) is expr


def test_scalar_functions() -> None:
    x = Var("x", FLOAT32)
    assert evaluate(unary("exp", x), {x: 1000.0}, lambda load: 0) == math.inf
    assert math.isnan(evaluate(unary("sqrt", x), {x: -1.0}, lambda load: 0))
    assert evaluate(unary("log", x), {x: 0.0}, lambda load: 0) == -math.inf
    assert evaluate(x / 0.0, {x: -1.0}, lambda load: 0) == -math.inf


def test_division_of_negative_numbers_floors() -> None:
    assert value(I_ // 4, -5, 0, 0) == -2 and value(I_ % 4, -5, 0, 0) == 3


def test_reinterpreted_bits() -> None:
    from tile_ir.expr import Cast

    x = Var("x", FLOAT32)
    assert evaluate(Cast(x, INT32, True), {x: 1.0}, lambda load: 0) == 0x3F800000


def test_loads_are_equal_by_buffer() -> None:
    loc = Loc("a.py", 1, 1)
    a = Buffer("a", Memory.UB, FLOAT32, (as_expr(4),), loc)
    b = Buffer("a", Memory.UB, FLOAT32, (as_expr(4),), loc)
    assert Load(a, (I_,)) == Load(a, (I_,)) and Load(a, (I_,)) != Load(b, (I_,))


def test_a_constant_of_a_narrow_type_converts_what_that_type_holds() -> None:
    """0.9 is 0.8984375 in bfloat16, and 0.9999 is 1 in float16."""
    assert cast(Const(0.9, DTYPES["bfloat16"]), FLOAT16) == Const(0.8984375, FLOAT16)
    assert cast(Const(0.9999, FLOAT16), INT32) == Const(1, INT32)


def test_what_surely_differs_or_not_is_decided() -> None:
    """C++ compilers warn of a comparison of a value with itself."""
    ranges = {I_: Interval(0, 3), J: Interval(5, 9)}
    assert narrow(binary("!=", I_ + 2, I_ + 2), ranges) == as_expr(False)
    assert narrow(binary("!=", I_, J), ranges) == as_expr(True)
    assert narrow(binary("!=", I_, K), ranges) == binary("!=", I_, K)
