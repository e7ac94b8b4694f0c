"""A float in the text of a GPU is a float32, and so is what is computed with it and a shorter one;
an integer takes the type of the other operand."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit

LOG2E = 1.4426950408889634


@jit
def computed(X, dtype: str):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    powers = T.empty((M, N), "float32")
    tenths = T.empty((M, N), dtype)
    sums = T.empty((M, N), dtype)
    chosen = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, 8), threads=128) as b:
        x = T.alloc_fragment((8, N), dtype)
        p, c = T.alloc_fragment((8, N), "float32"), T.alloc_fragment((8, N), "float32")
        t, s = T.alloc_fragment((8, N), dtype), T.alloc_fragment((8, N), dtype)
        T.copy(X[b * 8, 0], x)
        for i, j in T.Parallel(8, N):
            p[i, j] = T.exp2(x[i, j] * LOG2E)
            t[i, j] = x[i, j] * 0.1
            s[i, j] = T.max(x[i, j], 0.0) + x[i, j] * 2
            c[i, j] = T.if_then_else(x[i, j] > 0.3, x[i, j], 0.1)
        T.copy(p, powers[b * 8, 0])
        T.copy(t, tenths[b * 8, 0])
        T.copy(s, sums[b * 8, 0])
        T.copy(c, chosen[b * 8, 0])
    return powers, tenths, sums, chosen


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_float_is_a_float32(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    narrow = getattr(torch, dtype)
    x = (torch.randn(16, 64) * 6).to(narrow)
    wide = x.float()
    powers, tenths, sums, chosen = computed(x, dtype)
    # Powers beyond what float16 holds.
    torch.testing.assert_close(powers, torch.exp2(wide * LOG2E), rtol=1e-5, atol=1e-5)
    assert torch.equal(tenths, (wide * torch.tensor(0.1)).to(narrow))
    assert torch.equal(sums, (wide.clamp(min=0) + wide * 2).to(narrow))
    expected = torch.where(wide > torch.tensor(0.3), wide, torch.tensor(0.1))
    torch.testing.assert_close(chosen, expected, rtol=1e-6, atol=1e-7)
