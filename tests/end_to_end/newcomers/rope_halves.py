"""Rotary embedding of every head, the second half of a head against the first."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"tokens": 7, "heads": 5, "D": 64}, {"tokens": 3, "heads": 2, "D": 32})
LARGE = {"tokens": 12288, "heads": 32, "D": 128}
TOLERANCE = 4e-3


@T.jit(out_idx=[-1])
def kernel(tokens, heads, D):
    half = D // 2

    @T.prim_func
    def rope_halves(
        X: T.Tensor((tokens, heads, D), "float16"),
        cos: T.Tensor((tokens, half), "float16"),
        sin: T.Tensor((tokens, half), "float16"),
        Y: T.Tensor((tokens, heads, D), "float16"),
    ):
        with T.Kernel(tokens, threads=2, is_npu=True) as cid:
            x = T.alloc_shared((heads, D), "float16")
            y = T.alloc_shared((heads, D), "float16")
            c = T.alloc_shared((1, half), "float16")
            s = T.alloc_shared((1, half), "float16")
            T.copy(X[cid, 0, 0], x)
            T.copy(cos[cid, 0], c)
            T.copy(sin[cid, 0], s)
            for h, j in T.Parallel(heads, half):
                y[h, j] = x[h, j] * c[0, j] - x[h, j + half] * s[0, j]
                y[h, j + half] = x[h, j + half] * c[0, j] + x[h, j] * s[0, j]
            T.copy(y, Y[cid, 0, 0])

    return rope_halves


def inputs(tokens, heads, D):
    angle = torch.arange(tokens)[:, None] / 10000 ** (torch.arange(D // 2) / (D // 2))
    return [torch.randn(tokens, heads, D).half(), angle.cos().half(), angle.sin().half()]


def expected(x, cos, sin):
    left, right = x.float().chunk(2, -1)
    c, s = cos.float()[:, None], sin.float()[:, None]
    return [torch.cat([left * c - right * s, right * c + left * s], -1).half()]
