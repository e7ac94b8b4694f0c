"""`T.mma` on parts of its registers that are known only when the kernel runs, with loads as large."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile
from tile_runtime.jit_kernels.kernel_artifact import lower

from .automatic import AUTOMATIC, ORDERED

pytestmark = pytest.mark.usefixtures("strict")


def part(dtype: str, turned: bool, open_memory: bool = False) -> Any:
    """The first n columns of a product over the first k, both of the call. The compiler finds the
    memories if they are left open."""
    left, right, sums = (
        (T.alloc_fragment,) * 3 if open_memory else (T.alloc_L0A, T.alloc_L0B, T.alloc_L0C)
    )
    b_shape = (64, 128) if turned else (128, 64)
    result = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def kernel(A: T.Tensor((32, 128), dtype), B: T.Tensor(b_shape, dtype),
               C: T.Tensor((32, 64), result), n: T.int32, k: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 128), dtype)
            b = T.alloc_L1(b_shape, dtype)
            a0 = left((32, 128), dtype)
            b0 = right((128, 64), dtype)
            c = sums((32, 64), result)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, a0, real_k=k)
            T.copy(b, b0, transpose=turned, real_k=k, real_n=n)
            T.mma(a0, b0, c, init=True, n_actual=n, k_actual=k)
            T.copy(c[:, :n], C[:, :n])

    return kernel


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float32"])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("open_memory", [True, False])
def test_columns_and_terms_known_at_run_time(dtype: str, turned: bool, open_memory: bool) -> None:
    kernel = compile(part(dtype, turned, open_memory), pass_configs=AUTOMATIC)
    torch.manual_seed(1)
    a = torch.randint(-4, 5, (32, 128)).to(getattr(torch, dtype))
    b = torch.randint(-4, 5, (128, 64)).to(getattr(torch, dtype))
    for n, k in [(64, 128), (32, 96), (16, 16), (48, 33), (16, 1), (0, 32), (0, 0)]:
        want = torch.zeros(32, 64, dtype=torch.float64)
        want[:, :n] = a[:, :k].double() @ b[:k, :n].double()
        got = torch.zeros(32, 64, dtype=torch.int32 if dtype == "int8" else torch.float32)
        kernel(a, b.T.contiguous() if turned else b, got, n, k)
        np.testing.assert_array_equal(got.double(), want, err_msg=f"n={n} k={k}")


def ragged(by_hand: bool) -> Any:
    """A sum over k in tiles of 64, the last of which is shorter, in a loop."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 256), "float16"), B: T.Tensor((256, 48), "float16"),
               C: T.Tensor((32, 48), "float32"), k: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 64), "float16")
            b = T.alloc_L1((64, 48), "float16")
            a0 = T.alloc_L0A((32, 64), "float16")
            b0 = T.alloc_L0B((64, 48), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            with T.Scope("C"):
                for t in T.serial(T.ceildiv(k, 64)):
                    size = T.min(64, k - t * 64)
                    if by_hand:
                        T.barrier_all()
                    T.copy(A[0, t * 64], a)
                    T.copy(B[t * 64, 0], b)
                    if by_hand:
                        T.set_flag("mte2", "mte1", 0)
                        T.wait_flag("mte2", "mte1", 0)
                    T.copy(a, a0, real_k=size)
                    T.copy(b, b0, real_k=size)
                    if by_hand:
                        T.set_flag("mte1", "m", 0)
                        T.wait_flag("mte1", "m", 0)
                    T.mma(a0, b0, c, init=t == 0, k_actual=size)
                if by_hand:
                    T.set_flag("m", "fix", 0)
                    T.wait_flag("m", "fix", 0)
                T.copy(c, C)

    return kernel


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_last_tile_that_is_shorter(by_hand: bool) -> None:
    kernel = compile(ragged(by_hand), pass_configs={} if by_hand else ORDERED)
    torch.manual_seed(2)
    a = torch.randint(-4, 5, (32, 256)).half()
    b = torch.randint(-4, 5, (256, 48)).half()
    for k in (1, 63, 64, 65, 250, 256):
        got = torch.empty(32, 48)
        kernel(a, b, got, k)
        np.testing.assert_array_equal(got.double(), a[:, :k].double() @ b[:k].double())


def test_a_variable_says_how_much() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((16, 64), "float16"), B: T.Tensor((64, 64), "float16"),
               C: T.Tensor((16, 64), "float32"), k: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            size = T.alloc_var("int32", init=16)
            a = T.alloc_L1((16, 64), "float16")
            b = T.alloc_L1((64, 64), "float16")
            a0 = T.alloc_L0A((2, 16, 64), "float16")
            b0 = T.alloc_L0B((2, 64, 64), "float16")
            c = T.alloc_L0C((16, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            for i in T.serial(3):
                T.copy(a, a0[i % 2, :, :], real_k=size)
                T.copy(b, b0[i % 2, :, :], real_k=size)
                T.mma(a0[i % 2, :, :], b0[i % 2, :, :], c, init=i == 0, k_actual=size)
                size = size + k
            T.copy(c, C)

    a = torch.randint(-4, 5, (16, 64)).half()
    b = torch.randint(-4, 5, (64, 64)).half()
    sums = [a[:, :k].double() @ b[:k].double() for k in (16, 33, 50)]
    got = compile(kernel, out_idx=[2], pass_configs=AUTOMATIC)(a, b, 17)
    np.testing.assert_array_equal(got.double(), sum(sums))


@pytest.mark.parametrize("left_out", ["a", "b", "other"])
def test_loads_are_as_large_as_the_product(left_out: str) -> None:
    def kernel(A: T.Tensor((16, 64), "float16"), k: T.int32):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 64), "float16")
            a0 = T.alloc_L0A((16, 64), "float16")
            b0 = T.alloc_L0B((64, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            T.copy(a, a0, real_k=None if left_out == "a" else k + (left_out == "other"))
            T.copy(a, b0, transpose=True, real_k=None if left_out == "b" else k)
            T.mma(a0, b0, c, init=True, k_actual=k)

    with pytest.raises(KernelError) as caught:
        lower(T.prim_func(kernel), pass_configs=AUTOMATIC)
    assert caught.value.slug == "sliced-register"
    assert "real_k" in (caught.value.hint or "")


def test_a_product_of_nothing_changes_nothing() -> None:
    """As the vendor's page on Mmad has it: where a size is zero, the unit does nothing."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float16"), C: T.Tensor((16, 16), "float32"), k: T.int32):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 32), "float16")
            a0 = T.alloc_L0A((16, 32), "float16")
            b0 = T.alloc_L0B((32, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            T.gemm_v0(a, a, c, transpose_B=True, init=True)
            T.copy(a, a0, real_k=k)
            T.copy(a, b0, transpose=True, real_k=k)
            T.mma(a0, b0, c, init=True, k_actual=k)
            T.copy(c, C)

    a = torch.randint(-4, 5, (16, 32)).half()
    got = compile(kernel, out_idx=[1], pass_configs=AUTOMATIC)(a, 0)
    np.testing.assert_array_equal(got.double(), a.double() @ a.double().T)


def test_too_much_of_an_open_register() -> None:
    @T.macro
    def product(a: Any, b: Any, size: Any) -> None:
        a0 = T.alloc_fragment((32, 32), "float16")
        b0 = T.alloc_fragment((32, 32), "float16")
        c = T.alloc_fragment((32, 32), "float32")
        T.copy(a, a0, real_k=size)
        T.copy(b, b0, real_k=size)
        T.mma(a0, b0, c, init=True, k_actual=16)

    def build(size: int) -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((32, 32), "float16")):
            with T.Kernel(1, threads=1) as cid:
                a = T.alloc_L1((32, 32), "float16")
                T.copy(A, a)
                product(a, a, size)

        return kernel

    assert build(16)
    for size in (0, 33):
        with pytest.raises(KernelError, match=f"real_k is {size}, but `a0` has 32"):
            build(size)
