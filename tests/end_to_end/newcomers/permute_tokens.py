"""Tokens in the order of their experts, each times the weight of its expert."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"tokens": 21, "D": 96}, {"tokens": 8, "D": 50})
LARGE = {"tokens": 12800, "D": 4096}
TOLERANCE = 1e-3


@T.jit(out_idx=[-1])
def kernel(tokens, D, rows=8):
    wide = T.cdiv(D, 16) * 16

    @T.prim_func
    def permute_tokens(
        X: T.Tensor((tokens, D), "float16"),
        order: T.Tensor((tokens,), "int32"),
        weight: T.Tensor((tokens,), "float32"),
        Y: T.Tensor((tokens, D), "float16"),
    ):
        with T.Kernel(T.cdiv(tokens, rows), threads=2, is_npu=True) as cid:
            source = T.alloc_shared((rows,), "int32")
            x = T.alloc_shared((rows, wide), "float16")
            w = T.alloc_shared((rows,), "float32")
            T.copy(order[cid * rows], source)
            T.copy(weight[cid * rows], w)
            for i in T.serial(rows):
                T.copy(X[source[i], 0], x[i, :])
            for i, j in T.Parallel(rows, wide):
                x[i, j] = x[i, j] * w[i]
            T.copy(x, Y[cid * rows, 0])

    return permute_tokens


def inputs(tokens, D):
    order = torch.randperm(tokens).int()
    return [torch.randn(tokens, D).half(), order, torch.rand(tokens)]


def expected(x, order, weight):
    return [(x[order.long()].float() * weight[:, None]).half()]
