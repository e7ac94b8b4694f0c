"""Operands of products of which a part is loaded over a value that vector code made. Each runs at
`strict` against torch."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import jit


@jit
def loaded_over(A, B, rows: int, loop: bool):
    """The first rows of an operand are loaded; the others are ones."""
    A: T.Tensor((32, 32), T.float16)
    B: T.Tensor((64, 32), T.float16)
    Y = T.empty((32, 32), T.float32)
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.float32)
        T.copy(A, a)
        T.fill(b, 1)
        T.clear(c)
        if loop:
            for k in T.serial(2):
                T.copy(B[k * rows : k * rows + rows, :], b[0:rows, :])
                T.gemm(a, b, c)
        else:
            T.copy(B[0:rows, :], b[0:rows, :])
            T.gemm(a, b, c)
        T.copy(c, Y)
    return Y


@pytest.mark.parametrize(("rows", "loop"), [(16, False), (16, True), (32, False)])
def test_the_rest_of_a_tile_keeps_its_value(
    rows: int, loop: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    torch.manual_seed(0)
    a, b = torch.randint(-3, 4, (32, 32)).half(), torch.randint(-3, 4, (64, 32)).half()
    expected = torch.zeros(32, 32)
    for k in range(2 if loop else 1):
        operand = torch.ones(32, 32)
        operand[:rows] = b[k * rows : k * rows + rows].float()
        expected += a.float() @ operand
    torch.testing.assert_close(loaded_over(a, b, rows, loop), expected)
