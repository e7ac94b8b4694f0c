"""Small kernels as people write them, with odd widths and both lanes, against torch at `strict`."""

from __future__ import annotations

import math
import warnings

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import compile

M, N = 6, 37


@T.prim_func
def causal_softmax(X: T.Tensor((M, N), "float32"), Z: T.Tensor((M, N), "float32")):
    with T.Kernel(1, threads=2) as cid:
        x = T.alloc_shared((M, N), "float32")
        m = T.alloc_shared((M,), "float32")
        s = T.alloc_shared((M,), "float32")
        T.copy(X, x)
        for i, j in T.Parallel(M, N):
            if j > i + 3:
                x[i, j] = -T.infinity("float32")
        T.reduce_max(x, m, dim=1)
        for i, j in T.Parallel(M, N):
            x[i, j] = T.exp(x[i, j] - m[i])
        T.reduce_sum(x, s, dim=1)
        for i, j in T.Parallel(M, N):
            x[i, j] /= s[i]
        T.copy(x, Z)


@T.prim_func
def quantise_rows(X: T.Tensor((M, N), "float32"), Z: T.Tensor((M, N), "int8")):
    with T.Kernel(1, threads=2) as cid:
        x = T.alloc_shared((M, N), "float32")
        a = T.alloc_shared((M, N), "float32")
        s = T.alloc_shared((M,), "float32")
        q = T.alloc_shared((M, N), "int8")
        T.copy(X, x)
        for i, j in T.Parallel(M, N):
            a[i, j] = T.abs(x[i, j])
        T.reduce_max(a, s, dim=1)
        for i in T.Parallel(M):
            s[i] = s[i] / 127.0
        for i, j in T.Parallel(M, N):
            q[i, j] = T.cast(T.round(T.min(T.max(x[i, j] / s[i], -127.0), 127.0)), "int8")
        T.copy(q, Z)


@T.prim_func
def argmax(X: T.Tensor((M, N), "float32"), Z: T.Tensor((M,), "int32")):
    with T.Kernel(1, threads=2) as cid:
        x = T.alloc_shared((M, N), "float32")
        m = T.alloc_shared((M,), "float32")
        t = T.alloc_shared((M, N), "int32")
        r = T.alloc_shared((M,), "int32")
        T.copy(X, x)
        T.reduce_max(x, m, dim=1)
        for i, j in T.Parallel(M, N):
            t[i, j] = T.if_then_else(x[i, j] == m[i], j, N)
        T.reduce_min(t, r, dim=1)
        T.copy(r, Z)


def masked(x: torch.Tensor) -> torch.Tensor:
    later = torch.arange(N)[None] > torch.arange(M)[:, None] + 3
    return torch.softmax(x.masked_fill(later, -math.inf), 1)


def quantised(x: torch.Tensor) -> torch.Tensor:
    return torch.round(x / (x.abs().amax(1, keepdim=True) / 127))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [(causal_softmax, masked), (quantise_rows, quantised), (argmax, lambda x: x.argmax(1))],
    ids=["causal softmax", "quantise rows", "argmax"],
)
def test_as_people_write_them(kernel, reference) -> None:
    x = torch.randn(M, N, generator=torch.Generator().manual_seed(3))
    with warnings.catch_warnings(), override(check="strict"):
        warnings.simplefilter("error")
        got = compile(kernel, out_idx=[-1])(x)
    assert torch.allclose(got.float(), reference(x).float(), rtol=1e-5, atol=1e-6)
