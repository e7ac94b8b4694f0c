"""Maximum and minimum as the vector unit has them: NaN wins, and -0 is below 0
(docs/hardware/units.md#edge-values)."""

from __future__ import annotations

from typing import Any

from tile_ir.lazy import np


def maximum(a: Any, b: Any) -> Any:
    """The greater of each two elements."""
    result = np.maximum(a, b)
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, np.where(np.signbit(a) & np.signbit(b), a, np.abs(a)), result)


def minimum(a: Any, b: Any) -> Any:
    """The less of each two elements."""
    result = np.minimum(a, b)
    zeros = (a == 0) & (b == 0)
    return np.where(zeros, np.where(np.signbit(a), a, b), result)


def greatest(values: Any, axis: int | None = None) -> Any:
    """The greatest element along an axis, or of all; of none it is less than any value."""
    result = np.max(values, axis=axis, initial=_limit(values, -1))
    return _with_sign(result, np.all(_is_negative(values) | (values != 0), axis=axis))


def least(values: Any, axis: int | None = None) -> Any:
    """The least element along an axis, or of all; of none it is greater than any value."""
    result = np.min(values, axis=axis, initial=_limit(values, 1))
    return _with_sign(result, np.any(_is_negative(values) & (values == 0), axis=axis))


def _limit(values: Any, sign: int) -> Any:
    return sign * (2**62 if np.issubdtype(values.dtype, np.integer) else np.inf)


def _is_negative(values: Any) -> Any:
    return np.signbit(values) if np.issubdtype(values.dtype, np.inexact) else values < 0


def _with_sign(result: Any, negative: Any) -> Any:
    """Results that are zero get a sign."""
    if not np.issubdtype(result.dtype, np.inexact):
        return result
    zero = np.where(negative, result.dtype.type(-0.0), result.dtype.type(0.0))
    return np.where(result == 0, zero, result)
