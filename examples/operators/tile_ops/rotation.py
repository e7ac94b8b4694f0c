"""Rotary position embedding: every head of a token turns by the token's angles, in float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import tile_frontend as T

from .manifest import FLOATS, Case, Rule, Tiles, operator
from .signature import Sizes
from .tiles import CORES

AUTOMATIC = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(out_idx=[-1], pass_configs=AUTOMATIC)
def rope(heads: int, D: int, dtype: str, stages: int) -> T.PrimFunc:
    tokens, half, accum = T.symbolic("tokens"), D // 2, "float32"

    @T.prim_func
    def kernel(
        X: T.Tensor((tokens, heads, D), dtype),
        cos: T.Tensor((tokens, half), accum),
        sin: T.Tensor((tokens, half), accum),
        Y: T.Tensor((tokens, heads, D), dtype),
    ) -> None:
        with T.Kernel(CORES, threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((heads, D), dtype)  # long rows take less time to load
            left = T.alloc_shared((heads, half), accum)
            right = T.alloc_shared((heads, half), accum)
            turned = T.alloc_shared((heads, half), accum)
            c = T.alloc_shared((half,), accum)
            s = T.alloc_shared((half,), accum)
            for i in T.Pipelined(T.ceildiv(tokens - cid, CORES), num_stages=stages):
                t = cid + i * CORES
                T.copy(X[t, :, :], raw)
                T.copy(cos[t, 0:half], c)
                T.copy(sin[t, 0:half], s)
                T.copy(raw[:, 0:half], left)
                T.copy(raw[:, half:D], right)
                for h, j in T.Parallel(heads, half):
                    turned[h, j] = left[h, j] * c[j] - right[h, j] * s[j]
                for h, j in T.Parallel(heads, half):
                    right[h, j] = right[h, j] * c[j] + left[h, j] * s[j]
                T.copy(turned, raw[:, 0:half])
                T.copy(right, raw[:, half:D])
                T.copy(raw, Y[t, :, :])

    return kernel


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    left, right = x.chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat([left * c - right * s, right * c + left * s], -1)


def make_angles(function: Any) -> Any:
    """Cosines or sines of the usual angles."""

    def make(sizes: Sizes, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        tokens, half = shape
        angles = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(half) / half)
        found: torch.Tensor = function(angles).to(dtype)
        return found

    return make


def _stages(sizes: Sizes) -> Tiles:
    """Loads run ahead by two tokens where three fit."""
    width = 4 if sizes.dtype() == "float32" else 2
    bytes_of_lane = -(-sizes.H // 2) * sizes.D // 2
    return (3 if bytes_of_lane * (6 * width + 12) <= 150 * 1024 else 2,)


OPERATORS = (
    operator(
        "rope(x: T[S, H, D], cos: float32[S, D // 2], sin: float32[S, D // 2]) -> T[S, H, D]",
        {"T": FLOATS}, kernel=lambda s, t: rope(s.H, s.D, s.dtype(), *t), tiles=_stages,
        choices=lambda s: [(1,), (2,), (3,)], reference=turned,
        make={"cos": make_angles(torch.cos), "sin": make_angles(torch.sin)},
        rules=(
            Rule("D % 32 == 0", "halves of a head begin at 32 bytes: pad the head"),
            Rule("D >= 32", "a head must have elements"),
            Rule("H * D <= 16384", "the heads of a token lie in a tile: split them"),
        ),
        workload=Case((), {"S": 4096, "H": 32, "D": 128, "T": "float16"}),
        cases=(
            Case((), {"S": 1, "H": 1, "D": 32}), Case((), {"S": 53, "H": 5, "D": 64}),
            Case((), {"S": 100, "H": 8, "D": 128}),
        ),
        summary="each head turned by the angles of its token, halves of it together",
        backward=lambda grads, inputs, results: [
            torch.ops.tile_ops.rope(grads[0], inputs[1], -inputs[2]), None, None
        ],
    ),
)  # fmt: skip
