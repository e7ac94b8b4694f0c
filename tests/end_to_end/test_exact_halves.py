"""Operations in float32 of which a float16 is kept: one of two float16 is done in float16, and has
the same bits. All float16 there are, against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

F16, F32 = "float16", "float32"
# Ones that round, overflow, vanish, are no number, and are no normal one.
OTHERS = (1.0, -3.0, 0.1, 1e-4, 6e-8, 1e-5, 1000.0, 65504.0, float("inf"), float("nan"), 0.0, -0.0)


def kernel(op: str) -> Any:
    @T.prim_func
    def combined(
        X: T.Tensor((64, 1024), F16), W: T.Tensor((1024,), F16), Y: T.Tensor((64, 1024), F16)
    ):  # fmt: skip
        with T.Kernel(8) as bx:
            x, w = T.alloc_shared((8, 1024), F16), T.alloc_shared((1024,), F16)
            T.copy(X[bx * 8, 0], x)
            T.copy(W, w)
            for i, j in T.Parallel(8, 1024):
                if op == "+":
                    x[i, j] = T.cast(x[i, j], F32) + T.cast(w[j], F32)
                elif op == "-":
                    x[i, j] = T.cast(x[i, j], F32) - T.cast(w[j], F32)
                else:
                    x[i, j] = T.cast(x[i, j], F32) * T.cast(w[j], F32)
            T.copy(x, Y[bx * 8, 0])

    return T.compile(combined, out_idx=[2])


@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_bits_are_those_of_float32_rounded(op: str) -> None:
    halves = torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.float16).view(64, 1024)
    run = kernel(op)
    assert "Cast(" not in run.get_kernel_source()
    for other in OTHERS:
        w = torch.full((1024,), other).half()
        a, b = halves.float(), w.float()
        expected = (a + b if op == "+" else a - b if op == "-" else a * b).half()
        found = run(halves, w)
        number = ~expected.isnan()
        assert torch.equal(found.isnan(), ~number), other
        same = found.view(torch.int16) == expected.view(torch.int16)
        assert bool(same[number].all()), other


def test_two_roundings_stay() -> None:
    """A sum of a product is rounded once only in float32."""

    @T.prim_func
    def added(X: T.Tensor((8, 1024), F16), Y: T.Tensor((8, 1024), F16)):
        with T.Kernel(1):
            x = T.alloc_shared((8, 1024), F16)
            T.copy(X, x)
            for i, j in T.Parallel(8, 1024):
                x[i, j] = T.cast(x[i, j], F32) * 0.1 + 3.0 * T.cast(x[i, j], F32)
            T.copy(x, Y)

    with override(check="strict"):
        x = torch.randn(8, 1024).half()
        found = T.compile(added, out_idx=[1])(x)
    wide = x.float() * torch.tensor(0.1) + 3.0 * x.float()
    assert torch.equal(found, wide.half())
