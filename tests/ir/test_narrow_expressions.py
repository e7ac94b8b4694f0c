"""Integers narrower than int32 in expressions: arithmetic that may leave their range is done in int32
(docs/language/index.md#expressions)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tile_ir import DTYPES, For, LoopKind
from tile_ir.analysis.branch_feasibility import decided, facts_in
from tile_ir.analysis.intervals import Interval, always_at_most, narrow
from tile_ir.analysis.trip_counts import trips
from tile_ir.dtypes import INT8, INT16, INT32, INT64, UINT8, UINT32
from tile_ir.expr import COMPARISONS, Expr, Var, as_expr, binary, cast
from tile_ir.interpreter.scalars import evaluate
from tile_ir.location import Loc
from tile_ir.scalars.affine import difference, simplify

BYTE, SIGNED, SHORT = Var("b", UINT8), Var("s", INT8), Var("h", INT16)
WORD, NUMBER, UNSIGNED = Var("w", UINT32), Var("n", INT32), Var("u", DTYPES["uint16"])


def value(expr: Expr, **values: int) -> Any:
    known: dict[Var, Any] = {
        v: values[v.name] for v in (BYTE, SIGNED, SHORT, WORD, NUMBER) if v.name in values
    }
    return evaluate(expr, known, lambda load: 0)


def test_what_may_leave_a_narrow_type_is_int32() -> None:
    leaving = (
        BYTE * 64, BYTE + BYTE, SIGNED - 1, SHORT * SHORT, SIGNED // -1, BYTE << 4, -BYTE, abs(SIGNED),
        binary("min", BYTE, SIGNED), binary("&", UNSIGNED, SIGNED),
    )  # fmt: skip
    assert {e.dtype for e in leaving} == {INT32}
    assert value(BYTE * 64, b=50) == 3200
    assert value(-BYTE, b=50) == -50
    assert value(abs(SIGNED), s=-128) == 128
    assert value(BYTE * 8 > 200, b=40)


def test_what_stays_in_a_narrow_type_keeps_it() -> None:
    assert (BYTE & 3).dtype is UINT8
    assert (SHORT >> 1).dtype is INT16
    assert (SHORT % SIGNED).dtype is INT16
    assert binary("max", SIGNED, SHORT).dtype is INT16


def test_comparisons_of_both_signs_are_exact() -> None:
    assert value(BYTE > SIGNED, b=5, s=-1)
    assert value(WORD > NUMBER, w=5, n=-1)
    assert not value(as_expr(-1) > WORD, w=5)
    assert value(binary("min", WORD, NUMBER), w=5, n=-1) == -1
    assert value(WORD % NUMBER, w=5, n=-3) == -1


def test_a_number_beyond_a_narrow_type_is_no_number_of_it() -> None:
    assert not value(BYTE > 300, b=44)  # 300 has the low byte 44
    assert value(BYTE + 300, b=200) == 500


def test_sums_of_another_type_are_atoms_of_the_type_of_the_whole() -> None:
    wide = simplify(cast(WORD, INT64) * 2 + cast(WORD, INT64) * 3)
    assert wide.dtype is INT64 and value(wide, w=1 << 31) == 5 << 31
    assert simplify(BYTE * 64 + BYTE * 2) == cast(BYTE, INT32) * 66
    assert simplify(simplify(BYTE * 64 + 3)) == simplify(BYTE * 64 + 3)


def test_differences_of_unsigned_numbers_may_be_below_zero() -> None:
    assert value(difference(WORD, as_expr(7)), w=5) == -2
    assert difference(NUMBER + 3, NUMBER) == as_expr(3)
    known = {WORD: Interval(0, 9), NUMBER: Interval(0, 9)}
    for op in sorted(COMPARISONS):
        assert decided(binary(op, WORD, NUMBER), known) is None
        assert narrow(binary(op, NUMBER, WORD), known) == binary(op, NUMBER, WORD)
    assert decided(WORD > NUMBER, {WORD: Interval(5, 9), NUMBER: Interval(0, 4)})
    assert not always_at_most(NUMBER, WORD, known)


def test_loops_with_unsigned_bounds_decide_nothing_else() -> None:
    loop = For(Var("i", UINT32), as_expr(0, UINT32), WORD, LoopKind.SERIAL, (), Loc("", 1, 1))
    inner = replace(loop, var=Var("j", UINT32), stop=Var("v", UINT32))
    facts = facts_in(loop, {})
    assert decided(NUMBER > 0, {}, facts) is None
    assert trips(inner, {}, {}, facts).low == 0
    assert trips(replace(inner, stop=WORD), {}, {}, facts).low == 1
