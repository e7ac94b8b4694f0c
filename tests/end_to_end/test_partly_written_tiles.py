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


@jit
def greatest_before(A, B, lengths, block: int):
    """The greatest product of a row with those up to its own; some blocks are left out."""
    M, K = T.const("M, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((M, K), "float16")
    lengths: T.Tensor((2,), "int32")
    C = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
        a = T.alloc_shared((block, K), "float16")
        b = T.alloc_shared((block, K), "float16")
        c = T.alloc_fragment((block, block), "float32")
        most = T.alloc_fragment((block,), "float32")
        T.copy(A[bx * block, 0], a)
        T.fill(most, -1000)
        for k in T.Pipelined(T.ceildiv(M, block), num_stages=1):
            if k * block < lengths[0]:
                T.copy(B[k * block, 0], b)
                for i, j in T.Parallel(block, block):
                    c[i, j] = T.if_then_else(
                        bx * block + i >= k * block + j, 0, -T.infinity("float32")
                    )
                T.gemm(a, b, c, transpose_B=True)
                T.reduce_max(c, most, dim=1, clear=False)
        T.copy(most, C[bx * block])
    return C


def test_a_mask_is_written_and_read_in_branches_of_one_condition() -> None:
    """On the diagonal alone: nothing is read that is not written."""
    a, b = torch.randn(64, 32).half(), torch.randn(64, 32).half()
    found = told(lambda: greatest_before(a, b, torch.tensor([40, 0], dtype=torch.int32), 16))
    products = a.float() @ b.float().T
    seen = torch.ones(64, 64).tril().bool() & (torch.arange(64) < 48)
    close(found, products.masked_fill(~seen, -1000).amax(1).clamp(min=-1000))


CONDITIONS = {
    "tensor": lambda i, limits, limit, named: i < limits[0],
    "variable": lambda i, limits, limit, named: limit > 2,
    "named": lambda i, limits, limit, named: named,
    "both": lambda i, limits, limit, named: T.And(named, i < 4),
}


@jit
def used_where_written(A, L, form: str, changed: bool):
    """Rows are loaded under a condition, and read under it further down."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    L: T.Tensor((M,), "int32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((N,), "float32")
        b = T.alloc_fragment((N,), "float32")
        limit = T.alloc_var("int32", 0)
        for i in T.serial(M):
            limit = L[i]
            named = L[i] > 2
            if CONDITIONS[form](i, L, limit, named):
                T.copy(A[i, :], a)
            if changed:
                limit = limit + 1
            T.fill(b, 1)
            if not CONDITIONS[form](i, L, limit, named):
                T.fill(b, 2)
            else:
                for j in T.Parallel(N):
                    b[j] += a[j]
            T.copy(b, B[i, :])
    return B


@pytest.mark.parametrize("form", [*CONDITIONS])
def test_tiles_are_read_under_the_condition_under_which_they_are_written(form: str) -> None:
    torch.manual_seed(0)
    a, limits = torch.randn(6, 40), torch.tensor([4, 0, 3, 1, 7, 2], dtype=torch.int32)
    found = told(lambda: used_where_written(a, limits, form, False))
    row = torch.arange(6)
    inside = row < 4 if form in ("tensor", "both") else limits > 2
    inside = inside & (limits > 2) if form == "both" else inside
    close(found, torch.where(inside[:, None], a + 1, 2.0))


def test_the_value_of_a_condition_has_changed_between_two_branches() -> None:
    a, limits = torch.randn(3, 40), torch.tensor([3, 1, 4], dtype=torch.int32)
    told(lambda: used_where_written(a, limits, "variable", True), "partly-written")


@jit
def rows_from_neighbours(A, backwards: bool):
    """Each row is made from the one before, or behind it."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((M, N), "float32")
        b = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        if backwards:
            T.copy(a[M - 1, :], b[M - 1, :])
            for k in range(M - 2, -1, -1):
                for j in T.Parallel(N):
                    b[k, j] = b[k + 1, j] * 0.5 + a[k, j]
        else:
            T.copy(a[0, :], b[0, :])
            for k in T.serial(1, M):
                for j in T.Parallel(N):
                    b[k, j] = b[k - 1, j] * 0.5 + a[k, j]
        for i, j in T.Parallel(M, N):
            b[i, j] = b[i, j] + 1
        T.copy(b, B)
    return B


@pytest.mark.parametrize("backwards", [False, True])
def test_an_iteration_reads_what_the_one_before_has_written(backwards: bool) -> None:
    a = torch.randn(6, 32)
    rows = [*(a.flip(0) if backwards else a)]
    for at in range(1, 6):
        rows[at] = rows[at - 1] * 0.5 + rows[at]
    expected = torch.stack(rows)
    found = told(lambda: rows_from_neighbours(a, backwards))
    close(found, (expected.flip(0) if backwards else expected) + 1)


@jit
def rows_from_the_last_two(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((M, N), "float32")
        b = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        for j in T.Parallel(N):
            b[0, j] = a[0, j]
            b[1, j] = a[1, j]
        for k in T.serial(2, M):
            for j in T.Parallel(N):
                b[k, j] = b[k - 1, j] * 0.5 + b[k - 2, j] + a[k, j]
        T.copy(b, B)
    return B


def test_an_iteration_reads_what_the_last_two_have_written() -> None:
    a = torch.randn(6, 32)
    rows = [a[0], a[1]]
    for row in a[2:]:
        rows.append(rows[-1] * 0.5 + rows[-2] + row)
    close(told(lambda: rows_from_the_last_two(a)), torch.stack(rows))


@jit
def rows_from_the_next(A):
    """A row is read that a later iteration writes."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((M, N), "float32")
        b = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        T.copy(a[0, :], b[0, :])
        for k in T.serial(1, M):
            for j in T.Parallel(N):
                b[k, j] = b[(k + 1) % M, j] + a[k, j]
        for i, j in T.Parallel(M, N):
            b[i, j] = b[i, j] + 1
        T.copy(b, B)
    return B


def test_an_iteration_reads_what_a_later_one_writes() -> None:
    a = torch.randn(6, 32)
    found = told(lambda: rows_from_the_next(a), "partly-written")
    close(found[1:5], a[1:5] + 1)


@jit
def spread_halves(A, steps: int, whole: bool):
    """Stores the halves of each row between each other; without `whole`, the second not at all."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(M, threads=64) as b:
        old = T.alloc_shared((N,), "float32")
        new = T.alloc_shared((N,), "float32")
        T.copy(A[b, :], old)
        for s in range(steps):
            width = 1 << s
            for k in T.Parallel(N // 2):
                new[2 * k - k % width] = old[k]
                if whole:
                    new[2 * k - k % width + width] = old[k + N // 2]
            T.copy(new, old)
        T.copy(old, B[b, :])
    return B


@pytest.mark.parametrize("steps", [1, 3])
def test_places_that_are_computed_fill_a_tile(steps: int) -> None:
    a = torch.randn(2, 16)
    expected = a
    for s in range(steps):
        halves = expected.reshape(2, 2, 8 >> s, 1 << s)
        expected = halves.transpose(1, 2).reshape(2, 16)
    close(told(lambda: spread_halves(a, steps, True)), expected)


def test_places_that_are_computed_leave_some_out() -> None:
    a = torch.randn(2, 16)
    expected = torch.zeros(2, 16)
    expected[:, ::2] = a[:, :8]
    close(told(lambda: spread_halves(a, 1, False), "partly-written"), expected)


@jit
def placed(A, Places, every: int):
    """Rows of A in their places; those of `every` second row alone leave places to chance."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    Places: T.Tensor((M,), "int32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=64):
        a = T.alloc_shared((M, N), "float32")
        b = T.alloc_shared((M, N), "float32")
        T.copy(A, a)
        for i in T.serial(M // every):
            place = Places[i * every]
            for j in T.Parallel(N):
                b[place, j] = a[i * every, j]
        T.copy(b, B)
    return B


@pytest.mark.parametrize("every", [1, 2])
def test_places_that_are_loaded_are_the_authors_word(every: int) -> None:
    a, places = torch.randn(8, 32), torch.randperm(8).int()
    expected = torch.zeros(8, 32)
    expected[places[::every].long()] = a[::every]
    close(told(lambda: placed(a, places, every)), expected)


@jit
def columns_in_a_branch(A, Used, width: int, columns: int):
    """A tile is written in parts of its columns and read as a whole, in blocks that are used."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    Used: T.Tensor((M // 8,), "int32")
    B = T.empty((M, N), "float32")
    with T.Kernel(M // 8, threads=128) as bx:
        if Used[bx] != 0:
            a = T.alloc_fragment((8, N), "float32")
            for n in T.serial(columns // width):
                for i, j in T.Parallel(8, width):
                    a[i, n * width + j] = A[bx * 8 + i, n * width + j] * 2
            T.copy(a, B[bx * 8, 0])
        else:
            for i, j in T.Parallel(8, N):
                B[bx * 8 + i, j] = 0
    return B


@pytest.mark.parametrize("columns", [64, 32])
def test_parts_fill_a_tile_where_it_is_used(columns: int) -> None:
    a, used = torch.randn(24, 64), torch.tensor([1, 0, 1]).int()
    expected = a * 2 * used.repeat_interleave(8)[:, None]
    expected[:, columns:] = 0
    slugs = [] if columns == 64 else ["partly-written"]
    close(told(lambda: columns_in_a_branch(a, used, 16, columns), *slugs), expected)
