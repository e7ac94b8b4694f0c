"""Compute integers narrower than the vector unit's, and convert to narrower ones, by its
operations. Results wrap, but its conversions saturate, so values are made to fit first.

int8 and uint8 are computed as int16. Sums, products and bits only depend on as many low bits as the
result keeps, so their operands need not be wrapped on the way. The language computes them in
int32, the vector unit in int16 where no more is kept (`done_narrow`), or where no value needs more
on its way to a float (`in_16_bits`).
"""

from __future__ import annotations

from tile_ir import (
    INT16,
    INT32,
    Binary,
    Cast,
    Const,
    DType,
    Expr,
    Load,
    Select,
    Unary,
    Var,
    binary,
    cast,
    rebuild,
    select,
    unary,
    walk_expr,
)
from tile_ir.analysis import Interval, Ranges, interval
from tile_ir.quick_dataclasses import dataclass

# Operations whose low bits depend on the low bits of their operands only.
_LOW_BITS = frozenset({"+", "-", "*", "&", "|", "^"})
# Operations that int16 has as int32 does.
_IN_16_BITS = frozenset({"+", "-", "*", "&", "|", "<<", ">>"})


def fitted(e: Expr, known: Ranges) -> Expr:
    """The expression such that every conversion to a narrower integer is of a value that fits, and
    no arithmetic is done on integers of one byte."""
    return _Fitting(known).fit(e)


@dataclass(frozen=True, slots=True)
class _Fitting:
    known: Ranges

    def fit(self, e: Expr) -> Expr:
        match e:
            case Load() | Var() | Const():
                return e
            case Cast(operand=operand, dtype=dtype, bits=False) if _narrows(operand.dtype, dtype):
                return cast(self.wrapped(self.low_bits(operand, _work(dtype), dtype), dtype), dtype)
            case Cast(operand=Binary(dtype=kind) as operand, dtype=dtype) if (
                kind is INT32 and dtype.is_float
            ):
                short = in_16_bits(operand, self.known)
                return rebuild(e, self.fit) if short is None else cast(short, dtype)
            case Cast(operand=operand, dtype=dtype, bits=False) if (
                dtype.is_float and _is_byte(operand.dtype) and not isinstance(operand, Load)
            ):
                return cast(self.exact(operand), dtype)
            case Binary(op="//" | "%" as op, left=left, right=right) if e.dtype.bits < INT32.bits:
                wide = binary(op, cast(self.fit(left), INT32), cast(self.fit(right), INT32))
                return cast(self.wrapped(wide, e.dtype), e.dtype)
            case Binary() | Unary() | Select() if _is_byte(e.dtype):
                return cast(self.wrapped(self.low_bits(e, INT16, e.dtype), e.dtype), e.dtype)
        return rebuild(e, self.fit)

    def wrapped(self, e: Expr, dtype: DType) -> Expr:
        """The value of a wider type that the narrower one keeps of it."""
        low, high = dtype.limits()
        found = interval(e, self.known)
        if low <= found.low and found.high <= high:
            return e
        if not low:
            return binary("&", e, Const(high, e.dtype))
        gone = Const(e.dtype.bits - dtype.bits, e.dtype)
        return binary(">>", cast(binary("<<", e, gone), e.dtype), gone)

    def low_bits(self, e: Expr, wide: DType, dtype: DType) -> Expr:
        """A value of type `wide` that agrees with the expression in the bits that `dtype` has."""
        match e:
            case Const():
                return cast(e, wide)
            case Binary(op=op, left=a, right=b) if op in _LOW_BITS and not _counts(e):
                left, right = self.low_bits(a, wide, dtype), self.low_bits(b, wide, dtype)
                return cast(binary(op, left, right), wide)
            case Binary(op="<<", left=a, right=Const(value=count)) if count < wide.bits:
                shifted = binary("<<", self.low_bits(a, wide, dtype), Const(count, wide))
                return cast(shifted, wide)
            case Unary(op="-" | "~" as op, operand=a) if e.dtype.is_integer:
                return cast(unary(op, self.low_bits(a, wide, dtype)), wide)
            case Unary(op="abs", operand=Cast(operand=a)) if a.dtype.is_integer and (
                a.dtype.bits <= wide.bits
            ):
                return cast(unary("abs", cast(self.fit(a), wide)), wide)
            case Select(condition=c, then=a, orelse=b):
                return select(
                    self.fit(c), self.low_bits(a, wide, dtype), self.low_bits(b, wide, dtype)
                )
            case Cast(operand=a, dtype=kind, bits=False) if _keeps(a.dtype, kind, dtype):
                return self.low_bits(a, wide, dtype)
            case Binary(op=op, left=a, right=b) if _is_byte(e.dtype) and op not in ("//", "%"):
                return binary(op, self.exact(a), self.exact(b))
            case Unary(op=op, operand=a) if _is_byte(e.dtype):
                return unary(op, self.exact(a))
        found = self.fit(e)
        if found.dtype.is_integer and found.dtype.bits > wide.bits:
            found = self.wrapped(found, wide)
        return cast(found, wide)

    def exact(self, e: Expr) -> Expr:
        """An integer of one byte as int16."""
        found = self.fit(e)
        if isinstance(found, Cast) and found.operand.dtype is INT16:
            return found.operand
        return cast(found, INT16)


def done_narrow(e: Cast) -> Binary | Unary | None:
    """Arithmetic in int32 of which int16 is kept, in int16, where its operands are of that type."""
    if e.dtype is not INT16 or e.operand.dtype is not INT32:
        return None
    match e.operand:
        case Binary(op=op, left=left, right=right) if op in _LOW_BITS or op == "<<":
            a, b = _as_kept(left), _as_kept(right)
            return None if a is None or b is None else Binary(op, a, b, INT16)
        case Unary(op="-" | "abs" as op, operand=operand):
            x = _as_kept(operand)
            return None if x is None else Unary(op, x, INT16)
    return None


def in_16_bits(e: Expr, known: Ranges) -> Expr | None:
    """Arithmetic in int32 as int16, where no value on the way needs more bits; else None."""
    match e:
        case Const(value=value):
            return cast(e, INT16) if _holds(Interval.exactly(value)) else None
        case Load() if e.dtype.is_integer and _holds(Interval(*e.dtype.limits())):
            return cast(e, INT16)
        case Cast(operand=operand, dtype=dtype, bits=False) if dtype is INT32:
            return in_16_bits(operand, known)
        case Binary(op=op, left=left, right=right) if (
            e.dtype is INT32 and op in _IN_16_BITS and _holds(interval(e, known))
        ):
            if op in ("<<", ">>") and not _is_shift(right):
                return None
            a, b = in_16_bits(left, known), in_16_bits(right, known)
            return None if a is None or b is None else Binary(op, a, b, INT16)
    return None


def _holds(found: Interval) -> bool:
    low, high = INT16.limits()
    return low <= found.low and found.high <= high


def _is_shift(count: Expr) -> bool:
    return isinstance(count, Const) and 0 <= count.value < INT16.bits


def _as_kept(e: Expr) -> Expr | None:
    """An operand as int16, which it is but for a conversion; None if it is not."""
    match e:
        case Const():
            return cast(e, INT16)
        case Cast(operand=operand, bits=False) if operand.dtype is INT16:
            return operand
    return e if e.dtype is INT16 else None


def count_of_bits(count: Expr, dtype: DType, known: Ranges) -> Expr:
    """The count for the shift instructions. They take no more bits than there are, which leave
    nothing but the sign, as larger counts and negative ones do in the language."""
    found = interval(count, known)
    if found.low >= 0 and found.high <= dtype.bits:
        return count
    outside = binary("or", count < 0, count > dtype.bits)
    return select(outside, Const(dtype.bits, count.dtype), count)


def _work(dtype: DType) -> DType:
    return INT16 if dtype.bits <= INT16.bits else dtype


def _is_byte(dtype: DType) -> bool:
    return dtype.is_integer and dtype.bits == 8


def _narrows(source: DType, target: DType) -> bool:
    """Whether values of one integer type may not be values of the other, of at most 16 bits."""
    if not (source.is_integer and target.is_integer) or target.bits > INT16.bits:
        return False
    return source.limits()[0] < target.limits()[0] or source.limits()[1] > target.limits()[1]


def _keeps(source: DType, middle: DType, target: DType) -> bool:
    """Whether a conversion between integers keeps the bits that the target has."""
    both = source.is_integer and middle.is_integer
    return both and min(source.bits, middle.bits) >= target.bits


def _counts(e: Expr) -> bool:
    """Whether a value is made of loop variables only, which count up in int32."""
    return e.dtype is INT32 and not any(isinstance(p, (Load, Cast)) for p in walk_expr(e))
