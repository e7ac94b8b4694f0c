"""Distance of floating-point numbers in units of the last place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_ir import DType


def ordered_bits(stored: Any, dtype: DType) -> Any:
    """Bit patterns as integers that count up with the value; both zeros are 0."""
    width = np.uint16 if dtype.size == 2 else np.uint32
    raw = np.ascontiguousarray(stored).view(width).astype(np.int64)
    sign = 1 << (dtype.bits - 1)
    return np.where(raw & sign, -(raw & (sign - 1)), raw)


def is_nan(stored: Any, dtype: DType) -> Any:
    exponent = {"float16": 0x7C00, "bfloat16": 0x7F80, "float32": 0x7F800000}[dtype.name]
    raw = np.ascontiguousarray(stored).view(np.uint16 if dtype.size == 2 else np.uint32)
    return (raw.astype(np.int64) & ((1 << (dtype.bits - 1)) - 1)) > exponent


def largest_distance(a: Any, b: Any, dtype: DType) -> int:
    """Most ulps between two arrays in stored form; a NaN is only close to a NaN."""
    nan_a, nan_b = is_nan(a, dtype), is_nan(b, dtype)
    if not np.array_equal(nan_a, nan_b):
        return 1 << 40
    distance = np.abs(ordered_bits(a, dtype) - ordered_bits(b, dtype))
    return int(np.where(nan_a, 0, distance).max(initial=0))
