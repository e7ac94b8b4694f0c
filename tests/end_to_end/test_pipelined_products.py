"""Pipelined products against serial ones, bit for bit, and against torch: whichever operand is
transposed, whatever the sizes leave over."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import compile

# M, N, K, and the tile: rounds become one, or not; some are left over; edges are cut.
SIZES = (
    (128, 256, 2048, 128, 256, 64),
    (100, 130, 1000, 64, 96, 32),
    (64, 64, 1037, 64, 64, 64),
    (48, 80, 96, 32, 32, 32),
    (128, 128, 1536, 128, 128, 768),
)


@T.jit(out_idx=[-1], pass_configs={T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
def multiply(
    sizes: tuple[int, ...], turned: tuple[bool, bool], dtype: str, pipelined: bool
) -> T.PrimFunc:
    M, N, K, block_M, block_N, block_K = sizes
    turn_a, turn_b = turned
    accum = "int32" if dtype == "int8" else "float32"
    m_tiles, n_tiles = T.cdiv(M, block_M), T.cdiv(N, block_N)
    rounds = T.cdiv(K, block_K)
    shape_a, tile_a = ((K, M), (block_K, block_M)) if turn_a else ((M, K), (block_M, block_K))
    shape_b, tile_b = ((N, K), (block_N, block_K)) if turn_b else ((K, N), (block_K, block_N))

    def start(k: Any, other: Any, turn: bool) -> tuple[Any, Any]:
        return (k, other) if turn else (other, k)

    @T.prim_func
    def kernel(
        A: T.Tensor(shape_a, dtype), B: T.Tensor(shape_b, dtype), C: T.Tensor((M, N), accum)
    ) -> None:
        with T.Kernel(m_tiles * n_tiles, threads=2, is_npu=True) as cid:
            row = cid // n_tiles * block_M
            column = cid % n_tiles * block_N
            a, b = T.alloc_shared(tile_a, dtype), T.alloc_shared(tile_b, dtype)
            c = T.alloc_fragment((block_M, block_N), accum)
            for k in T.Pipelined(rounds, num_stages=2) if pipelined else T.serial(rounds):
                T.copy(A[start(k * block_K, row, turn_a)], a)
                T.copy(B[start(k * block_K, column, not turn_b)], b)
                T.gemm_v0(a, b, c, transpose_A=turn_a, transpose_B=turn_b, init=(k == 0))
            T.copy(c, C[row, column])

    return kernel


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
@pytest.mark.parametrize("turned", list(product((False, True), repeat=2)))
@pytest.mark.parametrize("sizes", SIZES)
def test_pipelined_equals_serial(
    sizes: tuple[int, ...], turned: tuple[bool, bool], dtype: str
) -> None:
    torch.manual_seed(0)
    M, N, K = sizes[:3]
    a, b = _matrix((M, K), dtype), _matrix((K, N), dtype)
    given = (a.T.contiguous() if turned[0] else a, b.T.contiguous() if turned[1] else b)
    with override(check="strict"):
        pipelined = multiply(sizes, turned, dtype, True)(*given)
        serial = multiply(sizes, turned, dtype, False)(*given)
    assert torch.equal(pipelined, serial)
    torch.testing.assert_close(pipelined.double(), a.double() @ b.double(), atol=1e-2, rtol=0)


def _matrix(shape: tuple[int, int], dtype: str) -> torch.Tensor:
    if dtype == "int8":
        return torch.randint(-9, 9, shape, dtype=torch.int8)
    return torch.randn(shape).to(getattr(torch, dtype))


def test_a_core_that_only_counts_the_rounds_is_compiled() -> None:
    """No version of anything makes a loop without instructions faster."""

    @T.prim_func
    def main(A: T.Tensor((16, 16), "float32"), S: T.Tensor((16, 16), "float32"),
             C: T.Tensor((16,), "int32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 16), "float32")
            s = T.alloc_fragment((16, 16), "float32")
            seen = T.alloc_var("int32", init=0)
            T.copy(A, a)
            T.clear(s)
            for _n in T.Pipelined(4, num_stages=0):
                seen = seen + 1
                T.gemm(a, a, s)
            for i in T.Parallel(16):
                C[i] = T.if_then_else(seen > i, 1, 0)
            T.copy(s, S)

    a = torch.randint(-3, 4, (16, 16)).float()
    s, c = torch.zeros(16, 16), torch.zeros(16, dtype=torch.int32)
    with override(check="strict"):
        compile(main)(a, s, c)
    assert torch.equal(s, 4 * a @ a)
    assert torch.equal(c, (torch.arange(16) < 4).int())
