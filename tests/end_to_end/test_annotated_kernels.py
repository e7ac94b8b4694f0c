"""`jit` right above a kernel whose parameters are annotated, and what its launch may leave out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError

pytestmark = pytest.mark.usefixtures("strict")

M = T.symbolic("M")
X = torch.randn(41, 64)


@T.jit
def into(A: T.Tensor((41, 64), "float32"), B: T.Tensor((41, 64), "float32"), by: T.float32):
    with T.Kernel(T.ceildiv(41, 4)) as cid:
        a = T.alloc_shared((4, 64), "float32")
        T.copy(A[cid * 4, 0], a)
        for i, j in T.Parallel(4, 64):
            a[i, j] = a[i, j] * by
        T.copy(a, B[cid * 4, 0])


@T.jit(out_idx=[-1, 0])
def sum_and_product(
    B: T.Tensor((M, 64), "float32"),
    A: T.Tensor((M, 64), "float32"),
    by: T.float32,
    C: T.Tensor((M, 64), "float32"),
):
    with T.Kernel(T.ceildiv(M, 4)) as cid:
        a = T.alloc_shared((4, 64), "float32")
        b = T.alloc_shared((4, 64), "float32")
        T.copy(A[cid * 4, 0], a)
        for i, j in T.Parallel(4, 64):
            b[i, j] = a[i, j] + by
            a[i, j] = a[i, j] * by
        T.copy(b, B[cid * 4, 0])
        T.copy(a, C[cid * 4, 0])


def test_a_call_hands_over_all_parameters() -> None:
    result = torch.empty_like(X)
    into(X, result, 3.0)
    assert torch.equal(result, X * 3)


def test_out_idx_names_the_parameters_that_a_call_returns() -> None:
    product, total = sum_and_product(X, 3.0)
    assert torch.equal(total, X + 3)
    assert torch.equal(product, X * 3)
    assert sum_and_product.compile(by=3.0).prim_func.name == "sum_and_product"


def test_out_idx_beside_outputs_is_refused() -> None:
    @T.jit(out_idx=0)
    def both(A: T.Tensor((4, 64), "float32")):
        B = T.empty((4, 64), "float32")
        with T.Kernel(1):
            a = T.alloc_shared((4, 64), "float32")
            T.copy(A, a)
            T.copy(a, B)
        return B

    with pytest.raises(KernelError, match="returns its outputs, and has out_idx too"):
        both()


def test_out_idx_behind_the_last_parameter_is_refused() -> None:
    with pytest.raises(KernelError, match="out_idx names parameter 7, but `alone` has 1"):

        @T.jit(out_idx=7)
        def alone(A: T.Tensor((4, 64), "float32")):
            with T.Kernel(1):
                T.copy(A, T.alloc_shared((4, 64), "float32"))


@pytest.mark.parametrize("launch", [{}, {"threads": 1}, {"threads": 2}, {"threads": 128}])
@pytest.mark.parametrize("named", [{}, {"is_npu": True}])
def test_no_word_of_a_launch_decides_who_orders(launch: Any, named: Any) -> None:
    @T.prim_func
    def softmax(A: T.Tensor((41, 64), "float32"), B: T.Tensor((41, 64), "float32")):
        with T.Kernel(T.ceildiv(41, 4), **launch, **named) as cid:
            a = T.alloc_shared((4, 64), "float32")
            s = T.alloc_shared((4,), "float32")
            T.copy(A[cid * 4, 0], a)
            T.reduce_max(a, s, dim=-1)
            for i, j in T.Parallel(4, 64):
                a[i, j] = T.exp(a[i, j] - s[i])
            T.copy(a, B[cid * 4, 0])

    found = T.compile(softmax, out_idx=[1])(X)
    torch.testing.assert_close(found, torch.exp(X - X.amax(-1, keepdim=True)))
