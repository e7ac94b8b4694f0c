"""Tiles that have no room as a whole: what is done for some of their rows at a time computes what it
did, for every number of parts; what needs all rows at once stays whole, with its reason."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from end_to_end.test_retiled_blocks import BEFORE, results, same, typed
from tile_ir import DEFAULT_TARGET, Automatic, Func, KernelError
from tile_passes import apply_passes, run_pipeline
from tile_passes.explain.explanations import explained
from tile_passes.retiling.block_axis import Against
from tile_passes.retiling.rows_alone import RowsAlone, rows_alone
from tile_passes.retiling.split_tiles import in_parts
from tile_runtime import jit

F16, F32, I32 = "float16", "float32", "int32"


def rows_of_softmax(
    A: T.Tensor((20, 32), F32), S: T.Tensor((32,), F32), B: T.Tensor((20, 32), F32)
):
    """Rows at an edge, a row that all of them need, numbers of rows and of columns."""
    with T.Kernel(3, threads=128) as bx:
        t = T.alloc_shared((8, 32), F32)
        s = T.alloc_fragment((32,), F32)
        m = T.alloc_fragment((8,), F32)
        T.copy(A[bx * 8, 0], t)
        T.copy(S, s)
        for i, j in T.Parallel(8, 32):
            t[i, j] = T.if_then_else(i + bx >= j // 4, t[i, j] * s[j], i)
        T.reduce_max(t, m, dim=1)
        for i, j in T.Parallel(8, 32):
            t[i, j] = t[i, j] - m[i]
        T.copy(t, B[bx * 8, 0])


def outer_sums(A: T.Tensor((24,), F32), B: T.Tensor((16,), F32), C: T.Tensor((24, 16), F32)):
    with T.Kernel(3, threads=128) as bx:
        a = T.alloc_fragment((8,), F32)
        b = T.alloc_fragment((16,), F32)
        c = T.alloc_fragment((8, 16), F32)
        T.copy(A[bx * 8], a)
        T.copy(B, b)
        for i, j in T.Parallel(8, 16):
            c[i, j] = a[i] + b[j]
        T.copy(c, C[bx * 8, 0])


def sums_of_pairs(A: T.Tensor((8,), F32), C: T.Tensor((8, 8), F32)):
    """Every row needs all elements of a tile that also gives one to each row."""
    with T.Kernel(1, threads=128):
        a = T.alloc_fragment((8,), F32)
        c = T.alloc_fragment((8, 8), F32)
        T.copy(A, a)
        for i, j in T.Parallel(8, 8):
            c[i, j] = a[i] + a[j] * 2
        T.copy(c, C)


def product_and_bias(A: T.Tensor((48, 32), F16), B: T.Tensor((32, 64), F16),
                     V: T.Tensor((64,), F32), C: T.Tensor((48, 64), F32)):  # fmt: skip
    with T.Kernel(2, threads=128) as by:
        a = T.alloc_shared((32, 16), F16)
        b = T.alloc_shared((16, 64), F16)
        v = T.alloc_shared((64,), F32)
        c = T.alloc_fragment((32, 64), F32)
        T.copy(V, v)
        T.clear(c)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[by * 32, k * 16], a)
            T.copy(B[k * 16, 0], b)
            T.gemm(a, b, c)
        for i, j in T.Parallel(32, 64):
            c[i, j] = c[i, j] + v[j]
        T.copy(c, C[by * 32, 0])


def rows_by_number(A: T.Tensor((24, 16), F32), X: T.Tensor((8,), I32), B: T.Tensor((8, 16), F32)):
    """Rows are loaded one by one, through a row that belongs to none of them."""
    with T.Kernel(1, threads=128):
        t = T.alloc_shared((8, 16), F32)
        r = T.alloc_shared((16,), F32)
        for i in T.serial(8):
            T.copy(A[X[i], :], r)
            for j in T.Parallel(16):
                t[i, j] = r[j] * 2
        T.copy(t, B)


def elements_of_a_tensor(A: T.Tensor((8, 16), F32), B: T.Tensor((16, 8), F32)):
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((8, 16), F32)
        T.copy(A, t)
        for i, j in T.Parallel(8, 16):
            B[j, i] = t[i, j] + 1


def in_place(A: T.Tensor((16, 16), F32)):
    with T.Kernel(2, threads=128) as bx:
        t = T.alloc_fragment((8, 16), F32)
        T.copy(A[bx * 8, 0], t)
        for i, j in T.Parallel(8, 16):
            t[i, j] = t[i, j] * 3
        T.copy(t, A[bx * 8, 0])


def rounds_that_never_meet(A: T.Tensor((32, 16), F32), B: T.Tensor((32, 16), F32)):
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((8, 16), F32)
        for k in T.serial(4):
            T.copy(A[k * 8, 0], t)
            T.copy(t, B[k * 8, 0])


def rows_of_shared_sums(A: T.Tensor((16, 16), F32), B: T.Tensor((16,), F32)):
    """A sum over rows."""
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((16, 16), F32)
        s = T.alloc_fragment((16,), F32)
        T.copy(A, t)
        T.reduce_sum(t, s, dim=0)
        T.copy(s, B)


def rounds_that_meet(A: T.Tensor((32, 16), F32), B: T.Tensor((32, 16), F32)):
    """A later round overwrites half of the rows of the one before."""
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((16, 16), F32)
        for k in T.serial(3):
            T.copy(A[k * 8, 0], t)
            T.copy(t, B[k * 8, 0])


def stored_twice(A: T.Tensor((32, 16), F32), B: T.Tensor((32, 16), F32)):
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((16, 16), F32)
        T.copy(A[0, 0], t)
        T.copy(t, B[0, 0])
        T.copy(t, B[8, 0])


def read_back(A: T.Tensor((16, 16), F32), B: T.Tensor((16, 16), F32), C: T.Tensor((16, 16), F32)):
    """The second tile has all rows of what the first one stored."""
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((16, 16), F32)
        T.copy(A, t)
        T.copy(t, B)
        for i, j in T.Parallel(16, 16):
            C[i, j] = t[i, j] + B[15 - i, j]


def running_value(A: T.Tensor((8, 16), F32), B: T.Tensor((8, 16), F32)):
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((8, 16), F32)
        r = T.alloc_fragment((16,), F32)
        T.copy(A, t)
        T.clear(r)
        for i in T.serial(8):
            for j in T.Parallel(16):
                r[j] = r[j] + t[i, j]
            for j in T.Parallel(16):
                t[i, j] = r[j]
        T.copy(t, B)


def sums_over_rounds(A: T.Tensor((32, 16), F32), B: T.Tensor((8, 16), F32)):
    with T.Kernel(1, threads=128):
        t = T.alloc_fragment((8, 16), F32)
        s = T.alloc_fragment((8, 16), F32)
        T.clear(s)
        for k in T.serial(4):
            T.copy(A[k * 8, 0], t)
            for i, j in T.Parallel(8, 16):
                s[i, j] = s[i, j] + t[i, j]
        T.copy(s, B)


def tile(func: Func, name: str) -> Any:
    return next(a.buffer for a in func.launch.allocs if a.buffer.name == name)


def all_parts(func: Func, rows: RowsAlone) -> Iterator[Func]:
    for parts in range(2, rows.size // 2 + 1):
        if rows.size % parts == 0:
            yield in_parts(func, rows, parts, DEFAULT_TARGET)


ALONE: list[tuple[Any, str, int]] = [
    (rows_of_softmax, "t", 0),
    (outer_sums, "c", 0),
    (outer_sums, "c", 1),
    (sums_of_pairs, "c", 0),
    (product_and_bias, "c_l0c", 0),
    (product_and_bias, "c_l0c", 1),
    (rows_by_number, "t", 0),
    (elements_of_a_tensor, "t", 0),
    (elements_of_a_tensor, "t", 1),
    (in_place, "t", 0),
    (rounds_that_never_meet, "t", 0),
    (running_value, "t", 1),
    (sums_over_rounds, "s", 0),
    (sums_over_rounds, "s", 1),
]


@pytest.mark.parametrize(
    ("kernel", "name", "dim"), ALONE, ids=[f"{k.__name__}-{d}" for k, _, d in ALONE]
)
def test_some_rows_at_a_time_compute_the_same(kernel: Any, name: str, dim: int) -> None:
    func = typed(kernel)
    rows = rows_alone(func, func.launch.body, tile(func, name), dim)
    expected = results(func)
    count = 0
    for new in all_parts(func, rows):
        same(new, expected)
        count += 1
    assert count


@pytest.mark.parametrize(
    ("kernel", "name", "dim", "why"),
    [
        (rows_of_softmax, "t", 1, "needs its tiles whole"),
        (rows_of_shared_sums, "t", 0, "needs its tiles whole"),
        (rounds_that_meet, "t", 0, "differ from iteration to iteration"),
        (stored_twice, "t", 0, "used at several places"),
        (read_back, "t", 0, "used in another way"),
        (running_value, "t", 0, "keeps its value"),
    ],
)
def test_what_needs_all_rows_is_told(kernel: Any, name: str, dim: int, why: str) -> None:
    func = typed(kernel)
    with pytest.raises(Against, match=why):
        rows_alone(func, func.launch.body, tile(func, name), dim)


def test_a_run_of_statements_in_a_loop() -> None:
    """The tile is the loop's own; what it adds to has all rows throughout."""
    func = typed(sums_over_rounds)
    (loop,) = [s for s in func.launch.body if hasattr(s, "body") and s.var.name == "k"]
    rows = rows_alone(func, loop.body, tile(func, "t"), 0)
    expected = results(func)
    for new in all_parts(func, rows):
        assert tile(new, "s") == tile(func, "s")
        same(new, expected)


def softmax_of(rows: int, columns: int, block: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), F32), B: T.Tensor((rows, columns), F32)):
        with T.Kernel(T.ceildiv(rows, block), threads=256) as bx:
            a = T.alloc_shared((block, columns), F32)
            e = T.alloc_fragment((block, columns), F32)
            m = T.alloc_fragment((block,), F32)
            T.copy(A[bx * block, 0], a)
            T.reduce_max(a, m, dim=1)
            for i, j in T.Parallel(block, columns):
                e[i, j] = T.exp(a[i, j] - m[i])
            T.reduce_sum(e, m, dim=1)
            for i, j in T.Parallel(block, columns):
                e[i, j] = e[i, j] / m[i]
            T.copy(e, B[bx * block, 0])

    return kernel


def columns_of(rows: int, columns: int) -> Any:
    """Columns are summed, and their sums used for all rows: all rows at once."""

    @T.prim_func
    def kernel(A: T.Tensor((rows, columns), F32), B: T.Tensor((rows, columns), F32)):
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((rows, columns), F32)
            r = T.alloc_fragment((rows,), F32)
            s = T.alloc_fragment((columns,), F32)
            T.copy(A, a)
            T.reduce_sum(a, s, dim=0)
            T.reduce_sum(a, r, dim=1)
            for i, j in T.Parallel(rows, columns):
                a[i, j] = a[i, j] - s[j] - r[i]
            T.copy(a, B)

    return kernel


def test_rows_that_have_no_room_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """In as many blocks as leave no more than half of the cores idle, which would get rows."""
    monkeypatch.setenv("TILE_CHECK", "strict")
    torch.manual_seed(0)
    x = torch.randn(1600, 1000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernel = jit(out_idx=[1])(lambda: softmax_of(1600, 1000, 128))()
        found = kernel(x)
    assert any("of its 128 rows are done at a time" in str(w.message) for w in told)
    torch.testing.assert_close(found, torch.softmax(x, 1), rtol=1e-4, atol=1e-6)


def test_what_can_not_be_split_is_the_overflow_it_was() -> None:
    with pytest.raises(KernelError) as caught:
        run_pipeline(columns_of(256, 512), DEFAULT_TARGET)
    assert caught.value.slug == "memory-overflow"
    assert "needed at once" in (caught.value.hint or "")


def test_tiles_that_are_the_authors_stay_whole() -> None:
    func = softmax_of(150, 1000, 128)
    kept = replace(func, automatic=func.automatic - {Automatic.TILES})
    with pytest.raises(KernelError, match="ub needs"):
        run_pipeline(kept, DEFAULT_TARGET)
    assert np.size(run_pipeline(func, DEFAULT_TARGET).func.launch.body)


def test_what_is_done_in_parts_is_explained() -> None:
    func = apply_passes(softmax_of(150, 1000, 128), BEFORE, DEFAULT_TARGET)
    (text,) = explained(func, ["retile_blocks"], DEFAULT_TARGET)
    assert "`a` has no room as a whole" in text or "`e` has no room as a whole" in text
