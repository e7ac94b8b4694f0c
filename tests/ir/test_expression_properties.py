"""What holds of every scalar expression: of its text, its canonical form, its intervals and bounds."""

from __future__ import annotations

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number
from random_expressions import (
    BYTES,
    I_,
    VALUES,
    VARIABLES,
    J,
    K,
    does_not_wrap,
    expressions,
    read,
    value,
)

from tile_ir.analysis.intervals import Interval, always_at_most, interval, narrow, where_holds
from tile_ir.dtypes import INT32, INT64
from tile_ir.expr import as_expr, binary, promote
from tile_ir.scalars.affine import linear_form, resolved, simplify
from tile_ir.text.printer import print_expr

MIXED = expressions(VARIABLES)
NUMBERS = st.tuples(VALUES, VALUES, VALUES, BYTES, VALUES, VALUES)


@settings(max_examples=examples(kept_number(300)))
@given(MIXED)
def test_the_text_stands_for_the_expression(text: str) -> None:
    expr = read(text)
    assert print_expr(expr) == text
    assert read(print_expr(expr)) == expr


@settings(max_examples=examples(kept_number(300)))
@given(expressions(), VALUES, VALUES, VALUES)
@example("(%i - 1) // 2", 1, 0, 0)
def test_simplify_keeps_the_value(text: str, i: int, j: int, k: int) -> None:
    expr = read(text)
    simple = simplify(expr)
    assert simplify(simple) == simple
    if does_not_wrap(expr, i, j, k):
        assert value(simple, i, j, k) == value(expr, i, j, k)


@settings(max_examples=examples(kept_number(300)))
@given(MIXED, NUMBERS)
@example("(%i + %i + 0:int64) // 2:int64", (1, 0, 0, 0, 0, 0))
def test_simplify_keeps_types(text: str, numbers: tuple[int, ...]) -> None:
    """What is computed in a narrow type still wraps there, and nothing else does."""
    expr = read(text)
    simple = simplify(expr)
    assert simple.dtype is expr.dtype
    assert simplify(simple) == simple
    if does_not_wrap(expr, *numbers):
        assert value(simple, *numbers) == value(expr, *numbers)


@settings(max_examples=examples(kept_number(100)))
@given(expressions(VARIABLES, nonzero=False))
def test_simplify_has_an_answer_for_every_expression(text: str) -> None:
    """Also where operands turn out to be such that the operator has no meaning."""
    simple = simplify(read(text))
    assert simplify(simple) == simple


@settings(max_examples=examples(kept_number(200)))
@given(MIXED, MIXED)
@example("select(1 < %i, %i, 0)", "select(1:int64 < %i, %i, 0)")
def test_sums_have_one_order(left: str, right: str) -> None:
    """Where they cannot wrap: what is computed in a narrow type stays as it is written."""
    a, b = read(left), read(right)
    assume(promote(a.dtype, b.dtype) in (INT32, INT64))
    for op in ("+", "*"):
        assert simplify(binary(op, a, b)) == simplify(binary(op, b, a))


@settings(max_examples=examples(kept_number(200)))
@given(MIXED, NUMBERS)
def test_a_linear_form_has_the_value(text: str, numbers: tuple[int, ...]) -> None:
    expr = read(text)
    assume(expr.dtype in (INT32, INT64) and does_not_wrap(expr, *numbers))
    terms, constant = linear_form(expr)
    total = sum(factor * value(atom, *numbers) for atom, factor in terms.items()) + constant
    assert total == value(expr, *numbers)
    assert linear_form(simplify(expr)) == (terms, constant)


@settings(max_examples=examples(kept_number(500)))
@given(expressions(), VALUES, VALUES, VALUES, VALUES, VALUES, st.integers(1, 16))
@example("%i - %i // 5 * 5", -7, 0, 0, 9, 0, 1)
def test_intervals_hold(text: str, i: int, j: int, k: int, a: int, b: int, stride: int) -> None:
    expr = read(text)
    j *= stride
    assume(does_not_wrap(expr, i, j, k))
    ranges = {
        I_: Interval(min(i, a), max(i, a)),
        J: Interval(min(j, b), max(j, b), stride),
        K: Interval.exactly(k),
    }
    found = interval(expr, ranges)
    number = value(expr, i, j, k)
    assert found.low <= number <= found.high
    assert number % found.stride == 0 if found.stride else number == 0
    assert value(narrow(expr, ranges), i, j, k) == value(expr, i, j, k)


def test_what_a_sum_shows_of_a_remainder_is_its_interval() -> None:
    assert interval(read("%i - %i // 5 * 5"), {I_: Interval(-7, 19)}) == Interval(0, 4)


@settings(max_examples=examples(kept_number(300)))
@given(MIXED, NUMBERS)
def test_intervals_hold_in_every_type(text: str, numbers: tuple[int, ...]) -> None:
    expr = read(text)
    assume(does_not_wrap(expr, *numbers))
    ranges = {
        var: Interval(number - number % 5, number + 3)
        for var, number in zip(VARIABLES, numbers, strict=True)
        if var.dtype.name != "uint8"
    } | {VARIABLES[3]: Interval(0, 255)}
    found = interval(expr, ranges)
    number = value(expr, *numbers)
    assert found.low <= number <= found.high
    assert number % found.stride == 0 if found.stride else number == 0
    assert value(narrow(expr, ranges), *numbers) == number


@settings(max_examples=examples(kept_number(300)))
@given(expressions(), expressions(), VALUES, VALUES, VALUES)
def test_bounds_hold(left: str, right: str, i: int, j: int, k: int) -> None:
    """What is certain of a comparison, and what a comparison that holds says of variables."""
    a, b = read(left), read(right)
    assume(does_not_wrap(a - b, i, j, k))
    ranges = {var: Interval(n - 3, n + 4) for var, n in ((I_, i), (J, j), (K, k))}
    x, y = value(a, i, j, k), value(b, i, j, k)
    if always_at_most(a, b, ranges):
        assert x <= y
    for op in ("<", "<=", ">", ">=", "==", "!="):
        test = binary(op, a, b)
        if value(test, i, j, k):
            known = where_holds(test, ranges)
            for var, number in ((I_, i), (J, j), (K, k)):
                assert known[var].low <= number <= known[var].high


@settings(max_examples=examples(kept_number(200)))
@given(expressions(), expressions((I_, J)), VALUES, VALUES)
def test_definitions_can_be_put_in(text: str, definition: str, i: int, j: int) -> None:
    expr, meaning = read(text), read(definition)
    assume(does_not_wrap(meaning, i, j))
    k = value(meaning, i, j)
    put_in = resolved(expr, {K: meaning})
    if does_not_wrap(put_in, i, j, k) and does_not_wrap(expr, i, j, k):
        assert value(put_in, i, j) == value(expr, i, j, k)
        assert value(simplify(put_in), i, j) == value(expr, i, j, k)


def test_division_by_what_turns_out_to_be_zero_stays_as_written() -> None:
    zero = (I_ + J) - J - I_
    quotient = binary("//", as_expr(3), zero)
    assert simplify(quotient) == quotient
    shift = binary("<<", I_, (J + 40) - J)
    assert simplify(shift) == shift
    assert simplify(binary("//", as_expr(6), as_expr(2) + zero)) == as_expr(3)
