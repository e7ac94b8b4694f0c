"""Sums over rows and columns, and running sums."""

from __future__ import annotations

from typing import Any

import torch

import tile_frontend as T

from .manifest import FLOATS, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, UB_BYTES, nearby_rows, padded, row_tiles, widest

SQUARE = 128  # columns whose running sums are one product
AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def sum_over_rows(N: int, dtype: str, rows: int, columns: int) -> T.PrimFunc:
    """A block adds up tiles of some columns, then the rows of their sum."""
    M, accum = T.symbolic("M"), "float32"
    blocks = T.cdiv(N, columns)

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((1, N), accum)) -> None:
        with T.Kernel(blocks, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, columns), dtype)
            x = T.alloc_shared((rows, columns), accum)
            sums = T.alloc_shared((rows, columns), accum)
            total = T.alloc_shared((1, columns), accum)
            T.tile.fill(sums, 0.0)
            for t in T.Pipelined(T.ceildiv(M, rows), num_stages=2):
                T.copy(X[t * rows, cid * columns], raw)
                T.copy(raw, x)
                for i, j in T.Parallel(rows, columns):
                    sums[i, j] = sums[i, j] + x[i, j]
            T.reduce_sum(sums, total[0, :], dim=0)
            T.copy(total, Y[0, cid * columns])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def running_sums(N: int, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N), "float32"

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                T.cumsum(x, dst=x, dim=1)
                T.copy(x, raw)
                T.copy(raw, Y[row, 0])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def running_sums_by_product(N: int, dtype: str, rows: int) -> T.PrimFunc:
    """The running sums of 128 columns are a product with a triangle of ones, which is exact but
    for the order of additions. The vector cores add what the columns before sum up to."""
    M, accum = T.symbolic("M"), "float32"
    blocks = T.cdiv(N, SQUARE)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        triangle: T.Tensor((SQUARE, SQUARE), dtype),
        Y: T.Tensor((M, N), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            ones = T.alloc_shared((SQUARE, SQUARE), dtype)
            x = T.alloc_shared((rows, SQUARE), dtype)
            product = T.alloc_fragment((rows, SQUARE), accum)
            sums = T.alloc_shared((rows, SQUARE), accum)
            out = T.alloc_shared((rows, SQUARE), dtype)
            before = T.alloc_shared((rows,), accum)
            T.copy(triangle[0, 0], ones)
            for t in T.Pipelined(turns(M, rows, cid) * blocks, num_stages=3):
                row = (cid + t // blocks * CORES) * rows
                column = t % blocks * SQUARE
                T.copy(X[row, column], x)
                T.gemm_v0(x, ones, product, init=True)
                T.copy(product, sums)
                if column == 0:
                    T.tile.fill(before, 0.0)
                for i, j in T.Parallel(rows, SQUARE):
                    sums[i, j] = sums[i, j] + before[i]
                for i in T.Parallel(rows):
                    before[i] = sums[i, SQUARE - 1]
                T.copy(sums, out)
                T.copy(out, Y[row, column])

    return kernel


def _running(s: Sizes, t: Tiles) -> Any:
    """The kernel: products of 16-bit numbers are exact, those of float32 are not fast."""
    if s.dtype() == "float32":
        return running_sums(s.N, s.dtype(), *t)
    kernel = running_sums_by_product(s.N, s.dtype(), *t)
    triangle = torch.ones(SQUARE, SQUARE).triu().to(s.types["T"])
    return lambda x: kernel(x, triangle.to(x.device))


def _columns(sizes: Sizes) -> Tiles:
    """Columns so that the core with most has fewest, the widest of equal ones, and rows of them
    that fit."""

    def most(columns: int) -> int:
        return -(-sizes.N // (columns * CORES)) * columns

    columns = min((512, 256, 128, 64), key=most)
    rows = 4
    while rows < 64 and rows < sizes.M and rows * 2 * columns * 16 <= 2 * UB_BYTES:
        rows *= 2
    return rows, columns


def column_sum(x: torch.Tensor) -> torch.Tensor:
    """The sums over rows of a matrix, by the operator."""
    found: torch.Tensor = torch.ops.tile_ops.column_sum(x)
    return found


def _running_tiles(sizes: Sizes) -> Tiles:
    if sizes.dtype() != "float32":
        return (next((n for n in (256, 64) if sizes.rows >= 16 * n), 16),)
    width = 4 if sizes.dtype() == "float32" else 2
    return row_tiles(sizes.rows, padded(sizes.N) * (2 * width + 12), 32)


OPERATORS = (
    operator(
        "column_sum(x: T[M, N]) -> float32[N]", {"T": FLOATS},
        kernel=lambda s, t: sum_over_rows(s.N, s.dtype(), *t), tiles=_columns,
        choices=lambda s: [
            (r, c) for r in (8, 16, 32) for c in (128, 256, 512) if r * c * 16 <= 2 * UB_BYTES
        ],
        rules=(Rule("M >= 1", "a sum needs a row"),),
        reference=lambda x: x.sum(0), workload=Case((), {"M": 16384, "N": 8192, "T": "float16"}),
        cases=(
            Case((), {"M": 1, "N": 5}), Case((), {"M": 77, "N": 333}),
            Case((), {"M": 300, "N": 2048}),
        ), summary="the sums over rows, in float32",
        backward=lambda grads, inputs, results: [
            grads[0].to(inputs[0].dtype).expand_as(inputs[0])
        ], tolerance={"float16": 1e-5, "bfloat16": 1e-5},
    ),
    operator(
        "cumsum(x: T[..., N]) -> T[..., N]", {"T": FLOATS},
        kernel=_running, tiles=_running_tiles,
        choices=lambda s: nearby_rows(*_running_tiles(s)),
        rules=(
            Rule("N >= 1", "a row must have an element"),
            Rule(f"N <= {widest(20)}", "a tile holds whole rows: add up parts of them"),
        ),
        reference=lambda x: x.cumsum(-1), workload=Case((16384,), {"N": 4096, "T": "float16"}),
        cases=(Case((3,), {"N": 1}), Case((2, 9), {"N": 333}), Case((1100,), {"N": 260})),
        summary="the running sums along rows",
        backward=lambda grads, inputs, results: [
            torch.ops.tile_ops.cumsum(grads[0].flip(-1)).flip(-1)
        ],
    ),
)  # fmt: skip
