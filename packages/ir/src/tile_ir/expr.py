"""Scalar expressions: nodes, typing rules and the operators that build them.

Values are frozen, and equal ones are one object. Building folds constants and drops neutral
elements, no more; `analysis` has their canonical forms and intervals.
Floor division and remainder follow Python (and the language), not C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import ClassVar, Union

from tile_ir.dtypes import BOOL, FLOAT32, INT32, INT64, UINT32, UINT64, DType, Kind, held
from tile_ir.interned import Shared, interned
from tile_ir.location import Loc
from tile_ir.machine import Memory
from tile_ir.quick_dataclasses import dataclass
from tile_ir.scalars.arithmetic import (
    FLOAT_FUNCTIONS,
    INT32_LIMIT,
    DivisionError,
    Number,
    computed,
    converted,
    rounded,
    wrap,
)

Operable = Union["Expr", int, float, bool]


class ExprError(Exception):
    """An operator was applied to types for which it has no meaning; the caller adds the place."""

    slug = "operand-type"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class NoQuotient(ExprError):
    """Integers are divided by zero, or the quotient has no room in their type."""

    slug = "division-by-zero"


class Expr(Shared):
    """Base of all scalar expressions. Every subclass has a `dtype`."""

    # What is asked of expressions again and again is kept: they never change.
    __slots__ = ("_below", "_reads_memory")
    _below: tuple[Expr, ...]
    _reads_memory: bool
    __match_args__: ClassVar[tuple[str, ...]]
    dtype: DType

    def __add__(self, other: Operable) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: Operable) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: Operable) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: Operable) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: Operable) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: Operable) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: Operable) -> Expr:
        return binary("/", self, other)

    def __rtruediv__(self, other: Operable) -> Expr:
        return binary("/", other, self)

    def __floordiv__(self, other: Operable) -> Expr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: Operable) -> Expr:
        return binary("//", other, self)

    def __mod__(self, other: Operable) -> Expr:
        return binary("%", self, other)

    def __rmod__(self, other: Operable) -> Expr:
        return binary("%", other, self)

    def __lshift__(self, other: Operable) -> Expr:
        return binary("<<", self, other)

    def __rlshift__(self, other: Operable) -> Expr:
        return binary("<<", other, self)

    def __rshift__(self, other: Operable) -> Expr:
        return binary(">>", self, other)

    def __rrshift__(self, other: Operable) -> Expr:
        return binary(">>", other, self)

    def __and__(self, other: Operable) -> Expr:
        return binary("&", self, other)

    def __rand__(self, other: Operable) -> Expr:
        return binary("&", other, self)

    def __or__(self, other: Operable) -> Expr:
        return binary("|", self, other)

    def __ror__(self, other: Operable) -> Expr:
        return binary("|", other, self)

    def __xor__(self, other: Operable) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: Operable) -> Expr:
        return binary("^", other, self)

    def __lt__(self, other: Operable) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: Operable) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: Operable) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: Operable) -> Expr:
        return binary(">=", self, other)

    def __neg__(self) -> Expr:
        return unary("-", self)

    def __invert__(self) -> Expr:
        return unary("~", self)

    def __abs__(self) -> Expr:
        return unary("abs", self)

    def __bool__(self) -> bool:
        hint = "write `if` in the kernel, T.if_then_else or T.Select for a value"
        raise ExprError("a runtime value has no truth value while the kernel is traced", hint)


@interned("value")
@dataclass(frozen=True, slots=True, eq=False)
class Const(Expr):
    value: Number
    dtype: DType = INT32


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Var(Expr):
    """A named scalar: launch index, loop variable, let, scalar parameter or symbolic dimension.
    Names are unique in a function."""

    name: str
    dtype: DType = INT32


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    op: str
    left: Expr
    right: Expr
    dtype: DType


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Unary(Expr):
    """`-`, `~`, `not`, or a function of one argument named in `UNARY_FUNCTIONS`."""

    op: str
    operand: Expr
    dtype: DType


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Select(Expr):
    """`then` where `condition` holds, else `orelse`; only the chosen side is evaluated."""

    condition: Expr
    then: Expr
    orelse: Expr
    dtype: DType


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Cast(Expr):
    """Conversion of the value; `bits` keeps the bit pattern instead."""

    operand: Expr
    dtype: DType
    bits: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A named, row-major block of elements in one memory. A scalar variable has no dimensions."""

    name: str
    memory: Memory
    dtype: DType
    shape: tuple[Expr, ...]
    loc: Loc

    @property
    def rank(self) -> int:
        return len(self.shape)

    def static_shape(self) -> tuple[int, ...] | None:
        """The shape as numbers, or None if a dimension is symbolic."""
        return _static_shape(self)


@lru_cache(maxsize=16384)
def _static_shape(buffer: Buffer) -> tuple[int, ...] | None:
    return constant_values(buffer.shape)


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Load(Expr):
    """One element of a buffer, read by the scalar unit; a scalar variable has no indices."""

    buffer: Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> DType:  # type: ignore[override]
        return self.buffer.dtype


COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}
LOGICAL = {"and", "or"}
BITWISE = {"&", "|", "^", "<<", ">>"}
# Operators whose results lie where their operands do, so that a narrow type holds them.
KEEPS_RANGE = frozenset({"min", "max", "&", "|", "^", ">>", "%"})
_BITS = frozenset({"&", "|", "^"})
# What operators on bits are where both operands are truth values.
_OF_TRUTH = {"&": "and", "|": "or"}
# What an unsigned integer and a signed one are not brought to one sign for.
_EXACT_OF_SIGNS = frozenset({*COMPARISONS, "min", "max", "//", "%"})

# Functions of two arguments are binary operators that print as functions.
BINARY_FUNCTIONS = ("min", "max", "pow")


_HALF = 1 << 31  # what int32 ends before


def as_expr(value: Operable, like: DType | None = None) -> Expr:
    """A number as a constant; it takes the type `like` when that can hold it."""
    if (like is INT32 or like is None) and type(value) is int:  # nearly always
        return Const(value, INT32 if -INT32_LIMIT <= value < INT32_LIMIT else _wide(value))
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return Const(value, BOOL)
    if isinstance(value, int):
        if like is not None and like.is_float:
            return Const(float(value), like)
        # An IntEnum and its like as the number it is.
        return Const(int(value), _type_for(int(value), like))
    return Const(float(value), like if like is not None and like.is_float else FLOAT32)


def _type_for(number: int, like: DType | None) -> DType:
    """The type `like` if it holds the number, else the first one that does."""
    if like is not None and like.is_integer:
        low, high = like.limits()
        if low <= number <= high:
            return like
    return INT32 if -INT32_LIMIT <= number < INT32_LIMIT else _wide(number)


def _wide(number: int) -> DType:
    return INT64 if number <= INT64.limits()[1] else UINT64


def promote(left: DType, right: DType) -> DType:
    """The type of one of two values: float beats integer, wide beats narrow, and narrow integers of
    both signs meet in int32."""
    if left is right:
        return left
    if left.is_float != right.is_float:
        return left if left.is_float else right
    if left.kind is Kind.BOOL:
        return right
    if right.kind is Kind.BOOL:
        return left
    wider = left if left.bits > right.bits else right
    if left.bits == right.bits:
        if left.is_float:
            return FLOAT32  # float16 with bfloat16
        wider = left if left.kind is Kind.UINT else right
    signs_differ = left.kind is not right.kind
    return INT32 if signs_differ and wider.kind is Kind.UINT and is_narrow(wider) else wider


def is_narrow(dtype: DType) -> bool:
    """Whether results of arithmetic may not fit an integer type although none of any use is that
    large: it is done in int32 (docs/language/index.md#expressions)."""
    return dtype.bits < INT32.bits and (dtype.is_integer or dtype.kind is Kind.BOOL)


def computed_in(op: str, left: DType, right: DType) -> DType:
    """The type that both operands of an operator are converted to, which is that of its result
    where this is no truth value."""
    if left is INT32 and right is INT32:  # nearly always
        return INT32
    dtype = promote(left, right)
    if dtype is UINT32 and op in _EXACT_OF_SIGNS and Kind.INT in (left.kind, right.kind):
        return INT64  # holds the values of both
    keeps = op in (_BITS if dtype is BOOL else KEEPS_RANGE) or op in COMPARISONS
    return dtype if keeps or not is_narrow(dtype) else INT32


# What places and sizes are computed with, and the type of its result.
_INDEXING = dict.fromkeys(("+", "-", "*", "//", "%", "min", "max"), INT32)
_INDEXING |= dict.fromkeys(COMPARISONS, BOOL)


def binary(op: str, left: Operable, right: Operable) -> Expr:
    """`left op right` with the language's typing rules.

    Raises ExprError for `/` on two integers, for bitwise operators, `//` and `%` on floats, and for
    a shift by more bits than there are.
    """
    a = left if isinstance(left, Expr) else as_expr(left, _type_of(right))
    b = right if isinstance(right, Expr) else as_expr(right, _type_of(left))
    if op in _INDEXING and a.dtype is INT32 and b.dtype is INT32:  # nearly always: places, sizes
        return _indexing(op, a, b)
    if a.dtype is BOOL and b.dtype is BOOL:
        op = _OF_TRUTH.get(op, op)
    if op in LOGICAL:
        dtype = result = BOOL
    else:
        dtype = computed_in(op, a.dtype, b.dtype)
        a, b = _constant_in(dtype, a), _constant_in(dtype, b)
        if (problem := unfit(op, a, b, dtype)) is not None:
            raise problem
        result = BOOL if op in COMPARISONS else dtype
    return _simplest(op, a, b, dtype, result)


@lru_cache(maxsize=32768)
def _indexing(op: str, a: Expr, b: Expr) -> Expr:
    """`a op b` of int32, a short way through `binary` for its most frequent calls. Raises
    ExprError."""
    if isinstance(b, Const) and b.value == 0 and (problem := unfit(op, a, b, INT32)):
        raise problem
    return _simplest(op, a, b, INT32, _INDEXING[op])


def _simplest(op: str, a: Expr, b: Expr, dtype: DType, result: DType) -> Expr:
    """`a op b` computed in `dtype`: a constant or an operand where that says the same."""
    if isinstance(a, Const):
        if isinstance(b, Const):
            known = _folded(op, a, b, dtype)
            if known is not None:
                return Const(known, result)
    elif not isinstance(b, Const):
        return Binary(op, a, b, result)
    neutral = _neutral(op, a, b, result)
    return Binary(op, a, b, result) if neutral is None else neutral


def _folded(op: str, a: Const, b: Const, dtype: DType) -> Number | None:
    """The value of an operator on constants; None where it is left to the kernel, as infinity and
    NaN that come of numbers are. Raises ExprError."""
    x, y = (converted(v.value, dtype) if dtype.is_float else v.value for v in (a, b))
    try:
        if op in ("//", "%") and dtype.is_float:
            if y == 0:
                raise DivisionError(f"{x} {op} 0")
            return rounded(x // y if op == "//" else x % y, dtype)
        value = computed(op, x, y, dtype)
    except DivisionError as error:
        raise NoQuotient(f"division by zero or overflow: {error}") from None
    finite = not isinstance(value, float) or math.isfinite(value)
    return value if finite or not (math.isfinite(x) and math.isfinite(y)) else None


def _constant_in(dtype: DType, part: Expr) -> Expr:
    """A constant integer in the type it is computed in."""
    if not isinstance(part, Const) or part.dtype is dtype or part.dtype.is_float:
        return part
    if dtype.is_float:
        return Const(float(part.value), dtype)
    return Const(int(wrap(part.value, dtype)), dtype) if dtype.is_integer else part


# What most places start with, and most sizes.
ZERO = Const(0, INT32)
ONE = Const(1, INT32)


def unfit(op: str, a: Expr, b: Expr, dtype: DType) -> ExprError | None:
    """Why an operator does not take these operands, which it would compute in `dtype`."""
    if op == "/" and not dtype.is_float:
        return ExprError("`/` on two integers is ambiguous", "use `//`, or cast one to float")
    if op in BITWISE and dtype.is_float:
        return _no_integers(op, a, b)
    bits = max(dtype.bits, INT32.bits)
    if op in ("<<", ">>") and isinstance(b, Const) and not 0 <= b.value < bits:
        last = bits - 1
        hint = f"write 0 to {last}"
        return ExprError(f"`{op}` by {b.value}: {dtype} is shifted by 0 to {last} bits", hint)
    if op not in ("//", "%"):
        return None
    if dtype.is_float and not (isinstance(a, Const) and isinstance(b, Const)):
        return _no_integers(op, a, b)
    if isinstance(b, Const) and b.value == 0:
        return NoQuotient(f"division by zero: the right side of `{op}` is 0")
    return None


def _no_integers(op: str, a: Expr, b: Expr) -> ExprError:
    message = f"`{op}` needs integers, found {a.dtype} and {b.dtype}"
    return ExprError(message, 'convert a float first: T.cast(x, "int32")')


def _type_of(value: Operable) -> DType | None:
    return value.dtype if isinstance(value, Expr) else None


def _neutral(op: str, a: Expr, b: Expr, dtype: DType) -> Expr | None:
    """x+0, x*1, x//1 … for integers and booleans; floats keep every operation. One of the two is a
    constant."""
    left = a.value if isinstance(a, Const) else None
    right = b.value if isinstance(b, Const) else None
    if dtype is not INT32 and dtype.is_float:
        return None
    found: Expr | None = None
    match op:
        case "+":
            found = b if left == 0 else a if right == 0 else None
        case "-" | "<<" | ">>":
            found = a if right == 0 else None
        case "*":
            if left == 0 or right == 0:
                return Const(0, dtype)
            found = b if left == 1 else a if right == 1 else None
        case "//":
            found = a if right == 1 else None
        case "%":
            return Const(0, dtype) if right == 1 else None
        case "and":
            if left is not None:
                found = b if left else Const(False, BOOL)
            elif right is not None:
                found = a if right else Const(False, BOOL)
        case "or":
            if left is not None:
                found = Const(True, BOOL) if left else b
            elif right is not None:
                found = Const(True, BOOL) if right else a
    return found if found is None or found.dtype == dtype else cast(found, dtype)


def unary(op: str, operand: Operable) -> Expr:
    """`-x`, `~x`, `not x` or a scalar function. `~x` of a truth value is its contrary."""
    x = as_expr(operand)
    if op == "not" or (op == "~" and x.dtype is BOOL):
        return Const(not x.value, BOOL) if isinstance(x, Const) else Unary("not", x, BOOL)
    if op == "~" and x.dtype.is_float:
        hint = "cast it to an integer"
        raise ExprError(f"`~` needs an integer, found {x.dtype}", hint)
    if op in ("-", "abs") and is_narrow(x.dtype):
        x = cast(x, INT32)
    if isinstance(x, Const):
        value = x.value
        if op == "-":
            return Const(wrap(-value, x.dtype), x.dtype)
        if op == "~":
            return Const(wrap(~int(value), x.dtype), x.dtype)
        if op == "abs":
            return Const(wrap(abs(value), x.dtype), x.dtype)
    dtype = x.dtype
    if op in FLOAT_FUNCTIONS and not dtype.is_float:
        dtype, x = FLOAT32, cast(x, FLOAT32)
    return Unary(op, x, dtype)


def select(condition: Operable, then: Operable, orelse: Operable) -> Expr:
    """A conditional expression; a constant condition chooses now."""
    test = as_expr(condition)
    a = then if isinstance(then, Expr) else as_expr(then, _type_of(orelse))
    b = orelse if isinstance(orelse, Expr) else as_expr(orelse, _type_of(then))
    dtype = promote(a.dtype, b.dtype)
    if isinstance(test, Const):
        return cast(a if test.value else b, dtype)
    return Select(test, cast(a, dtype), cast(b, dtype), dtype)


def cast(operand: Operable, dtype: DType) -> Expr:
    """The value as another type; constants convert now."""
    x = as_expr(operand)
    if x.dtype == dtype:
        return x
    if isinstance(x, Cast) and x.operand.dtype is dtype and x.dtype is INT32 and not x.bits:
        there_and_back = dtype.is_integer and is_narrow(dtype)
        if there_and_back:
            return x.operand
    if isinstance(x, Const):
        value = x.value
        if x.dtype.is_float and x.dtype.bits < FLOAT32.bits:  # what the narrow type holds of it
            value = held(float(value), x.dtype)
        if dtype.is_float and isinstance(value, float):
            return Const(value, dtype)
        return Const(converted(value, dtype), dtype)
    return Cast(x, dtype)


def minimum(left: Operable, right: Operable) -> Expr:
    return binary("min", left, right)


def maximum(left: Operable, right: Operable) -> Expr:
    return binary("max", left, right)


def equal(left: Operable, right: Operable) -> Expr:
    """`left == right` as an expression (`==` itself compares structures)."""
    return binary("==", left, right)


def not_equal(left: Operable, right: Operable) -> Expr:
    return binary("!=", left, right)


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """Whether all of the conditions hold; true if there are none."""
    every: Expr = Const(True, BOOL)
    for condition in conditions:
        every = binary("and", every, condition)
    return every


def ceildiv(left: Operable, right: Operable) -> Expr:
    """The quotient rounded up, as the language's `T.ceildiv`. Sizes and indices are far from the
    ends of their type; elements are whatever a tensor holds, and nothing of theirs may wrap."""
    a = as_expr(left)
    b = as_expr(right, a.dtype)
    constant = isinstance(a, Const) and isinstance(b, Const)
    if constant or any(isinstance(part, Load) for side in (a, b) for part in walk_expr(side)):
        quotient = binary("//", a, b)
        return quotient + cast(not_equal(binary("%", a, b), 0), quotient.dtype)
    if (isinstance(b, Const) and b.value > 0) or b.dtype.kind is Kind.UINT:
        return binary("//", a + (b - 1), b)
    return -binary("//", -a, b)


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions."""
    if isinstance(expr, Binary):
        return expr.left, expr.right
    match expr:
        case Unary(operand=a) | Cast(operand=a):
            return (a,)
        case Select(condition=c, then=a, orelse=b):
            return (c, a, b)
        case Load(indices=indices):
            return indices
    return ()


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """The expression and everything below it, outer before inner, left before right."""
    try:
        below = expr._below
    except AttributeError:
        below = tuple([part for child in children(expr) for part in walk_expr(child)])
        object.__setattr__(expr, "_below", below)
    return iter((expr, *below))


def reads_memory(expr: Expr) -> bool:
    """Whether it loads an element, so that it may have another value later on."""
    try:
        return expr._reads_memory
    except AttributeError:
        found = any(isinstance(part, Load) for part in walk_expr(expr))
        object.__setattr__(expr, "_reads_memory", found)
        return found


def rebuild(expr: Expr, fn: Callable[[Expr], Expr]) -> Expr:
    """The expression with `fn` applied to its direct children; itself when nothing changed. A
    division by a zero that was put in is left for the kernel, which may never come there: its zero
    is no constant."""
    if isinstance(expr, Binary):  # nearly always
        left, right = fn(expr.left), fn(expr.right)
        if left is expr.left and right is expr.right:
            return expr
        try:
            return binary(expr.op, left, right)
        except NoQuotient:
            return Binary(expr.op, left, Cast(right, right.dtype), expr.dtype)
    old = children(expr)
    if not old:
        return expr
    new = tuple(map(fn, old))
    if all(a is b for a, b in zip(old, new, strict=True)):
        return expr
    match expr:
        case Unary(op=op):
            return unary(op, *new)
        case Select():
            return select(*new)
        case Cast(dtype=dtype, bits=bits):
            return Cast(new[0], dtype, True) if bits else cast(new[0], dtype)
        case Load(buffer=buffer):
            return Load(buffer, new)
    return expr


def substitute(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    """The expression with variables replaced."""
    if isinstance(expr, Const) or not values:
        return expr

    def put_in(part: Expr) -> Expr:
        if isinstance(part, Var):
            return values.get(part, part)
        return part if isinstance(part, Const) else rebuild(part, put_in)

    return values.get(expr, expr) if isinstance(expr, Var) else rebuild(expr, put_in)


def is_constant(expr: Expr, value: Number | None = None) -> bool:
    """Whether it is a constant (equal to `value` if one is given)."""
    return isinstance(expr, Const) and (value is None or expr.value == value)


def constant_value(expr: Expr) -> int | None:
    """The value of a constant integer expression, else None."""
    if isinstance(expr, Const):
        value = expr.value
        return value if type(value) is int else None if isinstance(value, float) else int(value)
    return None


def constant_values(exprs: Iterable[Expr]) -> tuple[int, ...] | None:
    """The values of constant integer expressions, None if one is none."""
    values = []
    for expr in exprs:
        value = constant_value(expr)
        if value is None:
            return None
        values.append(value)
    return tuple(values)
