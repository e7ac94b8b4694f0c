"""Tensors that a script declares in two steps: a parameter T.ptr, and T.make_tensor of it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def test_fixed_sizes_and_sizes_of_the_call() -> None:
    @T.prim_func
    def k(p: T.ptr, A: T.ptr, q: T.ptr, m: T.int32, n: T.int32):
        X = T.make_tensor(p, (m, n), "float32", strides=(n, 1))
        A = T.make_tensor(A, (8, 32), T.float16)
        Y = T.make_tensor(q, (m, n))
        with T.Kernel(T.ceildiv(m, 8), T.ceildiv(n, 32), threads=128) as (bx, by):
            x = T.alloc_shared((8, 32), "float32")
            a = T.alloc_shared((8, 32), "float16")
            T.copy(X[bx * 8, by * 32], x)
            T.copy(A, a)
            for i, j in T.Parallel(8, 32):
                x[i, j] = x[i, j] + a[i, j]
            T.copy(x, Y[bx * 8, by * 32])

    x, a, y = torch.randn(20, 50), torch.randn(8, 32).half(), torch.zeros(20, 50)
    compile(k)(x, a, y, 20, 50)
    torch.testing.assert_close(y, x + a.float().repeat(3, 2)[:20, :50])


def test_what_a_pointer_is_not() -> None:
    def nowhere() -> Any:
        @T.prim_func
        def k(p: T.ptr):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((64,), "float32")
                T.clear(a)

    def twice() -> Any:
        @T.prim_func
        def k(p: T.ptr):
            A = T.make_tensor(p, (64,))
            B = T.make_tensor(p, (64,))
            with T.Kernel(1, threads=128) as bx:
                T.copy(A, B)

    def in_columns() -> Any:
        @T.prim_func
        def k(p: T.ptr):
            A = T.make_tensor(p, (8, 8), strides=(1, 8))
            with T.Kernel(1, threads=128) as bx:
                T.clear(A)

    def of_no_size() -> Any:
        n = T.symbolic("n")

        @T.prim_func
        def k(p: T.ptr):
            A = T.make_tensor(p, (n,))
            with T.Kernel(1, threads=128) as bx:
                T.clear(A)

    def a_table() -> Any:
        @T.prim_func
        def k(p: T.Tensor((4,), T.ptr)):
            with T.Kernel(1, threads=128) as bx:
                A = T.make_tensor(p[0], (64,))

    def eager() -> Any:
        @jit
        def k(p: T.ptr):
            A = T.make_tensor(p, (64,))
            with T.Kernel(1, threads=128) as bx:
                T.clear(A)

        k(torch.zeros(64))

    slugs = {
        nowhere: "pointer-shape", twice: "pointer-shape", in_columns: "tensor-stride",
        of_no_size: "unbound-symbol", a_table: "gpu-name", eager: "parameter-type",
    }  # fmt: skip
    for kernel, slug in slugs.items():
        with pytest.raises(KernelError) as caught:
            kernel()
        assert caught.value.slug == slug and caught.value.hint, kernel.__name__
