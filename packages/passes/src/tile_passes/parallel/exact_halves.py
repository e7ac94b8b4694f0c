"""Compute in float16 what text computes in float32 for a float16, where only the last operation
rounds. A float32 has more than twice the bits of a float16: one operation on two of these, rounded
again, is the operation of float16."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from tile_ir import (
    FLOAT16,
    FLOAT32,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    rebuild,
)
from tile_ir.analysis import Interval
from tile_ir.analysis.intervals import combined
from tile_ir.quick_dataclasses import dataclass

# Integers that float16 holds, each of them.
MOST_EXACT = 2048
_ARITHMETIC = ("+", "-", "*")


@dataclass(frozen=True, slots=True)
class _Half:
    """A value that float16 holds, and the integers that it may be; None where it is no integer."""

    value: Expr
    integers: Interval | None


def rounded_once(value: Expr, numbers: Mapping[Load, Interval]) -> Expr:
    """The value with its conversions to float16 of one operation in float32 as that operation in
    float16. Of `numbers`, elements of float16, it is known which integers they are."""
    match value:
        case Cast(operand=Binary(op=op, left=left, right=right, dtype=wide), dtype=dtype) if (
            dtype is FLOAT16 and wide is FLOAT32 and op in _ARITHMETIC
        ):
            a, b = _half(left, numbers), _half(right, numbers)
            if a is not None and b is not None:
                return Binary(op, a.value, b.value, FLOAT16)
    return rebuild(value, partial(rounded_once, numbers=numbers))


def _half(e: Expr, numbers: Mapping[Load, Interval]) -> _Half | None:
    match e:
        case Load() if e.dtype is FLOAT16:
            return _Half(e, numbers.get(e))
        case Const(value=value) if float(value).is_integer() and abs(value) <= MOST_EXACT:
            return _Half(Const(float(value), FLOAT16), Interval.exactly(int(value)))
        case Cast(operand=operand, bits=False) if operand.dtype is FLOAT16:
            return _half(operand, numbers)
        case Binary(op=op, left=left, right=right) if op in _ARITHMETIC and e.dtype.is_float:
            a, b = _half(left, numbers), _half(right, numbers)
            if a is None or b is None or a.integers is None or b.integers is None:
                return None
            integers = combined(op, a.integers, b.integers)
            if max(-integers.low, integers.high) > MOST_EXACT:
                return None
            return _Half(_joined(op, a.value, b.value), integers)
    return None


def _joined(op: str, left: Expr, right: Expr) -> Expr:
    """A sum or product of integers; two constants behind each other are one."""
    match left, right:
        case Binary(op="+" | "-" as first, left=x, right=Const(value=a)), Const(value=b) if op in (
            "+",
            "-",
        ):
            total = (a if first == "+" else -a) + (b if op == "+" else -b)
            return Binary("+", x, Const(total, FLOAT16), FLOAT16) if total else x
    return Binary(op, left, right, FLOAT16)
