"""Evaluation of scalar expressions: integers wrap and floats round as their types do."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tile_ir.dtypes import BOOL, DTYPES, DType, held
from tile_ir.expr import (
    LOGICAL,
    ROUNDINGS,
    UNARY_FUNCTIONS,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    computed_in,
    fold,
    wrap,
)
from tile_ir.lazy import np

Value = Any


class Unavailable(Exception):
    """The value lives in a memory this core does not have."""


def evaluate(expr: Expr, variables: dict[Var, Value], load: Callable[[Load], Value]) -> Value:
    """The value of an expression. `load` reads an element.

    Raises Unavailable when it depends on another core's memory.
    """
    match expr:
        case Const(value=value, dtype=dtype):
            return _round(value, dtype) if dtype.is_float else value
        case Var():
            value = variables[expr]
            if value is None:
                raise Unavailable(expr.name)
            return value
        case Binary(op=op, left=a, right=b, dtype=dtype):
            x = evaluate(a, variables, load)
            if op == "and" and not x:
                return False
            if op == "or" and x:
                return True
            y = evaluate(b, variables, load)
            if op not in LOGICAL:
                common = computed_in(op, a.dtype, b.dtype)
                x, y = _operand(x, a.dtype, common), _operand(y, b.dtype, common)
            return _round(_binary(op, x, y, dtype), dtype)
        case Unary(op=op, operand=a, dtype=dtype):
            return _round(_unary(op, evaluate(a, variables, load)), dtype)
        case Select(condition=c, then=a, orelse=b):
            return evaluate(a if evaluate(c, variables, load) else b, variables, load)
        case Cast(operand=a, dtype=dtype, bits=bits):
            value = evaluate(a, variables, load)
            return _reinterpret(value, a.dtype, dtype) if bits else _convert(value, dtype)
        case Load():
            return load(expr)
    raise AssertionError(f"no meaning for {type(expr).__name__}")


def _operand(value: Value, dtype: DType, common: DType) -> Value:
    """An operand in the type that both are computed in."""
    return value if dtype == common or common is BOOL else _convert(value, common)


def _binary(op: str, x: Value, y: Value, dtype: DType) -> Value:
    if op == "/" and y == 0:
        return math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    if op in ("min", "max") and (x != x or y != y):
        return math.nan  # NaN wins, as in the vector unit
    return fold(op, x, y)


def _unary(op: str, x: Value) -> Value:
    match op:
        case "-":
            return -x
        case "~":
            return ~int(x)
        case "not":
            return not x
    if isinstance(x, float) and op in ROUNDINGS and not math.isfinite(x):
        return x
    try:
        return UNARY_FUNCTIONS[op](x)
    except OverflowError:
        return math.inf
    except (ValueError, ZeroDivisionError):
        if op == "log" and x == 0:
            return -math.inf
        return math.inf if op == "rsqrt" and x == 0 else math.nan


def _round(value: Value, dtype: DType) -> Value:
    if dtype.is_float:
        # Zeros of both signs are equal, so they must not meet in the cache.
        return _rounded(float(value), dtype.name) if value else float(value)
    return wrap(value, dtype)


@lru_cache(maxsize=4096)
def _rounded(value: float, name: str) -> float:
    return held(value, DTYPES[name])


def _convert(value: Value, dtype: DType) -> Value:
    if dtype.is_integer and isinstance(value, float):
        return wrap(int(value), dtype) if math.isfinite(value) else 0
    return bool(value) if dtype is BOOL else _round(value, dtype)


def _reinterpret(value: Value, source: DType, dtype: DType) -> Value:
    raw = np.asarray([value], source.compute).astype(source.storage)
    return raw.view(dtype.storage)[0].item()
