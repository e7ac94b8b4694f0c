"""Text for GPUs leaves parts of tiles and of grids to chance where nothing that counts depends on
them: tiles that some ways leave unwritten, and blocks that do the same work."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelWarning
from tile_runtime import SimulationError, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), expected.double(), rtol=1e-4, atol=1e-4)


def told(call: Any, *slugs: str) -> Any:
    """What the call gives; the warnings about parts and blocks are these."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    of_parts = ("partly-written", "redundant-store")
    found = [str(w.message) for w in caught if issubclass(w.category, KernelWarning)]
    slugs_found = {s for s in of_parts for text in found if f"[{s}]" in text}
    assert slugs_found == {*slugs}
    return result


@jit
def tail_products(A, B, block: int):
    """Rows of A times B and then B again; what is behind the last row is never loaded."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), "float32")
    B: T.Tensor((K, K), "float32")
    C = T.empty((M, K), "float32")
    with T.Kernel(T.ceildiv(M, 2 * block), threads=128) as bx:
        a = T.alloc_shared((block, K), "float32")
        second = T.alloc_shared((block, K), "float32")
        b = T.alloc_shared((K, K), "float32")
        c = T.alloc_fragment((block, K), "float32")
        T.copy(B, b)
        T.copy(A[bx * 2 * block, 0], a)
        if bx * 2 * block + block < M:
            T.copy(A[bx * 2 * block + block, 0], second)
            for i, j in T.Parallel(block, K):
                second[i, j] = second[i, j] + 1
        T.gemm(a, b, c, clear_accum=True)
        T.copy(c, C[bx * 2 * block, 0])
        T.gemm(second, b, c, clear_accum=True)
        T.copy(c, C[bx * 2 * block + block, 0])
    return C


@pytest.mark.parametrize("rows", [64, 80])
def test_an_operand_is_written_in_a_branch(rows: int) -> None:
    torch.manual_seed(rows)
    a, b = torch.randn(rows, 32), torch.randn(32, 32)
    found = told(lambda: tail_products(a, b, 16), *(["partly-written"] if rows == 80 else []))
    added = (torch.arange(rows) // 16 % 2).double()[:, None]
    close(found, (a.double() + added) @ b.double())


@jit
def greatest_of_parts(A, Lengths, block: int, constant: bool):
    """The greatest of each block of a row, as far as the row goes, all divided at once."""
    R, N = T.const("R, N")
    A: T.Tensor((R, 16, N), "float32")
    Lengths: T.Tensor((R,), "int32")
    S = T.empty((R, 16, N // block), "float32")
    with T.Kernel(R, threads=128) as r:
        a = T.alloc_shared((16, block), "float32")
        most = T.alloc_fragment((16,), "float32")
        parts = T.alloc_shared((16, N // block), "float32")
        if constant:
            for k in T.serial(N // block):
                T.copy(A[r, 0, k * block], a)
                T.reduce_max(a, most, dim=1)
                T.copy(most, parts[:, k])
        else:
            for k in T.Pipelined(T.ceildiv(Lengths[r], block), num_stages=1):
                T.copy(A[r, 0, k * block], a)
                T.reduce_max(a, most, dim=1)
                T.copy(most, parts[:, k])
        for i, k in T.Parallel(16, N // block):
            parts[i, k] = parts[i, k] / 2
        T.copy(parts, S[r, 0, 0])
    return S


def test_parts_of_a_tile_are_written_one_by_one() -> None:
    torch.manual_seed(0)
    a, lengths = torch.randn(3, 16, 128), torch.tensor([128, 64, 32], dtype=torch.int32)
    expected = a.view(3, 16, 4, 32).amax(-1) / 2
    close(told(lambda: greatest_of_parts(a, lengths, 32, True)), expected)
    found = told(lambda: greatest_of_parts(a, lengths, 32, False), "partly-written")
    for row, length in enumerate(lengths.tolist()):
        close(found[row, :, : length // 32], expected[row, :, : length // 32])


@jit
def grid_of_copies(A, copies: int, unlike: bool):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, 16), copies, threads=128) as (bx, by):
        a = T.alloc_shared((16, N), "float32")
        T.copy(A[bx * 16, 0], a)
        for i, j in T.Parallel(16, N):
            a[i, j] = a[i, j] * 2 + (by if unlike else 0)
        T.copy(a, B[bx * 16, 0])
    return B


def test_blocks_that_do_the_same_work() -> None:
    a = torch.randn(32, 64)
    close(told(lambda: grid_of_copies(a, 1, False)), 2 * a)
    close(told(lambda: grid_of_copies(a, 3, False), "redundant-store"), 2 * a)
    with pytest.raises(SimulationError) as error:
        grid_of_copies(a, 2, True)
    assert error.value.slug == "race"
