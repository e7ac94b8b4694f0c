"""Products with weights that the vector cores take apart: numbers of four bits, however the text
finds them, and tiles that are handed over, at sizes that fill no tile."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

GROUP = 64


@T.jit(out_idx=[-1])
def bytes_of_two(M, N, K, BM=32, BN=64, BK=GROUP):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        Q: T.Tensor((N, K // 2), "int8"),
        S: T.Tensor((N, T.ceildiv(K, BK)), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), "float16")
            q = T.alloc_shared((BN, BK // 2), "int8")
            w = T.alloc_shared((BN, BK), "float16")
            s = T.alloc_shared((BN, 1), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], a)
                T.copy(Q[bx * BN, k * BK // 2], q)
                T.copy(S[bx * BN : (bx + 1) * BN, k : k + 1], s)
                for i, j in T.Parallel(BN, BK):
                    number = ((q[i, j // 2] >> ((j % 2) * 4)) & 0xF) - 8
                    w[i, j] = number.astype("float16") * s[i, 0]
                T.gemm(a, w, c, transpose_B=True)
            T.copy(c, C[by * BM, bx * BN])

    return kernel


@T.jit(out_idx=[-1])
def words_of_eight(M, N, K, BM=32, BN=64, BK=GROUP):
    @T.prim_func
    def kernel(
        A: T.Tensor((M, K), "float16"),
        Q: T.Tensor((N, K // 8), "int32"),
        L: T.Tensor((16,), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (bx, by):
            a = T.alloc_shared((BM, BK), "float16")
            q = T.alloc_shared((BN, BK // 8), "int32")
            table = T.alloc_shared((16,), "float16")
            w = T.alloc_shared((BN, BK), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            T.copy(L, table)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[by * BM, k * BK], a)
                T.copy(Q[bx * BN, k * BK // 8], q)
                for i, j in T.Parallel(BN, BK):
                    w[i, j] = table[(q[i, j // 8] >> ((j % 8) * 4)) & 15]
                T.gemm(a, w, c, transpose_B=True)
            T.copy(c, C[by * BM, bx * BN])

    return kernel


def numbers(packed: torch.Tensor, count: int) -> torch.Tensor:
    bits = packed.to(torch.int64)
    return torch.stack([bits >> 4 * n & 15 for n in range(count)], -1).flatten(-2)


def of_bytes(M: int, N: int, K: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    packed = torch.randint(-128, 128, (N, K // 2), dtype=torch.int8)
    scales = (torch.rand(N, -(-K // GROUP)) / 8).half()
    whole = scales.float().repeat_interleave(GROUP, 1)[:, :K]
    return [packed, scales], ((numbers(packed, 2) - 8).float() * whole).half()


def of_words(M: int, N: int, K: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    packed = torch.randint(-(2**31), 2**31 - 1, (N, K // 8), dtype=torch.int32)
    table = torch.randn(16).half()
    return [packed, table], table[numbers(packed, 8)]


@pytest.mark.parametrize(("M", "N", "K"), [(33, 100, 512)])
@pytest.mark.parametrize(
    ("kernel", "inputs"), [(bytes_of_two, of_bytes), (words_of_eight, of_words)]
)
def test_packed_weights(
    kernel: Callable[..., object], inputs: Callable[..., object], M: int, N: int, K: int
) -> None:
    torch.manual_seed(0)
    a = torch.randn(M, K).half() / 4
    rest, weights = inputs(M, N, K)
    with override(check="strict"):
        got = kernel(M, N, K)(a, *rest)
    want = a.float() @ weights.float().T
    torch.testing.assert_close(got.float(), want, rtol=2e-3, atol=2e-3)
