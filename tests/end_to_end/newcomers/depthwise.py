"""Causal depthwise convolution of four taps along the sequence, with silu."""

from __future__ import annotations

import torch

import tile_frontend as T

SMALL = ({"batch": 2, "C": 9, "L": 128}, {"batch": 1, "C": 5, "L": 70})
LARGE = {"batch": 2, "C": 3200, "L": 8192}
TOLERANCE = 5e-3


@T.jit(out_idx=[-1])
def kernel(batch, C, L, rows=8, block=512):
    chunks, stripes = T.cdiv(L, block), T.cdiv(C, rows)

    @T.prim_func
    def depthwise(
        X: T.Tensor((batch, C, L + 3), "float16"),  # three zeros in front
        weight: T.Tensor((C, 4), "float32"),
        Y: T.Tensor((batch, C, L), "float16"),
    ):
        with T.Kernel(batch * stripes * chunks, threads=2, is_npu=True) as cid:
            b = cid // (stripes * chunks)
            channel = cid // chunks % stripes * rows
            first = cid % chunks * block
            x = T.alloc_shared((rows, block + 16), "float16")
            w = T.alloc_shared((rows, 8), "float32")
            y = T.alloc_shared((rows, block), "float32")
            out = T.alloc_shared((rows, block), "float16")
            T.copy(X[b, channel, first], x)
            T.copy(weight[channel, 0], w)
            for i, j in T.Parallel(rows, block):
                y[i, j] = (
                    x[i, j] * w[i, 0]
                    + x[i, j + 1] * w[i, 1]
                    + x[i, j + 2] * w[i, 2]
                    + x[i, j + 3] * w[i, 3]
                )
            for i, j in T.Parallel(rows, block):
                y[i, j] = y[i, j] * T.sigmoid(y[i, j])
            T.copy(y, out)
            T.copy(out, Y[b, channel, first])

    return depthwise


def inputs(batch, C, L):
    x = torch.nn.functional.pad(torch.randn(batch, C, L), (3, 0)).half()
    return [x, torch.randn(C, 4) / 2]


def expected(x, weight):
    y = torch.nn.functional.conv1d(x.float(), weight[:, None], groups=len(weight))
    return [torch.nn.functional.silu(y).half()]
