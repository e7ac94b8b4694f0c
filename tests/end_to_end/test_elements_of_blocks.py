"""Kernels whose blocks store single elements and do nothing else. Neighbours share a line of the
cache, so the vector cores copy them; on a cube core, one block would undo what another stored."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


@pytest.mark.parametrize("shape", [(1, 20, 1), (2, 9, 3)])
def test_one_element_for_each_block(shape: tuple[int, int, int]) -> None:
    b, s, n = shape

    @T.prim_func
    def k(A: T.Tensor(shape, "int32"), B: T.Tensor(shape, "int32")):
        with T.Kernel(s, b, n) as (x, y, z):
            a = A[y, x, z]
            B[y, x, z] = a * 8 <= x

    a = torch.randint(0, 4, shape, dtype=torch.int32)
    want = (a * 8 <= torch.arange(s)[:, None]).int()
    assert torch.equal(compile(k, out_idx=[1])(a), want)


def test_some_elements_for_each_block_under_a_condition() -> None:
    @T.prim_func
    def k(A: T.Tensor((30,), "float32"), B: T.Tensor((30,), "float32")):
        with T.Kernel(6, threads=128) as bx:
            for i in T.serial(5):
                if A[bx * 5 + i] > 0:
                    B[bx * 5 + i] = A[bx * 5 + i] * 2.0

    a, b = torch.randn(30), torch.ones(30)
    compile(k)(a, b)
    assert torch.equal(b, torch.where(a > 0, a * 2, 1.0))
