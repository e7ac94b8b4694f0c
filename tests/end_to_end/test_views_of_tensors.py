"""Other shapes of tensors, named above the launch or between two of them."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit


@jit(out_idx=[1, 2])
def flat(n: int, h: int, w: int):
    @T.prim_func
    def main(
        X: T.Tensor((n, h, w), "float32"),
        Y: T.Tensor((n, h, w), "float32"),
        Z: T.Tensor((n, h, w), "float32"),
    ):
        x = T.view(X, (n, h * w))
        y = T.Tensor((n, h * w), "float32", Y.data)
        with T.Kernel(n, threads=128) as b:
            t = T.alloc_fragment((h * w,), "float32")
            T.copy(x[b, 0], t)
            for i in T.Parallel(h * w):
                t[i] = t[i] * 2
            T.copy(t, y[b, 0])
        z = T.reshape(Z, (n * h * w,))
        with T.Kernel(n, threads=128) as b:
            t = T.alloc_fragment((h * w,), "float32")
            T.copy(y[b, 0], t)
            for i in T.Parallel(h * w):
                t[i] = t[i] + x[b, i]
            T.copy(t, z[b * h * w])

    return main


@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 2, 8)])
def test_views_stand_above_launches(
    shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    x = torch.randn(shape)
    y, z = flat(*shape)(x)
    assert torch.equal(y, x * 2)
    assert torch.equal(z, x * 2 + x)
