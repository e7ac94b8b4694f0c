"""Layer norm over groups: each head of a token has a mean and a variance of its own."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"tokens": 11, "G": 5, "D": 64}, {"tokens": 3, "G": 7, "D": 40})
LARGE = {"tokens": 12288, "G": 32, "D": 128}
TOLERANCE = 1e-2


@T.jit(out_idx=[-1])
def kernel(tokens, G, D, per_block=8, eps=1e-5):
    wide = T.cdiv(D, 64) * 64

    @T.prim_func
    def head_norm(
        X: T.Tensor((tokens, G, D), "float16"),
        weight: T.Tensor((G, D), "float16"),
        bias: T.Tensor((G, D), "float16"),
        Y: T.Tensor((tokens, G, D), "float16"),
    ):
        with T.Kernel(T.cdiv(tokens, per_block), threads=2, is_npu=True) as cid:
            raw = T.alloc_shared((G, wide), "float16")
            x = T.alloc_shared((G, wide), "float32")
            square = T.alloc_shared((G, wide), "float32")
            w = T.alloc_shared((G, wide), "float16")
            b = T.alloc_shared((G, wide), "float16")
            mean = T.alloc_shared((G,), "float32")
            spread = T.alloc_shared((G,), "float32")
            T.copy(weight[0, 0], w)
            T.copy(bias[0, 0], b)
            for t in T.serial(per_block):
                token = cid * per_block + t
                if token < tokens:
                    T.copy(X[token, 0, 0], raw)
                    T.copy(raw, x)
                    T.reduce_sum(x, mean, dim=-1)
                    for i in T.Parallel(G):
                        mean[i] = mean[i] / D
                    for i, j in T.Parallel(G, wide):
                        x[i, j] = T.if_then_else(j < D, x[i, j] - mean[i], 0.0)
                        square[i, j] = x[i, j] * x[i, j]
                    T.reduce_sum(square, spread, dim=-1)
                    for i in T.Parallel(G):
                        spread[i] = 1.0 / T.sqrt(spread[i] / D + eps)
                    for i, j in T.Parallel(G, wide):
                        x[i, j] = x[i, j] * spread[i] * w[i, j] + b[i, j]
                    T.copy(x, raw)
                    T.copy(raw, Y[token, 0, 0])

    return head_norm


def inputs(tokens, G, D):
    return [torch.randn(tokens, G, D).half(), torch.randn(G, D).half(), torch.randn(G, D).half()]


def expected(x, weight, bias):
    y = torch.nn.functional.layer_norm(x.float(), x.shape[-1:])
    return [(y * weight.float() + bias.float()).half()]
