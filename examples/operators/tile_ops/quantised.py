"""Quantising to int8, row by row, and products of quantised matrices.

The products are the developer examples, with a symbol for the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

import tile_frontend as T

from .elementwise import silu
from .examples import example
from .manifest import HALVES, Case, Rule, Tiles, operator
from .rows import turns
from .signature import Sizes
from .tiles import CORES, nearby_rows, padded, row_tiles, widest

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
LEAST = 1e-30  # the scale of a row of zeros


@T.macro
def round_rows(
    x: T.Tensor, half: T.Tensor, q: T.Tensor, peak: T.Tensor, scale: T.Tensor, work: T.Tensor,
    rows: int, width: int,
) -> None:  # fmt: skip
    """Scale rows so that the largest is 127, and round them to int8."""
    for i, j in T.Parallel(rows, width):
        work[i, j] = T.abs(x[i, j])
    T.reduce_max(work, peak, dim=-1)
    for i in T.Parallel(rows):
        peak[i] = T.max(peak[i], LEAST)
        scale[i] = peak[i] * (1.0 / 127.0)
    for i in T.Parallel(rows):
        peak[i] = 1.0 / scale[i]
    for i, j in T.Parallel(rows, width):
        x[i, j] = T.round(x[i, j] * peak[i])
    # Whole numbers up to 127 are exact in float16, from which int8 is made.
    T.copy(x, half)
    T.copy(half, q)


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def quantise_rows(N: int, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N, "int8"), "float32"

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), dtype), Q: T.Tensor((M, N), "int8"), scales: T.Tensor((M,), accum)
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            work = T.alloc_shared((rows, width), accum)
            half = T.alloc_shared((rows, width), "float16")
            q = T.alloc_shared((rows, width), "int8")
            peak = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(X[row, 0], raw)
                T.copy(raw, x)
                round_rows(x, half, q, peak, scale, work, rows, width)
                T.copy(q, Q[row, 0])
                T.copy(scale, scales[row : row + rows])

    return kernel


@T.jit(out_idx=[-2, -1], pass_configs=AUTOMATIC)
def silu_mul_quantise(N: int, dtype: str, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N, "int8"), "float32"

    @T.prim_func
    def kernel(
        gate: T.Tensor((M, N), dtype),
        up: T.Tensor((M, N), dtype),
        Q: T.Tensor((M, N), "int8"),
        scales: T.Tensor((M,), accum),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((rows, width), dtype)
            raw_up = T.alloc_shared((rows, width), dtype)
            x = T.alloc_shared((rows, width), accum)
            work = T.alloc_shared((rows, width), accum)
            half = T.alloc_shared((rows, width), "float16")
            q = T.alloc_shared((rows, width), "int8")
            peak = T.alloc_shared((rows,), accum)
            scale = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(gate[row, 0], raw)
                T.copy(up[row, 0], raw_up)
                T.copy(raw, x)
                T.copy(raw_up, work)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = silu(x[i, j]) * work[i, j]
                round_rows(x, half, q, peak, scale, work, rows, width)
                T.copy(q, Q[row, 0])
                T.copy(scale, scales[row : row + rows])

    return kernel


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def dequantise_rows(N: int, rows: int) -> T.PrimFunc:
    M, width, accum = T.symbolic("M"), padded(N, "int8"), "float32"

    @T.prim_func
    def kernel(
        Q: T.Tensor((M, N), "int8"), scales: T.Tensor((M,), accum), Y: T.Tensor((M, N), "float16")
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            q = T.alloc_shared((rows, width), "int8")
            half = T.alloc_shared((rows, width), "float16")
            x = T.alloc_shared((rows, width), accum)
            scale = T.alloc_shared((rows,), accum)
            for t in T.Pipelined(turns(M, rows, cid), num_stages=2):
                row = (cid + t * CORES) * rows
                T.copy(Q[row, 0], q)
                T.copy(scales[row : row + rows], scale)
                T.copy(q, half)
                T.copy(half, x)
                for i, j in T.Parallel(rows, width):
                    x[i, j] = x[i, j] * scale[i]
                T.copy(x, half)
                T.copy(half, Y[row, 0])

    return kernel


def _rows(bytes_of_column: int) -> dict[str, Any]:
    def tiles(sizes: Sizes) -> Tiles:
        return row_tiles(sizes.rows, padded(sizes.N, "int8") * bytes_of_column, 16)

    return {
        "tiles": tiles,
        "choices": lambda sizes: nearby_rows(*tiles(sizes)),
        "rules": (
            Rule("N >= 1", "a row must have an element"),
            Rule(f"N <= {widest(bytes_of_column)}", "a tile holds whole rows: split them"),
        ),
    }


def quantised(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(-1).clamp(min=LEAST) / 127
    return (x / scale[..., None]).round(), scale


def nibbles(packed: torch.Tensor) -> torch.Tensor:
    """The two numbers of each byte, the low half first."""
    low, high = (packed << 4) >> 4, packed >> 4
    return torch.stack([low, high], -1).flatten(-2)


def make_scales(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    return (torch.rand(tuple(shape)) / 100 + 1e-4).to(dtype)


def _wide_tiles(sizes: Sizes) -> Tiles:
    """Wide tiles load fewer bytes, and are worth it where every core has one."""
    rows = min(128, 1 << (max(sizes.M, 16) - 1).bit_length())
    tiles = -(-sizes.M // rows) * -(-sizes.N // 256)
    return (rows, 256, 256) if tiles >= CORES else (rows, 128, 128)


def _choices(sizes: Sizes) -> Sequence[Tiles]:
    """What a sweep compares the choice with."""
    return [(128, 128, 128), (128, 256, 128), (128, 256, 256), (64, 128, 128)]


def _products() -> tuple[Case, ...]:
    return (
        Case((), {"M": 1, "N": 64, "K": 32}), Case((), {"M": 77, "N": 160, "K": 96}),
        Case((), {"M": 260, "N": 384, "K": 512}),
    )  # fmt: skip


SCALES = "row_scale: float32[M], column_scale: float32[1, N]"
ROWS = (Case((1,), {"N": 1}), Case((2, 7), {"N": 333}), Case((100,), {"N": 1024}))
# A number between two whole ones may go to either.
ROUNDED = {"float16": 1 / 120, "bfloat16": 1 / 120}

OPERATORS = (
    operator(
        "quantise_rows(x: T[..., N]) -> int8[..., N], float32[...]", {"T": HALVES},
        kernel=lambda s, t: quantise_rows(s.N, s.dtype(), *t), **_rows(16),
        reference=quantised, workload=Case((16384,), {"N": 4096, "T": "float16"}), cases=ROWS,
        summary="rows as int8 and the scale of each, the largest value over 127",
        tolerance=ROUNDED,
    ),
    operator(
        "silu_mul_quantise(gate: T[..., N], up: T[..., N]) -> int8[..., N], float32[...]",
        {"T": HALVES},
        kernel=lambda s, t: silu_mul_quantise(s.N, s.dtype(), *t), **_rows(22),
        reference=lambda a, b: quantised(F.silu(a) * b),
        workload=Case((16384,), {"N": 4096, "T": "float16"}), cases=ROWS,
        summary="`quantise_rows(silu(gate) * up)`", tolerance=ROUNDED,
    ),
    operator(
        "dequantise_rows(q: int8[..., N], scale: float32[...]) -> float16[..., N]", {},
        kernel=lambda s, t: dequantise_rows(s.N, *t), **_rows(14),
        reference=lambda q, scale: q.float() * scale[..., None], make={"scale": make_scales},
        workload=Case((16384,), {"N": 4096}), cases=ROWS, summary="q * scale",
        tolerance={"float32": 2e-3},
    ),
    operator(
        f"int8_gemm(a: int8[M, K], b: int8[K, N], {SCALES}) -> float16[M, N]", {},
        kernel=lambda s, t: example("dequantised_gemm").int8_gemm(
            T.symbolic("M"), s.N, s.K, *t
        ),
        tiles=_wide_tiles, choices=_choices,
        reference=lambda a, b, r, c: (a.double() @ b.double()) * r[:, None] * c,
        make={"row_scale": make_scales, "column_scale": make_scales},
        rules=(Rule("K >= 1", "a product needs a common dimension of at least 1"),),
        workload=Case((), {"M": 1536, "N": 2048, "K": 2048}), cases=_products(),
        bound="matrix units", summary="the product of int8 matrices, scaled by row and column",
        tolerance={"float32": 2e-3},
    ),
    operator(
        f"w4a8_gemm(a: int8[M, K], b: int8[K, N // 2], {SCALES}) -> float16[M, N]", {},
        kernel=lambda s, t: example("w4a8_gemm").w4a8_gemm(T.symbolic("M"), s.N, s.K, *t),
        tiles=_wide_tiles, choices=_choices,
        reference=lambda a, b, r, c: (a.double() @ nibbles(b).double()) * r[:, None] * c,
        make={"row_scale": make_scales, "column_scale": make_scales},
        rules=(
            Rule("K >= 1", "a product needs a common dimension of at least 1"),
            Rule("N % 64 == 0", "packed rows begin at 32 bytes: pad the columns"),
        ),
        workload=Case((), {"M": 1536, "N": 2048, "K": 2048}),
        cases=(Case((), {"M": 1, "N": 64, "K": 32}), Case((), {"M": 260, "N": 384, "K": 512})),
        bound="matrix units", summary="the same with two weights of int4 in a byte, low half first",
        tolerance={"float32": 2e-3},
    ),
)  # fmt: skip
