"""Other shapes of tensors, named above the launch or between two of them."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile, jit


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


def test_a_tensor_is_written_under_its_other_name() -> None:
    """Autograd is told, as by the tensor's own name."""

    @T.prim_func
    def doubled(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((8, 32), "float32")):
        with T.Kernel(1, threads=128):
            flat = T.view(Y, (256,))
            for i in T.Parallel(256):
                flat[i] = X[i // 32, i % 32] * 2

    saved = torch.ones(8, 32)
    power = torch.ones(8, 32, requires_grad=True) * saved
    compile(doubled)(torch.ones(8, 32), saved)
    assert torch.equal(saved, torch.full((8, 32), 2.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        power.sum().backward()
