"""Steps that kernels of whole rows share: a tile is some rows, which the cores take in turn."""

from __future__ import annotations

from typing import Any

import tile_frontend as T

from .tiles import CORES


def turns(count: Any, size: int, cid: Any) -> Any:
    """Count the tiles of a core, of tiles of `size` that cover `count`: one of every CORES."""
    return T.ceildiv(T.ceildiv(count, size) - cid, CORES)


@T.macro
def load_rows(X: T.Tensor, row: T.int32, raw: T.Tensor, x: T.Tensor) -> None:
    """Load a tile of rows from gm, and convert it."""
    T.copy(X[row, 0], raw)
    T.copy(raw, x)


@T.macro
def store_rows(x: T.Tensor, raw: T.Tensor, Y: T.Tensor, row: T.int32) -> None:
    """Convert a tile of rows, and store it to gm."""
    T.copy(x, raw)
    T.copy(raw, Y[row, 0])


@T.macro
def load_vector(W: T.Tensor, raw: T.Tensor, w: T.Tensor, width: int) -> None:
    """Load a row that all tiles use, and convert it."""
    T.copy(W[0:width], raw)
    T.copy(raw, w)


@T.macro
def center(x: T.Tensor, mean: T.Tensor, N: int, rows: int, width: int) -> None:
    """Subtract from each row its mean."""
    T.reduce_sum(x, mean, dim=-1)
    for i in T.Parallel(rows):
        mean[i] = mean[i] * (1.0 / N)
    for i, j in T.Parallel(rows, width):
        x[i, j] = x[i, j] - mean[i]


@T.macro
def inverse_root(
    x: T.Tensor, square: T.Tensor, scale: T.Tensor, N: int, eps: float, rows: int, width: int
) -> None:
    """Compute 1 / sqrt(mean(x ** 2) + eps) of each row."""
    for i, j in T.Parallel(rows, width):
        square[i, j] = x[i, j] * x[i, j]
    T.reduce_sum(square[:, 0:N], scale, dim=-1)
    for i in T.Parallel(rows):
        scale[i] = 1.0 / T.sqrt(scale[i] * (1.0 / N) + eps)


@T.macro
def mean_of_products(
    a: T.Tensor, b: T.Tensor, product: T.Tensor, mean: T.Tensor, N: int, rows: int, width: int
) -> None:
    """Compute the mean of a * b of each row."""
    for i, j in T.Parallel(rows, width):
        product[i, j] = a[i, j] * b[i, j]
    T.reduce_sum(product, mean, dim=-1)
    for i in T.Parallel(rows):
        mean[i] = mean[i] * (1.0 / N)


@T.macro
def add_product(total: T.Tensor, a: T.Tensor, b: T.Tensor, rows: int, width: int) -> None:
    """Add a * b to the total of each element."""
    for i, j in T.Parallel(rows, width):
        total[i, j] = total[i, j] + a[i, j] * b[i, j]
