"""Grids of kernels for GPUs: of no to three dimensions, of sizes of the call, with more blocks than
there are cores; and how many threads a block says it has."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


def linear(indices: Any, grid: Any) -> Any:
    """The number of a block, the first index the fastest."""
    number: Any = 0
    for index, extent in zip(reversed(indices), reversed(grid), strict=True):
        number = number * extent + index
    return number


GRIDS = [(1,), (7,), (40,), (1, 1), (3, 4), (1, 9), (9, 1), (5, 13), (3, 4, 2), (1, 5, 1), (2, 1, 3),
         (1, 1, 6), (6, 1, 1), (4, 5, 6)]  # fmt: skip


def one(grid: Any, sizes: Any, count: Any) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor(sizes, "int32"), Ids: T.Tensor((count, 8), "int32")):
        with T.Kernel(grid[0], threads=128) as bx:
            Ids[bx, 0] = bx
            Ids[bx, 1] = bx

    return kernel


def two(grid: Any, sizes: Any, count: Any) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor(sizes, "int32"), Ids: T.Tensor((count, 8), "int32")):
        with T.Kernel(grid[0], grid[1], threads=128) as (bx, by):
            at = linear([bx, by], grid)
            Ids[at, 0] = at
            Ids[at, 1] = bx
            Ids[at, 2] = by

    return kernel


def three(grid: Any, sizes: Any, count: Any) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor(sizes, "int32"), Ids: T.Tensor((count, 8), "int32")):
        with T.Kernel(*grid, threads=128) as (bx, by, bz):
            at = linear([bx, by, bz], grid)
            Ids[at, 0] = at
            Ids[at, 1] = bx
            Ids[at, 2] = by
            Ids[at, 3] = bz

    return kernel


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_numbers_of_blocks(grid: tuple[int, ...], symbolic: bool) -> None:
    """Each block writes its number and its indices."""
    rank = len(grid)
    make = (one, two, three)[rank - 1]
    if symbolic:
        n, m = T.dynamic("n, m")
        sizes, extents = (grid[0], grid[-1]), (n, m, 2 * n)[:rank]
        grid = (sizes[0], sizes[1], 2 * sizes[0])[:rank]
        total = T.dynamic("total")
        kernel = compile(make(extents, (n, m), total))
    else:
        sizes = grid
        kernel = compile(make(grid, sizes, math.prod(grid)))
    count = math.prod(grid)
    ids = torch.full((count, 8), -1, dtype=torch.int32)
    kernel(torch.zeros(sizes, dtype=torch.int32), ids)
    expected = torch.full((count, 8), -1, dtype=torch.int32)
    rest = torch.arange(count, dtype=torch.int32)
    expected[:, 0] = rest
    for d, extent in enumerate(grid):
        expected[:, 1 + d] = rest % extent
        rest = rest // extent
    assert torch.equal(ids, expected)


def test_no_extent_is_one_block() -> None:
    @jit
    def k(A):
        A: T.Tensor((16,), T.float32)
        with T.Kernel(threads=128):
            for i in T.Parallel(16):
                A[i] = A[i] + 1

    a = torch.zeros(16)
    k(a)
    assert torch.equal(a, torch.ones(16))


def test_targets_without_a_use() -> None:
    @jit
    def k(A):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), T.float32)
        with T.Kernel(M, 2, 1, threads=128) as (bx, by, _):
            for j in T.Parallel(N // 2):
                A[bx, by * (N // 2) + j] = bx + by
        with T.Kernel(1, M, threads=128) as (_, by):
            for j in T.Parallel(N):
                A[by, j] = A[by, j] * 2
        with T.Kernel(1, threads=128) as _:
            for j in T.Parallel(N):
                A[0, j] = A[0, j] + 1
        with T.Kernel(M, threads=128) as (bx,):
            for j in T.Parallel(N):
                A[bx, j] = A[bx, j] - bx

    a = torch.zeros(5, 32)
    k(a)
    rows = torch.arange(5.0)[:, None]
    expected = (rows + (torch.arange(32) >= 16)) * 2
    expected[0] += 1
    assert torch.equal(a, expected - rows)


@pytest.mark.parametrize("threads", [0, -1, (128, 0), [-2], (1, 1, 1, 1), "128", 1.5])
def test_threads_that_are_no_number(threads: Any) -> None:
    with pytest.raises(KernelError) as raised:

        @T.prim_func
        def k(A: T.Tensor((16,), "float32")):
            with T.Kernel(1, threads=threads) as bx:
                A[0] = 0.0

    assert raised.value.slug == "launch-threads"


@pytest.mark.parametrize("blocks", [1, 25, 60, 121])
def test_more_blocks_than_cores(blocks: int) -> None:
    """A grid, and a loop over its blocks by as many as there are cores, with vector code, a product
    and a variable of the block."""

    @T.macro
    def body(A, B, C, at):
        a = T.alloc_shared((16, 16), "float16")
        c = T.alloc_fragment((16, 16), "float32")
        T.copy(A[at * 16, 0], a)
        T.gemm(a, a, c, clear_accum=True)
        for i, j in T.Parallel(16, 16):
            c[i, j] = c[i, j] + B[at]
        T.copy(c, C[at * 16, 0])

    def kernel(persistent: bool) -> Any:
        @T.prim_func
        def grid(A: T.Tensor((blocks * 16, 16), "float16"), B: T.Tensor((blocks,), "float32"),
                 C: T.Tensor((blocks * 16, 16), "float32")):  # fmt: skip
            with T.Kernel(blocks, threads=128) as bx:
                body(A, B, C, bx)

        @T.prim_func
        def loop(A: T.Tensor((blocks * 16, 16), "float16"), B: T.Tensor((blocks,), "float32"),
                 C: T.Tensor((blocks * 16, 16), "float32")):  # fmt: skip
            with T.Kernel(24, threads=128) as core:
                for w in T.serial(T.ceildiv(blocks, 24)):
                    if w * 24 + core < blocks:
                        body(A, B, C, w * 24 + core)

        return compile(loop if persistent else grid, out_idx=-1)

    a, b = torch.randn(blocks * 16, 16).half(), torch.randn(blocks)
    found = kernel(False)(a, b)
    tiles = a.view(blocks, 16, 16).float()
    expected = (tiles @ tiles + b[:, None, None]).view(-1, 16)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    assert torch.equal(found, kernel(True)(a, b))


@pytest.mark.parametrize("work", ["none", "product", "one lane"])
def test_neighbours_of_other_blocks_stay_whole(work: str) -> None:
    """Elements that blocks store to one line of the data cache, whatever else they do."""

    @T.prim_func
    def k(A: T.Tensor((8 * 16, 16), "float16"), C: T.Tensor((8 * 16, 16), "float32"),
          Ids: T.Tensor((8, 2), "int32")):  # fmt: skip
        with T.Kernel(8, threads=128) as bx:
            if work != "none":
                a = T.alloc_shared((16, 16), "float16")
                c = T.alloc_fragment((16, 16), "float32")
                T.copy(A[bx * 16, 0], a)
                T.gemm(a, a, c, clear_accum=True)
                T.copy(c, C[bx * 16, 0])
            if work == "one lane":
                first = T.alloc_shared((1,), "float16")
                T.copy(A[bx * 16, 0:1], first)
                C[bx * 16, 3] = first[0]
            if bx != 5:
                Ids[bx, 0] = bx
            for i in T.serial(2):
                if i == bx % 2:
                    Ids[bx, 1] = i + 7

    a, c = torch.randn(8 * 16, 16).half(), torch.zeros(8 * 16, 16)
    ids = torch.full((8, 2), -1, dtype=torch.int32)
    compile(k)(a, c, ids)
    numbers = torch.arange(8)
    assert ids[:, 0].tolist() == [0, 1, 2, 3, 4, -1, 6, 7]
    assert torch.equal(ids[:, 1], (numbers % 2 + 7).int())
    tiles = a.view(8, 16, 16).float()
    expected = tiles @ tiles if work != "none" else torch.zeros(8, 16, 16)
    if work == "one lane":
        expected[:, 0, 3] = tiles[:, 0, 0]
    torch.testing.assert_close(c.view(8, 16, 16), expected, rtol=1e-3, atol=1e-3)


def test_one_name_takes_all_indices() -> None:
    @T.prim_func
    def k(Ids: T.Tensor((4, 3, 2), "int32")):
        with T.Kernel(2, 3, 4, threads=128) as indices:
            bx, by, bz = indices
            Ids[bz, by, bx] = indices[0] + 10 * by + 100 * indices[2]

    ids = torch.zeros(4, 3, 2, dtype=torch.int32)
    compile(k)(ids)
    z, y, x = torch.meshgrid(torch.arange(4), torch.arange(3), torch.arange(2), indexing="ij")
    assert torch.equal(ids, (x + 10 * y + 100 * z).int())
