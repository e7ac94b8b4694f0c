"""Levels of the machine inside a device: two blocks that share a tile, and the two vector cores."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override
from tile_runtime import SimulationError, compile

from .rank_cases import ORDERED_CONFIGS

M, N, K, ROWS, COLUMNS, DEPTH = 64, 128, 72, 32, 64, 24


def _source(func: Any) -> str:
    """The emitted text without the places of the script."""
    text = compile(func, pass_configs=ORDERED_CONFIGS).get_kernel_source()
    return re.sub(r"\s*// .*|[\w/.]+\.py\S*", "", text).replace(func.name, "kernel")


def _product(func: Any, m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """C and A @ B, of integers: both are exact. C begins at zero."""
    a, b = torch.randint(-8, 9, (m, k)).half(), torch.randint(-8, 9, (k, n)).half()
    c = torch.zeros(m, n)
    with override(check="strict"):
        compile(func, pass_configs=ORDERED_CONFIGS)(a, b, c)
    return c.numpy(), (a.float() @ b.float()).numpy()


@pytest.mark.parametrize(("block_M", "block_N"), [(1, 1), (2, 1), (2, 3)])
def test_the_cluster_product_as_its_authors_print_it(block_M: int, block_N: int) -> None:
    """S-3: tensors of which each cluster has a tile, and each block of it half the rows."""
    m, n = 64 * block_M, 48 * block_N

    @T.prim_func
    def kernel(
        A: T.Tensor((m, K), "float16"), B: T.Tensor((K, n), "float16"), C: T.Tensor((m, n))
    ) -> None:
        # fmt: off
        with T.Kernel(
            cta_cluster=(2),
            block=(block_M, block_N),
            threads=256
        ), T.Scale("cta_cluster"):
            T.gemm(A, B, C)
        # fmt: on

    found, expected = _product(kernel, m, n, K)
    np.testing.assert_array_equal(found, expected)


def test_a_tile_that_two_blocks_share_is_one_split_by_hand() -> None:
    """S-3."""
    half = COLUMNS // 2

    @T.prim_func
    def cluster(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))
    ) -> None:
        with T.Kernel(cta_cluster=2, block=(M // ROWS, N // COLUMNS), threads=256) as (bx, by):
            a = T.alloc_shared((ROWS, DEPTH), "float16")
            b = T.alloc_shared((DEPTH, COLUMNS), "float16")
            c = T.alloc_fragment((ROWS, COLUMNS), "float32")
            with T.Scale("cta_cluster", 2) as (member, members):
                for k in T.serial(K // DEPTH):
                    T.copy(A[bx * ROWS, k * DEPTH], a)
                    T.copy(B[k * DEPTH, by * COLUMNS], b)
                    T.gemm_v0(a, b, c, init=(k == 0))
                T.copy(
                    c[:, member * half : (member + 1) * half],
                    C[bx * ROWS, by * COLUMNS + member * half],
                )

    @T.prim_func
    def split(
        A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))
    ) -> None:
        with T.Kernel(2 * (M // ROWS) * (N // COLUMNS), threads=256) as block:
            bx = block // 2 % (M // ROWS)
            by = block // 2 // (M // ROWS)
            a = T.alloc_shared((ROWS, DEPTH), "float16")
            b = T.alloc_shared((DEPTH, COLUMNS), "float16")
            c = T.alloc_fragment((ROWS, COLUMNS), "float32")
            for k in T.serial(K // DEPTH):
                T.copy(A[bx * ROWS, k * DEPTH], a)
                T.copy(B[k * DEPTH, by * COLUMNS], b)
                T.gemm_v0(
                    a,
                    b[:, block % 2 * half : (block % 2 + 1) * half],
                    c[:, block % 2 * half : (block % 2 + 1) * half],
                    init=(k == 0),
                )
            T.copy(
                c[:, block % 2 * half : (block % 2 + 1) * half],
                C[bx * ROWS, by * COLUMNS + block % 2 * half],
            )

    for func in (cluster, split):
        found, expected = _product(func, M, N, K)
        np.testing.assert_array_equal(found, expected)
    assert _source(cluster) == _source(split)


def test_the_other_name_of_a_cluster() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((M, K), "float16"), B: T.Tensor((N, K), "float16"), C: T.Tensor((M, N))):
        with T.Kernel(4) as cid:
            tile = cid // 2 * 32
            with T.Scale("cluster", 2):
                T.gemm(
                    A[tile : tile + 32, :], B, C[tile : tile + 32, :],
                    transpose_B=True, clear_accum=True,
                )  # fmt: skip

    a, b = torch.randint(-8, 9, (M, K)).half(), torch.randint(-8, 9, (N, K)).half()
    c = torch.full((M, N), 7.0)
    with override(check="strict"):
        compile(kernel, pass_configs=ORDERED_CONFIGS)(a, b, c)
    assert torch.equal(c, a.float() @ b.float().T)


def _uneven(A: Any, B: Any, C: Any, c: Any) -> None:
    with T.Scale("cta_cluster"):
        T.gemm(A[0:48, :], B[:, 0:24], C[0:48, 0:24])


def _other_number(A: Any, B: Any, C: Any, c: Any) -> None:
    with T.Scale("cta_cluster", 3):
        T.gemm(A, B, C)


def _twice(A: Any, B: Any, C: Any, c: Any) -> None:
    with T.Scale("cta_cluster"), T.Scale("cluster"):
        T.gemm(A, B, C)


def _part_of_k(A: Any, B: Any, C: Any, c: Any) -> None:
    with T.Scale("cta_cluster"):
        T.gemm(A[:, 0:24], B[0:24, :], C)


@pytest.mark.parametrize(
    ("body", "slug"),
    [
        (_uneven, "scale-size"),
        (_other_number, "scale-size"),
        (_twice, "scale-nesting"),
        (_part_of_k, "scale-size"),
    ],
)
def test_what_two_blocks_can_not_share(body: Any, slug: str) -> None:
    body = T.macro(body)
    with pytest.raises(KernelError) as found:

        @T.prim_func
        def kernel(
            A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N))
        ) -> None:
            with T.Kernel(cta_cluster=2, block=(1, 1), threads=256):
                c = T.alloc_fragment((M, N), "float32")
                body(A, B, C, c)

    assert found.value.slug == slug
    assert found.value.loc is not None and found.value.hint


def test_an_odd_number_of_blocks_is_no_clusters() -> None:
    with pytest.raises(KernelError, match="5 blocks are no multiple of 2") as found:

        @T.prim_func
        def kernel(A: T.Tensor((M, K), "float16")) -> None:
            with T.Kernel(5) as cid, T.Scale("cta_cluster", 2) as m:
                pass

    assert found.value.slug == "scale-size"


def test_what_the_other_block_computes_is_not_there() -> None:
    """The accumulator of a block has its own columns only."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 16), "float16"), B: T.Tensor((16, 64), "float16"), C: T.Tensor((32, 64))
    ):
        with T.Kernel(cta_cluster=2, block=(1, 1), threads=256):
            a = T.alloc_shared((32, 16), "float16")
            b = T.alloc_shared((16, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            with T.Scale("cta_cluster"):
                T.gemm_v0(a, b, c, init=True)
                T.copy(c, C)

    with pytest.raises(SimulationError) as found:
        _product(kernel, 32, 64, 16)
    assert found.value.slug == "uninitialised-read"


def test_the_level_of_vector_cores_gives_the_same_text() -> None:
    """S-3."""

    @T.prim_func
    def scale(x: T.Tensor((2, N)), y: T.Tensor((2, N))) -> None:
        with T.Kernel(1) as cid, T.Scale("vec") as vid:
            t = T.alloc_ub((N,), "float32")
            T.copy(x[vid, :], t)
            T.copy(t, y[vid, :])

    @T.prim_func
    def named(x: T.Tensor((2, N)), y: T.Tensor((2, N))) -> None:
        with T.Kernel(1) as (cid, vid):
            t = T.alloc_ub((N,), "float32")
            T.copy(x[vid, :], t)
            T.copy(t, y[vid, :])

    assert _source(scale) == _source(named)
