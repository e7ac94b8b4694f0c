"""Evaluation of scalar expressions: integers wrap and floats round as their types do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import BOOL, DType
from tile_ir.expr import (
    LOGICAL,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    computed_in,
)
from tile_ir.lazy import np
from tile_ir.scalars.arithmetic import applied, computed, converted, rounded

Value = Any


class Unavailable(Exception):
    """The value lives in a memory this core does not have."""


def evaluate(expr: Expr, variables: dict[Var, Value], load: Callable[[Load], Value]) -> Value:
    """The value of an expression. `load` reads an element.

    Raises Unavailable when it depends on another core's memory.
    """
    match expr:
        case Const(value=value, dtype=dtype):
            return rounded(value, dtype) if dtype.is_float else value
        case Var():
            value = variables[expr]
            if value is None:
                raise Unavailable(expr.name)
            return value
        case Binary(op=op, left=a, right=b):
            x = evaluate(a, variables, load)
            if op == "and" and not x:
                return False
            if op == "or" and x:
                return True
            y = evaluate(b, variables, load)
            if op in LOGICAL:
                return bool(y)
            common = computed_in(op, a.dtype, b.dtype)
            x, y = _operand(x, a.dtype, common), _operand(y, b.dtype, common)
            return computed(op, x, y, common)
        case Unary(op=op, operand=a, dtype=dtype):
            return applied(op, evaluate(a, variables, load), dtype)
        case Select(condition=c, then=a, orelse=b):
            return evaluate(a if evaluate(c, variables, load) else b, variables, load)
        case Cast(operand=a, dtype=dtype, bits=bits):
            value = evaluate(a, variables, load)
            return _reinterpret(value, a.dtype, dtype) if bits else converted(value, dtype)
        case Load():
            return load(expr)
    raise AssertionError(f"no meaning for {type(expr).__name__}")


def _operand(value: Value, dtype: DType, common: DType) -> Value:
    """An operand in the type that both are computed in."""
    return value if dtype == common or common is BOOL else converted(value, common)


def _reinterpret(value: Value, source: DType, dtype: DType) -> Value:
    raw = np.asarray([value], source.compute).astype(source.storage)
    return raw.view(dtype.storage)[0].item()
