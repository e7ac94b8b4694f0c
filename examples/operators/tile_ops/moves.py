"""Rows by index, their weighted sums, and turned matrices: nothing is computed but those sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import tile_frontend as T

from .manifest import FLOATS, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, UB_BYTES, nearby_rows, padded, row_tiles

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def gather_rows(N: int, dtype: str, rows: int) -> T.PrimFunc:
    """An index outside of the rows gives a row of zeros."""
    M, R, width = T.symbolic("M"), T.symbolic("R"), padded(N)

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype), index: T.Tensor((R,), "int32"), Y: T.Tensor((R, N), dtype)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((rows, width), dtype)
            places = T.alloc_shared((rows,), "int32")
            for t in T.Pipelined(turns(R, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(index[row : row + rows], places)
                for i in T.serial(rows):
                    place = places[i]
                    T.copy(X[T.if_then_else(place >= 0, place, M), 0], x[i, :])
                T.copy(x, Y[row, 0])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def combine_rows(N: int, K: int, dtype: str, columns: int) -> T.PrimFunc:
    """A row is the sum of K weighted ones. An index outside of the rows adds zeros."""
    M, R, accum = T.symbolic("M"), T.symbolic("R"), "float32"
    blocks = T.cdiv(N, columns)
    width = T.cdiv(K, 8) * 8

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype),
        index: T.Tensor((R, K), "int32"),
        weight: T.Tensor((R, K), accum),
        Y: T.Tensor((R, N), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((K, columns), dtype)
            x = T.alloc_shared((K, columns), accum)
            total = T.alloc_shared((1, columns), accum)
            out = T.alloc_shared((1, columns), dtype)
            places = T.alloc_shared((width,), "int32")
            weights = T.alloc_shared((width,), accum)
            for t in T.Pipelined(T.ceildiv(R * blocks - cid, CORES), num_stages=2):
                row, column = (cid + t * CORES) // blocks, (cid + t * CORES) % blocks * columns
                T.copy(index[row, 0:width], places)
                T.copy(weight[row, 0:width], weights)
                for i in T.serial(K):
                    place = places[i]
                    T.copy(X[T.if_then_else(place >= 0, place, M), column], raw[i, :])
                T.copy(raw, x)
                for i, j in T.Parallel(K, columns):
                    x[i, j] = x[i, j] * weights[i]
                T.reduce_sum(x, total[0, :], dim=0)
                T.copy(total, out)
                T.copy(out, Y[row, column])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def transpose(N: int, dtype: str, rows: int, columns: int) -> T.PrimFunc:
    M = T.symbolic("M")
    blocks = T.cdiv(N, columns)

    @T.prim_func
    def kernel(X: T.Tensor((M, N), dtype), Y: T.Tensor((N, M), dtype)) -> None:
        with T.Kernel(CORES, is_npu=True) as (cid, vid):
            x = T.alloc_shared((rows, columns), dtype)
            y = T.alloc_shared((columns, rows), dtype)
            lane = cid * 2 + vid
            for t in T.Pipelined(
                T.ceildiv(T.ceildiv(M, rows) * blocks - lane, 2 * CORES), num_stages=2
            ):
                tile = lane + t * 2 * CORES
                row, column = tile // blocks * rows, tile % blocks * columns
                T.copy(X[row, column], x)
                T.tile.transpose(y, x)
                T.copy(y, Y[column, row])

    return kernel


def _gather_tiles(sizes: Sizes) -> Tiles:
    width = 4 if sizes.dtype() == "float32" else 2
    return row_tiles(sizes.R, padded(sizes.N) * 2 * width, 16)


def _combine_tiles(sizes: Sizes) -> Tiles:
    width = 4 if sizes.dtype() == "float32" else 2
    columns = 4096
    while columns > 64 and (
        columns * (sizes.K * (2 * width + 4) + 12) > 2 * UB_BYTES or columns >= 2 * sizes.N
    ):
        columns //= 2
    return (columns,)


def _turned_tiles(sizes: Sizes) -> Tiles:
    return (128, 128) if sizes.dtype() != "float32" else (128, 64)


def make_places(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return torch.randint(0, sizes.M, tuple(shape)).to(dtype)


def _gather_gradient(grads: Any, inputs: Any, results: Any) -> Any:
    """Rows that were taken several times add up their gradients, by torch."""
    x, index = inputs
    zeros = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
    return zeros.index_add(0, index.long(), grads[0].float()).to(x.dtype), None


OPERATORS = (
    operator(
        "gather_rows(x: T[M, N], index: int32[R]) -> T[R, N]", {"T": FLOATS},
        kernel=lambda s, t: gather_rows(s.N, s.dtype(), *t), tiles=_gather_tiles,
        choices=lambda s: nearby_rows(*_gather_tiles(s)),
        reference=lambda x, index: x[index.long()], make={"index": make_places},
        rules=(
            Rule("M >= 1", "there must be a row to take"),
            Rule("N >= 1", "rows must have elements"),
            Rule("N <= 16384", "a tile holds whole rows: split them"),
        ),
        workload=Case((), {"M": 32000, "N": 4096, "R": 8192, "T": "float16"}),
        cases=(
            Case((), {"M": 3, "N": 1, "R": 5}), Case((), {"M": 50, "N": 333, "R": 77}),
            Case((), {"M": 64, "N": 1024, "R": 100}),
        ),
        summary="rows of x by number: embedding, permutation", backward=_gather_gradient,
    ),
    operator(
        "combine_rows(x: T[M, N], index: int32[R, K], weight: float32[R, K]) -> T[R, N]",
        {"T": FLOATS}, kernel=lambda s, t: combine_rows(s.N, s.K, s.dtype(), *t),
        tiles=_combine_tiles, choices=lambda s: [(512,), (1024,), (2048,), (4096,)],
        reference=lambda x, index, weight: (x[index.long()] * weight[..., None]).sum(1),
        make={"index": make_places},
        rules=(
            Rule("M >= 1", "there must be a row to take"),
            Rule("K >= 1", "a sum needs a row"), Rule("K <= 64", "add up fewer rows"),
        ),
        workload=Case((), {"M": 32768, "N": 4096, "R": 4096, "K": 4, "T": "float16"}),
        cases=(
            Case((), {"M": 3, "N": 5, "R": 4, "K": 1}),
            Case((), {"M": 50, "N": 333, "R": 60, "K": 6}),
            Case((), {"M": 64, "N": 1024, "R": 50, "K": 8}),
        ),
        summary="weighted sums of rows by number: what experts give, back to tokens",
    ),
    operator(
        "transpose(x: T[M, N]) -> T[N, M]", {"T": FLOATS},
        kernel=lambda s, t: transpose(s.N, s.dtype(), *t), tiles=_turned_tiles,
        choices=lambda s: [(64, 64), (128, 64), (64, 128), (128, 128)],
        reference=lambda x: x.T, workload=Case((), {"M": 8192, "N": 8192, "T": "float16"}),
        cases=(
            Case((), {"M": 1, "N": 5}), Case((), {"M": 77, "N": 333}),
            Case((), {"M": 512, "N": 256}),
        ),
        summary="the matrix turned",
        backward=lambda grads, inputs, results: [torch.ops.tile_ops.transpose(grads[0])],
    ),
)  # fmt: skip
