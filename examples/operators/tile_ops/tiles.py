"""Choose sizes of tiles: functions of sizes and types, for the memories of Ascend910B."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import tile_frontend as T

CORES = 24
LANES = 2 * CORES
# What a vector core has for tiles, less some for scratch of reductions and what few rows need.
UB_BYTES = 160 * 1024
BLOCK = 16  # elements where rows of a tile start, in types of 2 bytes and more


def padded(columns: int, dtype: str = "float16") -> int:
    """The columns of a tile whose rows start at multiples of 32 bytes, in any type of it."""
    step = 32 if dtype == "int8" else 16
    return -(-columns // step) * step


def row_tiles(count: int, row_bytes: int, most: int = 64) -> tuple[int]:
    """Rows of a tile for both lanes: a power of two that fits, and gives every lane work.

    `row_bytes` is what one row needs in all tiles of the kernel, each version of them counted.
    """
    fitting = UB_BYTES // max(row_bytes, 1)
    wanted = max(1, min(fitting, -(-count // LANES), most))
    return (2 * (1 << (wanted.bit_length() - 1)),)


def widest(row_bytes: int) -> int:
    """The columns that fit with one row a lane, if a column needs so many bytes."""
    return UB_BYTES // row_bytes // 16 * 16


def nearby_rows(rows: int) -> Sequence[tuple[int]]:
    """What a sweep compares rows of a tile with."""
    return [(n,) for n in (rows // 4, rows // 2, rows, rows * 2, rows * 4) if n >= 2]


def product_tiles(rows: int, columns: int, common: int, dtype: str) -> tuple[int, ...]:
    """The tiles that the time model recommends, for rows rounded up: few numbers of rows have
    tiles of their own."""
    step = 128 if rows > 128 else 16
    return _recommended(-(-rows // step) * step, columns, common, dtype)


@cache
def _recommended(rows: int, columns: int, common: int, dtype: str) -> tuple[int, ...]:
    """As `T.recommend_tiles`, which goes through all tiles, once for the same sizes."""
    return tuple(T.recommend_tiles(rows, columns, common, dtype))
