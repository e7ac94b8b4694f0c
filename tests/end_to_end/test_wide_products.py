"""Products whose result does not fit l0c are made in pieces of columns; their left operand is
loaded to l0a once for all pieces where half of l0a holds it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import compile

from .automatic import AUTOMATIC

# Idle cores would get rows of the one block.
ONE_BLOCK = {**AUTOMATIC, "tl.ascend_retile": False}
TYPES = {
    "float16": ("float32", torch.float16),
    "bfloat16": ("float32", torch.bfloat16),
    "float32": ("float32", torch.float32),
    "int8": ("int32", torch.int8),
}


def wide(dtype: str, m: int, n: int, k: int, turned: bool, rounds: int) -> T.PrimFunc:
    """Every round multiplies other columns, and once more what it multiplied, for a result that
    takes the other half of l0c."""
    accum = TYPES[dtype][0]
    left, first = (k, m) if turned else (m, k), (rounds, m, n)

    @T.prim_func
    def kernel(
        A: T.Tensor(left, dtype), B: T.Tensor((rounds, k, n), dtype), C: T.Tensor(first, accum),
        D: T.Tensor((rounds, m, 128), accum),
    ) -> None:  # fmt: skip
        with T.Kernel(1, threads=1):
            a = T.alloc_shared(left, dtype)
            b = T.alloc_shared((k, n), dtype)
            c = T.alloc_fragment((m, n), accum)
            d = T.alloc_fragment((m, 128), accum)
            T.copy(A, a)
            for r in T.serial(rounds):
                T.copy(B[r, :, :], b)
                T.gemm_v0(a, b, c, transpose_A=turned, init=True)
                T.copy(c, C[r, :, :])
                T.gemm_v0(a, b[:, 128:256], d, transpose_A=turned, init=True)
                T.copy(d, D[r, :, :])

    return kernel


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("k", [32, 64, 96, 128, 160, 256])
@pytest.mark.parametrize("dtype", TYPES)
def test_pieces_and_the_other_product(dtype: str, k: int, turned: bool, rounds: int) -> None:
    m, n = 128, 256 if dtype == "float32" else 512
    number = np.random.default_rng(k)
    a = torch.from_numpy(number.integers(-4, 5, (m, k))).to(TYPES[dtype][1])
    b = torch.from_numpy(number.integers(-4, 5, (rounds, k, n))).to(TYPES[dtype][1])
    with override(check="strict"):
        kernel = compile(
            wide(dtype, m, n, k, turned, rounds), out_idx=[2, 3], pass_configs=ONE_BLOCK
        )
        first, second = kernel(a.T.contiguous() if turned else a, b)
    want = a.double() @ b.double()
    np.testing.assert_array_equal(first.double(), want)
    np.testing.assert_array_equal(second.double(), want[:, :, 128:256])


@pytest.mark.parametrize(
    ("k", "once"),
    [(64, True), (128, True), (160, False), pytest.param(256, False, id="two tiles of k")],
)
def test_the_left_operand_is_loaded_once_where_it_fits(k: int, once: bool) -> None:
    kernel = compile(wide("float16", 128, 512, k, False, 1), out_idx=[2, 3], pass_configs=ONE_BLOCK)
    source = kernel.get_kernel_source()
    before_pieces = source.index("copy_l1_l0a(") < source.index("for (int32_t piece")
    assert before_pieces == once
