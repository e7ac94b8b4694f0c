"""Give narrow integers their declared type: 8 or 16 bits after every operation.

The compiler computes them in int32. Functions on the bits of a value need the declared type.
"""

from __future__ import annotations

from tile_ir import (
    INT32,
    Binary,
    Cast,
    Const,
    DType,
    Expr,
    Select,
    Unary,
    binary,
    cast,
    is_narrow,
    walk_expr,
)

# What gives the same low bits whatever stands above those of its operands.
_LOW_BITS = frozenset({"+", "-", "*", "&", "|", "^"})


def in_declared_type(expr: Expr, bits: int) -> Expr:
    """The expression in the type of so many bits that all of its parts have, each operation of
    which keeps its low bits; the expression itself where they have no such type."""
    found = _types(expr)
    if expr.dtype is not INT32 or len(found) != 1:
        return expr
    (dtype,) = found
    if not is_narrow(dtype) or not dtype.is_integer or dtype.bits != bits:
        return expr
    return cast(_wrapped(expr, dtype), dtype)


def operated(op: str, left: Expr, right: Expr) -> Expr:
    """`left op right`. A narrow integer that a number shifts to the left has the bits of its type
    where it is shifted to the right: `(x << 4) >> 4` extends the sign of four bits."""
    return binary(op, _shifted_up(left) if op == ">>" else left, right)


def _shifted_up(expr: Expr) -> Expr:
    found = _types(expr)
    match expr:
        case Binary(op="<<", right=Const(value=int(count))) if len(found) == 1:
            (dtype,) = found
            low, high = dtype.limits()
            numbers = [part.value for part in walk_expr(expr) if isinstance(part, Const)]
            if count < dtype.bits and all(low <= number <= high for number in numbers):
                return in_declared_type(expr, dtype.bits)
    return expr


def _types(expr: Expr) -> set[DType]:
    """The types of an expression's operands; numbers take any of them."""
    match expr:
        case Const():
            return set()
        case Binary(left=left, right=right):
            return _types(left) | _types(right)
        case Unary(op="-" | "~", operand=operand, dtype=dtype) if dtype is INT32:
            return _types(operand)
        case Cast(operand=operand, dtype=dtype) if dtype is INT32 and is_narrow(operand.dtype):
            return {operand.dtype}
        case Select(then=then, orelse=orelse):
            return _types(then) | _types(orelse)
    return {expr.dtype}


def _wrapped(expr: Expr, dtype: DType) -> Expr:
    """The expression in int32. Operands of an operator that depends on more than low bits hold the
    numbers of their type."""
    match expr:
        case Binary(op=op, left=left, right=right):
            left, right = _wrapped(left, dtype), _wrapped(right, dtype)
            if op not in _LOW_BITS:
                right = cast(right, dtype)
                left = left if op == "<<" else cast(left, dtype)
            return binary(op, left, right)
        case Select(condition=condition, then=then, orelse=orelse):
            return Select(condition, _wide(then, dtype), _wide(orelse, dtype), INT32)
    return expr


def _wide(expr: Expr, dtype: DType) -> Expr:
    return cast(_wrapped(expr, dtype), INT32)
