"""Products of elements of four bits: packed in gm, l1 and the registers, exact in int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import CallError, KernelError
from tile_ir.switches import override
from tile_runtime import PassConfigKey, compile, jit

pytestmark = pytest.mark.usefixtures("strict")

ORDERED = {PassConfigKey.TL_ASCEND_AUTO_SYNC: True, PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True}
COMBINED = {
    **ORDERED,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def bytes_of(numbers: torch.Tensor) -> torch.Tensor:
    """Two to a byte, the even element in the low half."""
    pairs = numbers.reshape(-1, 2)
    return ((pairs[:, 0] & 15) | (pairs[:, 1] & 15) << 4).to(torch.uint8)


def packed(numbers: torch.Tensor) -> torch.Tensor:
    """As torch.int4, which has a byte for each element: the first half is in use."""
    raw = torch.full(numbers.shape, 0xA5, dtype=torch.uint8)
    raw.view(-1)[: numbers.numel() // 2] = bytes_of(numbers)
    return raw.view(torch.int4)


def random(*shape: int) -> torch.Tensor:
    return torch.randint(-8, 8, shape, dtype=torch.int32)


def product(
    m: int, n: int, k: int, block_m: int, block_n: int, block_k: int, turned: bool, by_hand: bool
) -> Any:
    b_shape, b_tile = ((n, k), (block_n, block_k)) if turned else ((k, n), (block_k, block_n))

    @T.prim_func
    def kernel(A: T.Tensor((m, k), "int4"), B: T.Tensor(b_shape, "int4"),
               C: T.Tensor((m, n), "int32")):  # fmt: skip
        with T.Kernel(m // block_m * (n // block_n), is_npu=True) as (cid, _):
            bx, by = cid // (n // block_n), cid % (n // block_n)
            a = T.alloc_L1((block_m, block_k), "int4")
            b = T.alloc_L1(b_tile, "int4")
            c = T.alloc_L0C((block_m, block_n), "int32")
            with T.Scope("C"):
                for t in T.serial(T.ceildiv(k, block_k)):
                    T.copy(A[bx * block_m, t * block_k], a)
                    if turned:
                        T.copy(B[by * block_n, t * block_k], b)
                    else:
                        T.copy(B[t * block_k, by * block_n], b)
                    if by_hand:
                        T.barrier_all()
                    T.gemm_v0(a, b, c, transpose_B=turned, init=t == 0)
                    if by_hand:
                        T.barrier_all()
                T.copy(c, C[bx * block_m, by * block_n])

    return kernel


SIZES = [
    (64, 64, 64, 64, 64, 64),
    (128, 256, 64, 128, 256, 64),
    (128, 256, 512, 128, 256, 128),
    (64, 96, 256, 32, 48, 128),
    (16, 16, 192, 16, 16, 192),
    (48, 80, 96, 48, 80, 96),
    (32, 32, 160, 32, 32, 64),
    (1, 20, 64, 1, 20, 64),
    (17, 34, 66, 17, 34, 66),
]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_product(sizes: Any, turned: bool, by_hand: bool) -> None:
    m, n, k, *_ = sizes
    torch.manual_seed(4)
    a, b = random(m, k), random(k, n)
    kernel = compile(product(*sizes, turned, by_hand), pass_configs={} if by_hand else ORDERED)
    got = torch.zeros(m, n, dtype=torch.int32)
    kernel(packed(a), packed(b.T.contiguous() if turned else b), got)
    np.testing.assert_array_equal(got, a @ b)


def test_numbers_made_on_the_vector_cores() -> None:
    """float16 to int4 in gm, and the product of that."""
    m, n = 64, 128

    @T.prim_func
    def narrow(A: T.Tensor((m, n), "float16"), B: T.Tensor((m, n), "int4")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            a = T.alloc_ub((8, n), "float16")
            q = T.alloc_ub((8, n), "int4")
            with T.Scope("V"):
                T.copy(A[cid * 16 + vid * 8, 0], a)
                T.tile.cast(q, a, mode="CAST_RINT", count=8 * n)
                T.copy(q, B[cid * 16 + vid * 8, 0])

    @T.prim_func
    def widen(B: T.Tensor((m, n), "int4"), A: T.Tensor((m, n), "float16")):
        with T.Kernel(m, is_npu=True, threads=1) as cid:
            q = T.alloc_ub((1, n), "int4")
            a = T.alloc_ub((1, n), "float16")
            T.copy(B[cid, :], q[0, :])
            T.tile.cast(a, q, mode="CAST_NONE", count=n)
            T.copy(a, A[cid, 0])

    numbers = random(m, n)
    made = compile(narrow, out_idx=[1], pass_configs=ORDERED)(numbers.half())
    raw = made.view(torch.uint8).view(-1)[: m * n // 2]
    np.testing.assert_array_equal(raw, bytes_of(numbers))
    back = compile(widen, out_idx=[1], pass_configs=ORDERED)(made)
    np.testing.assert_array_equal(back.int(), numbers)


def test_memories_are_found_and_registers_by_hand() -> None:
    """Developer style beside `T.mma` on registers of the user's."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 128), "int4"), B: T.Tensor((128, 64), "int4"),
               C: T.Tensor((32, 64), "int32"), D: T.Tensor((32, 64), "int32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((32, 128), "int4")
            b = T.alloc_shared((128, 64), "int4")
            c = T.alloc_fragment((32, 64), "int32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)
            a0 = T.alloc_L0A((32, 64), "int4")
            b0 = T.alloc_L0B((64, 64), "int4")
            d = T.alloc_L0C((32, 64), "int32")
            T.copy(a[:, 64:128], a0)
            T.copy(b[64:128, :], b0)
            T.mma(a0, b0, d, init=True)
            T.copy(d, D)

    a, b = random(32, 128), random(128, 64)
    run = compile(kernel, out_idx=[2, 3], pass_configs=COMBINED)
    c, d = run(packed(a), packed(b))
    np.testing.assert_array_equal(c, a @ b)
    np.testing.assert_array_equal(d, a[:, 64:] @ b[64:])


WRONG = [
    (lambda x, a, c, u: T.gemm_v0(a, a, c, transpose_A=True), "operand-dtype", "does not turn"),
    (lambda x, a, c, u: T.copy(x[0, 1], a), "odd-elements", "odd element"),
    (lambda x, a, c, u: T.copy(x[0:64, 0:33], a[:, 0:33]), "odd-elements", "33 elements"),
    (lambda x, a, c, u: T.alloc_L1((64, 63), "int4"), "odd-elements", "63 elements"),
    (lambda x, a, c, u: T.Tensor((64, 63), "int4"), "odd-elements", "63 elements"),
    (lambda x, a, c, u: T.alloc_L0C((64, 64), "int4"), "packed-memory", "share a byte"),
    (lambda x, a, c, u: T.copy(x, u, pad_value=1), "copy-option", "zeros only"),
    (lambda x, a, c, u: T.gemm_v0(a, u, c), "operand-memory", "expected l1"),
]


@pytest.mark.parametrize(("call", "slug", "text"), WRONG)
def test_what_four_bits_do_not_do(call: Any, slug: str, text: str) -> None:
    def k(X: T.Tensor((64, 64), "int4")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((64, 64), "int4")
            c = T.alloc_L0C((64, 64), "int32")
            u = T.alloc_ub((64, 64), "int4")
            call(X, a, c, u)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and text in caught.value.message


@jit
def of_bytes(A, B, block: int):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.int4)
    B: T.Tensor((N, K), T.int4)
    C = T.empty((M, N), T.int32)
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
        a = T.alloc_shared((block, 64), T.int4)
        b = T.alloc_shared((block, 64), T.int4)
        c = T.alloc_fragment((block, block), T.int32)
        T.clear(c)
        for ko in T.Pipelined(T.ceildiv(K, 64), num_stages=2):
            T.copy(A[by * block, ko * 64], a)
            T.copy(B[bx * block, ko * 64], b)
            T.gemm(a, b, c, transpose_B=True)
        T.copy(c, C[by * block, bx * block])
    return C


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8])
def test_bytes_are_passed_for_elements_of_four_bits(dtype: torch.dtype) -> None:
    """As libraries have them that know no type of four bits."""
    a, b = random(64, 192), random(96, 192)
    pair = [bytes_of(x).view(dtype).reshape(len(x), -1) for x in (a, b)]
    assert torch.equal(of_bytes(*pair, 32), a @ b.T)
    kernel = of_bytes.compile(M=64, N=96, K=192, block=32)
    for _ in range(2):
        assert torch.equal(kernel(*pair), a @ b.T)
        assert torch.equal(kernel(packed(a), packed(b)), a @ b.T)
    unpacked = "dimension 1 of argument 1 `A` is 384, expected 192"
    for lax in (False, True):
        with override(lax_calls=lax), pytest.raises(CallError, match=unpacked) as error:
            kernel(a.to(dtype), pair[1])
        assert error.value.slug == "call-shape"
        assert "two elements in each byte" in str(error.value.hint)
    with pytest.raises(CallError, match="argument 2 `B` is int32, expected int4") as error:
        kernel(pair[0], b)
    assert "<< 4).to(torch.int8)`" in str(error.value.hint)
