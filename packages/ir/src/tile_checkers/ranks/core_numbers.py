"""Compute the values of expressions on one core of one rank.

They are numbers, or expressions of open parameters and data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tile_checkers.block.values import UNKNOWN, is_unknown
from tile_ir import (
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Memory,
    Select,
    Unary,
    Var,
    constant_value,
    simplify,
    walk_expr,
)
from tile_ir.expr import LOGICAL, computed_in
from tile_ir.scalars.arithmetic import DivisionError, applied, computed, converted

# A number, or an expression of what is not known.
Figure = int | float | bool | Expr


class CoreNumbers:
    """Variables of one core. A value that is not known stays a name: one that is equal on every
    rank, or one for a value read from memory."""

    def __init__(self, given: dict[Var, Figure], number: int = 0) -> None:
        self.number = number
        self.bound: dict[Var, Figure] = dict(given)
        self.scalars: dict[Buffer, Figure] = {}
        self.unknowns = 0

    def of(self, expr: Expr) -> Figure:
        return _meaning(expr)(self)

    def unknown(self, named: Buffer | Var) -> Var:
        """A value that depends on data: no other one of this core or of another is the same."""
        self.unknowns += 1
        return Var(f"{named.name}{UNKNOWN}{self.number}{UNKNOWN}{self.unknowns}", named.dtype)

    def scalar(self, buffer: Buffer) -> Figure:
        if buffer not in self.scalars:
            self.scalars[buffer] = self.unknown(buffer)
        return self.scalars[buffer]


Meaning = Callable[[CoreNumbers], Figure]


@lru_cache(maxsize=8192)
def _meaning(expr: Expr) -> Meaning:
    """How an expression is computed."""
    match expr:
        case Const(value=value):
            return lambda core: value
        case Var():
            return lambda core: core.bound.get(expr, expr)
        case Binary():
            return _of_two(expr)
        case Unary(op=op, operand=a, dtype=dtype):
            inner = _meaning(a)

            def one(core: CoreNumbers) -> Figure:
                x = inner(core)
                return plain(Unary(op, x, dtype)) if isinstance(x, Expr) else applied(op, x, dtype)

            return one
        case Select(condition=c, then=a, orelse=b):
            asked, yes, no = _meaning(c), _meaning(a), _meaning(b)

            def either(core: CoreNumbers) -> Figure:
                truth = asked(core)
                if not isinstance(truth, Expr):
                    return yes(core) if truth else no(core)
                parts = (as_expr_of(yes(core), a), as_expr_of(no(core), b))
                return plain(Select(truth, *parts, expr.dtype))

            return either
        case Cast(operand=a, dtype=dtype, bits=bits):
            inner = _meaning(a)

            def as_type(core: CoreNumbers) -> Figure:
                x = inner(core)
                if isinstance(x, Expr) or bits:
                    return plain(Cast(as_expr_of(x, a), dtype, bits))
                return converted(x, dtype)

            return as_type
        case Load(buffer=buffer) if buffer.memory is Memory.VAR:
            return lambda core: core.scalar(buffer)
        case Load(buffer=buffer):
            return lambda core: core.unknown(buffer)
    raise AssertionError(f"no meaning for {type(expr).__name__}")


def _of_two(expr: Binary) -> Meaning:
    op, common = expr.op, computed_in(expr.op, expr.left.dtype, expr.right.dtype)
    left, right = _meaning(expr.left), _meaning(expr.right)
    short = {"and": False, "or": True}.get(op)

    def both(core: CoreNumbers) -> Figure:
        x = left(core)
        if short is not None and not isinstance(x, Expr) and bool(x) is short:
            return short
        y = right(core)
        if isinstance(x, Expr) or isinstance(y, Expr):
            if short is not None and not isinstance(y, Expr) and bool(y) is short:
                return short
            a, b = as_expr_of(x, expr.left), as_expr_of(y, expr.right)
            return plain(Binary(op, a, b, expr.dtype))
        if op in LOGICAL:
            return bool(y)
        try:
            return computed(op, x, y, common)
        except DivisionError:
            return plain(Binary(op, as_expr_of(x, expr.left), as_expr_of(y, expr.right), common))

    return both


def as_expr_of(value: Figure, like: Expr) -> Expr:
    """A value as an expression of the type of another."""
    return value if isinstance(value, Expr) else Const(value, like.dtype)


def plain(expr: Expr) -> Figure:
    """A number, if the expression is one."""
    found = simplify(expr)
    return found.value if isinstance(found, Const) else found


def plain_sum(a: Figure, b: Figure) -> Figure:
    """The sum of two values."""
    if isinstance(a, Expr):
        return plain(a + as_expr_of(b, a))
    if isinstance(b, Expr):
        return plain(as_expr_of(a, b) + b)
    return int(a) + int(b)


def above(value: Figure, other: Figure) -> int | None:
    """By how much a value is above another, if that is one number."""
    if isinstance(value, Expr) or isinstance(other, Expr):
        like = value if isinstance(value, Expr) else other
        assert isinstance(like, Expr), "one of them is"
        return constant_value(simplify(as_expr_of(value, like) - as_expr_of(other, like)))
    return int(value) - int(other)


def remain_apart(value: Figure, other: Figure) -> bool:
    """Whether two values are remainders by one number that surely differ, as slots of two steps."""
    match value, other:
        case (
            Binary(op="%", left=a, right=Const(value=m)),
            Binary(op="%", left=b, right=Const(value=n)),
        ) if m == n and m > 0:
            return (above(a, b) or 0) % m != 0
    return False


def parameters_in(value: Figure) -> tuple[Var, ...]:
    """The parameters that a value depends on; none if it depends on data."""
    if not isinstance(value, Expr) or is_unknown(value):
        return ()
    return tuple(dict.fromkeys(e for e in walk_expr(value) if isinstance(e, Var)))


__all__ = [
    "CoreNumbers",
    "Figure",
    "above",
    "as_expr_of",
    "parameters_in",
    "plain",
    "plain_sum",
    "remain_apart",
]
