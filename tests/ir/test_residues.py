"""With which period remainders come back while a variable counts up."""

from __future__ import annotations

from itertools import product

import pytest

from tile_ir.analysis.residues import joint_period, periods
from tile_ir.dtypes import INT32
from tile_ir.expr import Const, Expr, Var, minimum, select, substitute
from tile_ir.interpreter.scalars import evaluate

X, K = Var("x", INT32), Var("k", INT32)


@pytest.mark.parametrize(
    ("expr", "period"),
    [
        (X % 4, 4),
        ((X + K) % 3, 3),
        ((2 * X) % 4, 2),
        ((6 * X + 5 * K) % 4, 2),
        (X // 2 % 2, 4),
        ((2 * X + 1) // 4 % 3, 6),
        ((X // 2 + X) % 2, 4),
        (X % 4 // 2, 4),
        (X % 3 % 2, 3),
        (X * X % 4, 4),
    ],
    ids=repr,
)
def test_the_period_of_a_remainder(expr: Expr, period: int) -> None:
    """It comes back after so many steps, whatever else is in it."""
    assert joint_period(periods(expr, X), 100) == period

    def value(i: int, k: int) -> object:
        return evaluate(substitute(expr, {X: Const(i), K: Const(k)}), {}, lambda load: None)

    for i, k in product(range(20), (0, 1, 5)):
        assert value(i, k) == value(i + period, k)


def test_what_has_no_period() -> None:
    assert periods(X + K % 4, X) == set()
    assert periods(4 * X % 4 + K % 8, X) == set()
    # The branches of a choice come back, the choice may not.
    assert periods(select(X < K, K, 2) % 4, X) == set()
    assert periods(minimum(X, K) % 4, X) == {4}


def test_long_periods_do_not_count_where_there_are_too_many() -> None:
    assert joint_period({2, 3}) == 6
    assert joint_period({2, 3, 5}) == 6
    assert joint_period({4, 3}) == 3
    assert joint_period({4}, found=16) == 16
