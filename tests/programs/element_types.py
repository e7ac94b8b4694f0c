"""Element types of the executor: how elements are kept, read, rounded and wrapped."""

from __future__ import annotations

from typing import Any

import numpy as np

# bfloat16 is kept as rounded float32, int4 as int8.
KEPT: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": np.float32,
    "int4": np.int8,
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint32": np.uint32,
    "int64": np.int64,
}
FLOATS = ("float32", "float16", "bfloat16")
BITS = {"int4": 4, "bfloat16": 16}
ALIASES = {"float": "float32", "half": "float16", "int": "int32", "uint": "uint32"}


def named(dtype: str) -> str:
    return ALIASES.get(dtype, dtype)


def bits(dtype: str) -> int:
    return BITS.get(dtype, np.dtype(KEPT[dtype]).itemsize * 8)


def to_bfloat16(values: Any) -> Any:
    """float32 values rounded to the nearest bfloat16, ties to even."""
    values = np.asarray(values, np.float32)
    word = values.view(np.uint32).astype(np.uint64)
    rounded = (word + 0x7FFF + ((word >> 16) & 1)) & 0xFFFF0000
    return np.where(np.isnan(values), values, rounded.astype(np.uint32).view(np.float32))


def wrapped(values: Any, dtype: str) -> Any:
    """Values as elements of a type: integers wrap, floats round to the nearest."""
    values = np.asarray(values)
    with np.errstate(all="ignore"):
        if dtype == "bfloat16":
            return to_bfloat16(values)
        if dtype in FLOATS:
            return values.astype(KEPT[dtype])
        if values.dtype.kind == "f":
            values = np.trunc(values)
        whole = values.astype(np.int64)
        if dtype == "int4":
            return (((whole + 8) & 15) - 8).astype(np.int8)
        return whole.astype(KEPT[dtype])


def converted(values: Any, dtype: str) -> Any:
    """The conversion of the vector unit: to the nearest, ties to even; integers saturate."""
    values = np.asarray(values)
    if dtype in FLOATS or values.dtype.kind != "f":
        return wrapped(values, dtype)
    width = bits(dtype)
    low, high = (
        (0, 2**width - 1) if dtype.startswith("u") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    )
    nearest = np.clip(np.rint(np.nan_to_num(values.astype(np.float64))), low, high)
    return wrapped(nearest, dtype)


def scalar(value: Any, dtype: str) -> Any:
    """An element as a number of an expression: integers narrower than 32 bits count as int32."""
    if dtype in FLOATS:
        return KEPT[dtype](value)
    return np.int32(value) if bits(dtype) < 32 else KEPT[dtype](value)
