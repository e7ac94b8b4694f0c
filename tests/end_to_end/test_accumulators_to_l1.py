"""Results of products that become operands of others without leaving the cube core: copies of an
accumulator to l1, which narrow and may clamp at zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile
from tile_runtime.jit_kernels.kernel_artifact import lower

from .automatic import AUTOMATIC

pytestmark = pytest.mark.usefixtures("strict")


def chain(m: int, k: int, n: int, p: int, rounds: int, dtype: str, relu: bool, turned: bool) -> Any:
    """For each of so many matrices: act(A @ B) @ C, or act(B^T @ A^T)^T @ C where `turned`."""
    shape = (n, m) if turned else (m, n)

    @T.prim_func
    def kernel(A: T.Tensor((rounds + 1, m, k), dtype), B: T.Tensor((k, n), dtype),
               C: T.Tensor((n, p), dtype), D: T.Tensor((rounds + 1, m, p), "float32")):  # fmt: skip
        with T.Kernel(1, threads=2) as cid:
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared((k, n), dtype)
            c = T.alloc_shared((n, p), dtype)
            first = T.alloc_fragment(shape, "float32")
            middle = T.alloc_shared(shape, dtype)
            second = T.alloc_fragment((m, p), "float32")
            T.copy(B, b)
            T.copy(C, c)
            for i in T.Pipelined(rounds, num_stages=2):
                T.copy(A[i, 0, 0], a)
                if turned:
                    T.gemm_v0(b, a, first, transpose_A=True, transpose_B=True, init=True)
                else:
                    T.gemm_v0(a, b, first, init=True)
                T.copy(first, middle, enable_relu=relu)
                T.gemm_v0(middle, c, second, transpose_A=turned, init=True)
                T.copy(second, D[i, 0, 0])

    return kernel


@pytest.mark.parametrize(
    ("m", "k", "n", "p", "dtype", "relu", "turned", "rounds"),
    kept(
        [
            (24, 40, 40, 20, "float16", False, False, 5),
            (48, 32, 64, 33, "float16", True, True, 5),
            (17, 16, 96, 16, "bfloat16", True, False, 2),
            (64, 128, 128, 128, "bfloat16", False, False, 2),
            (32, 64, 48, 32, "float16", True, False, 0),
            (32, 64, 48, 32, "float16", True, False, 1),
            (24, 40, 40, 20, "bfloat16", False, False, 1),
            (48, 32, 64, 33, "float16", True, True, 0),
        ],
        2,
    ),
)
def test_a_product_of_a_product(
    m: int, k: int, n: int, p: int, dtype: str, relu: bool, turned: bool, rounds: int
) -> None:
    torch.manual_seed(m + n)
    kind = getattr(torch, dtype)
    a = torch.randint(-2, 3, (rounds + 1, m, k)).to(kind)
    b, c = torch.randint(-1, 2, (k, n)).to(kind), torch.randint(-1, 2, (n, p)).to(kind)
    d = torch.full((rounds + 1, m, p), 7.0)
    kernel = compile(chain(m, k, n, p, rounds, dtype, relu, turned), pass_configs=AUTOMATIC)
    kernel(a, b, c, d)
    between = a.double() @ b.double()
    want = (torch.relu(between) if relu else between) @ c.double()
    np.testing.assert_array_equal(d[:rounds].double(), want[:rounds])
    assert (d[rounds:] == 7).all()


def test_the_path_is_one_instruction() -> None:
    source = lower(chain(32, 64, 48, 32, 2, "float16", True, False), pass_configs=AUTOMATIC)
    assert "copy_l0c_l1" in source.kernel_source
    assert "workspace" not in source.kernel_source


@pytest.mark.parametrize(
    ("dtype", "columns", "slug"),
    [("float32", 32, "dtype-mismatch"), ("float16", 24, "fractal-alignment")],
)
def test_what_the_path_cannot_do_is_told(dtype: str, columns: int, slug: str) -> None:
    def kernel() -> Any:
        @T.prim_func
        def kernel(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, columns), "float32")):
            with T.Kernel(1, threads=1) as cid:
                a = T.alloc_L1((16, 16), "float16")
                c = T.alloc_L0C((16, columns), "float32")
                l1 = T.alloc_L1((16, 64), dtype)
                T.copy(A, a)
                T.gemm_v0(a, a, c[:, 0:16], init=True)
                T.copy(c, l1[:, 0:columns])
                T.copy(c, C)

        return compile(kernel, pass_configs=AUTOMATIC)

    with pytest.raises(KernelError) as error:
        kernel()
    assert error.value.slug == slug
