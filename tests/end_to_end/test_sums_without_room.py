"""Sums of products that l0c can not hold at once: those that no loop keeps there are added up in ub,
and nothing is loaded twice."""

from __future__ import annotations

import warnings

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit


@jit
def five_sums(A, B):
    n, K, N = T.const("n, K, N")
    A: T.Tensor((n, 64, K), "float16")
    B: T.Tensor((n, K, N), "float16")
    S = T.empty((3, n, 64, N), "float32")
    with T.Kernel(1, threads=128) as _:
        a, b = T.alloc_shared((64, K), "float16"), T.alloc_shared((K, N), "float16")
        v = T.alloc_fragment((64, N), "float32")
        w = T.alloc_fragment((64, N), "float32")
        x = T.alloc_fragment((64, N), "float32")
        y = T.alloc_fragment((64, N), "float32")
        z = T.alloc_fragment((64, N), "float32")
        for i in T.Pipelined(n, num_stages=2):
            T.copy(A[i, 0, 0], a)
            T.copy(B[i, 0, 0], b)
            T.clear(x)
            T.gemm(a, b, x)
            T.clear(y)
            T.gemm(a, b, y)
            T.clear(z)
            T.gemm(a, b, z)
            T.clear(w)
            T.gemm(a, b, w)
            T.clear(v)
            T.gemm(a, b, v)
            for r, c in T.Parallel(64, N):
                v[r, c] = v[r, c] * 2
            T.gemm(a, b, x)
            for r, c in T.Parallel(64, N):
                x[r, c] = x[r, c] + v[r, c]
            T.gemm(a, b, y)
            T.gemm(a, b, z)
            T.gemm(a, b, w)
            T.copy(x, S[0, i, 0, 0])
            T.copy(y, S[1, i, 0, 0])
            for r, c in T.Parallel(64, N):
                z[r, c] = z[r, c] + w[r, c]
            T.copy(z, S[2, i, 0, 0])
    return S


def test_the_largest_sums_wait_in_ub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    torch.manual_seed(0)
    a, b = torch.randn(2, 64, 32).half(), torch.randn(2, 32, 128).half()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = five_sums(a, b)
    assert not [w for w in caught if "[tile-in-parts]" in str(w.message)]
    once = a.double() @ b.double()
    for got, times in zip(found, (4, 2, 4), strict=True):
        torch.testing.assert_close(got.double(), once * times, rtol=1e-3, atol=1e-2)
