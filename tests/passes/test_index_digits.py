"""Which loop variables indices fix, against all iterations of small loops."""

from __future__ import annotations

import random
from itertools import product

import pytest

from tile_ir import Const, Expr, Var, simplify
from tile_ir.analysis import Interval
from tile_ir.expr import Binary, Cast
from tile_passes.analysis.index_digits import fixed_by

X, Y, FIXED = Var("i"), Var("j"), Var("b")
EXTENTS = {X: 12, Y: 5}
KNOWN = {v: Interval(0, n - 1) for v, n in EXTENTS.items()}


def value(e: Expr, at: dict[Expr, int]) -> int:
    match e:
        case Const(value=number):
            return int(number)
        case Var():
            return at[e]
        case Cast(operand=operand):
            return value(operand, at)
        case Binary(op=op, left=left, right=right):
            a, b = value(left, at), value(right, at)
            return {"+": a + b, "-": a - b, "*": a * b}.get(op, 0) if op in "+-*" else (
                a // b if op == "//" else a % b
            )  # fmt: skip
    raise AssertionError(e)


def really_fixed(indices: list[Expr], var: Var) -> bool:
    """Whether each tuple of values of the indices has one value of the variable, in every block."""
    for block in (0, 1, 3):
        seen: dict[tuple[int, ...], int] = {}
        for i, j in product(range(EXTENTS[X]), range(EXTENTS[Y])):
            at: dict[Expr, int] = {X: i, Y: j, FIXED: block}
            key = tuple(value(e, at) for e in indices)
            if seen.setdefault(key, at[var]) != at[var]:
                return False
    return True


def digits(rng: random.Random, whole: Expr) -> list[Expr]:
    """The digits of a number, some left out or of another base now and then."""
    found: list[Expr] = []
    rest, divisor = whole, 1
    for _ in range(rng.randrange(3)):
        base = rng.choice((2, 3, 4, 6))
        found.append(rest % base)
        divisor *= base
        rest = whole // divisor if rng.random() < 0.5 else rest // base
    found.append(rest)
    if rng.random() < 0.3:
        found[rng.randrange(len(found))] = whole // 2
    return found


@pytest.mark.parametrize("seed", range(300))
def test_what_is_said_to_be_fixed_is(seed: int) -> None:
    rng = random.Random(seed)
    whole = rng.choice((1, 2, 5, 6)) * X + rng.choice((0, 1, 12, 3)) * Y
    whole = whole + FIXED * rng.choice((0, 12, 16, 60)) + rng.randrange(3)
    indices = [simplify(e + FIXED * rng.randrange(2)) for e in digits(rng, whole)]
    for var in fixed_by(indices, KNOWN, {X, Y}) & {X, Y}:
        assert really_fixed(indices, var), (indices, var)


@pytest.mark.parametrize("indices, fixed", [
    ([(X + 16 * FIXED) // 6 // 3, (X + 16 * FIXED) // 6 % 3, (X + 16 * FIXED) % 6], {X}),
    ([(X + 12 * FIXED) // 6 // 3, (X + 12 * FIXED) // 6 % 3, (X + 12 * FIXED) % 6], {X}),
    ([X // 4, X % 4, Y], {X, Y}),
    ([5 * X + Y], {X, Y}),
    ([(5 * X + Y) // 7, (5 * X + Y) % 7], {X, Y}),
    ([X // 4, X % 3], set()),
    ([4 * X + Y], set()),
    ([X % 4], set()),
])  # fmt: skip
def test_digits_of_one_number_fix_it(indices: list[Expr], fixed: set[Var]) -> None:
    assert fixed_by(indices, KNOWN, {X, Y}) & {X, Y} == fixed
