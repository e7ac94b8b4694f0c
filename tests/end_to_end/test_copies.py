"""Tile copies: tails in both dimensions, pads, pitches, ranks, runtime extents, both lanes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept, kept_number

import tile_frontend as T
import tile_ir
from tile_ir import DTYPES, Func, KernelError

from .kernel_batch import KernelBatch, interpreted, lower


def through_ub(M: int, N: int, tm: int, tn: int, dtype: str, pad: Any) -> Func:
    """Copies every tile through ub twice: cut into Y, and whole, padding included, into Z."""
    rows, columns = T.cdiv(M, tm), T.cdiv(N, tn)

    @T.prim_func
    def tiles(
        X: T.Tensor((M, N), dtype),
        Y: T.Tensor((M, N), dtype),
        Z: T.Tensor((rows * tm, columns * tn), dtype),
    ):
        with T.Kernel(T.ceildiv(rows * columns, 2), is_npu=True) as (cid, vid):
            tile = T.alloc_ub((tm, tn), dtype)
            index = cid * 2 + vid
            with T.Scope("V"):
                if index < rows * columns:
                    i = index // columns * tm
                    j = index % columns * tn
                    T.copy(X[i, j], tile, pad_value=pad)
                    T.barrier_all()
                    T.copy(tile, Y[i, j])
                    T.copy(tile, Z[i, j])
                    T.barrier_all()

    return tiles


def tails() -> Iterator[tuple[str, int, int, int, int | None]]:
    for dtype in ("float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8", "int64"):
        block = 32 // DTYPES[dtype].size
        for M, N, tm in ((1, 1, 4), (8, 2 * block, 4), (13, 2 * block + 3, 8), (7, block - 1, 2)):
            for pad in (None, 5) if dtype != "int64" else (None,):
                yield dtype, M, N, tm, pad


def test_tails_are_cut_and_padded(tmp_path: Path) -> None:
    batch, cases = KernelBatch(tmp_path), []
    rng = np.random.default_rng(1)
    for dtype, M, N, tm, pad in kept(tails()):
        storage = DTYPES[dtype].storage
        func = through_ub(M, N, tm, 64 // DTYPES[dtype].size, dtype, pad)
        x = rng.integers(1, 100, (M, N)).astype(storage)
        y = np.zeros_like(x)
        z = np.zeros(tuple(int(d) for d in func.tensors[2].static_shape() or ()), storage)
        cases.append((batch.add(func), f"{dtype} {M}x{N} pad {pad}", func, [x, y, z], pad))
    batch.build()
    wrong = []
    for number, label, func, arrays, pad in cases:
        outcome = batch.run(number, arrays)
        if outcome.error is not None:
            wrong.append(f"{label}: {outcome.error.kind}: {outcome.error.text}")
            continue
        x, y, z = outcome.arrays
        want = np.full(z.shape, _stored(pad or 0, func), z.dtype)
        want[: x.shape[0], : x.shape[1]] = x
        if not np.array_equal(x, y) or not np.array_equal(z, want):
            wrong.append(f"{label}: simulator")
        if not all(map(np.array_equal, outcome.arrays, interpreted(func, arrays))):
            wrong.append(f"{label}: interpreter differs")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong)


def _stored(value: int, func: Func) -> Any:
    from tile_ir.dtypes import to_bytes

    return to_bytes(np.asarray([value], np.float64), func.tensors[0].dtype)[0]


def test_ranks_pitches_and_runtime_extents(tmp_path: Path) -> None:
    """Slices of three-dimensional tensors, flat buffers, and a length that is read at run time."""

    @T.prim_func
    def heads(X: T.Tensor((6, 5, 64), "float32"), Y: T.Tensor((6, 5, 64), "float32")):
        with T.Kernel(5, is_npu=True) as (cid, vid):
            u = T.alloc_ub((3, 64), "float32")
            with T.Scope("V"):
                T.copy(X[vid * 3 : vid * 3 + 3, cid, :], u)
                T.barrier_all()
                T.copy(u, Y[vid * 3 : vid * 3 + 3, cid, :])

    @T.prim_func
    def flat(X: T.Tensor((8, 16), "float16"), Y: T.Tensor((128,), "float16")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            u = T.alloc_ub((128,), "float16")
            with T.Scope("V"):
                T.copy(X[0:8, :], u)
                T.barrier_all()
                T.copy(u, Y[0:128])

    @T.prim_func
    def counted(X: T.Tensor((4, 64), "float32"), Y: T.Tensor((4, 64), "float32"), n: T.int32):
        with T.Kernel(4, threads=1, is_npu=True) as (cid):
            u = T.alloc_ub((1, 64), "float32")
            with T.Scope("V"):
                T.tile.fill(u, 7.0)
                T.barrier_all()
                T.copy(X[cid, 0:n], u[0, 0:n])
                T.barrier_all()
                T.copy(u[0, 0:n], Y[cid, 0:n])

    batch = KernelBatch(tmp_path)
    rng = np.random.default_rng(2)
    cases = []
    for func, arguments in (
        (heads, [rng.random((6, 5, 64), np.float32), np.zeros((6, 5, 64), np.float32)]),
        (flat, [rng.random((8, 16)).astype("f2"), np.zeros(128, "f2")]),
        *(
            (counted, [rng.random((4, 64), np.float32), np.zeros((4, 64), np.float32), n])
            for n in (0, 1, 7, 8, 63, 64)
        ),
    ):
        cases.append((batch.add(func), func, arguments))
    batch.build()
    for number, func, arguments in cases:
        outcome = batch.run(number, arguments)
        assert outcome.error is None, outcome.error.text
        x, y = outcome.arrays[:2]
        if len(arguments) == 3:
            n = arguments[2]
            assert np.array_equal(y[:, :n], x[:, :n]) and not y[:, n:].any()
        else:
            assert np.array_equal(y.reshape(-1), x.reshape(-1))
        for got, want in zip(outcome.arrays[:2], interpreted(func, arguments)[:2], strict=True):
            assert np.array_equal(got, want)


def test_rows_of_large_tiles_that_are_not_whole_blocks_are_rejected() -> None:
    """Rows of 60 bytes cannot be loaded: the DMA starts rows at multiples of 32."""
    func = through_ub(600, 16, 300, 15, "float32", None)
    with pytest.raises(KernelError) as caught:
        lower(func)
    assert caught.value.slug == "row-alignment"
    assert "rows of `tile` are 60 bytes apart" in caught.value.message
    assert caught.value.loc is not None and caught.value.loc.line == through_ub_copy_line()


def test_rows_of_large_tiles_that_follow_each_other_are_one() -> None:
    """Of any width, where the tensor has no other columns and the last tile is a whole one."""
    func = through_ub(600, 15, 300, 15, "float32", None)
    x = np.arange(600 * 15, dtype=np.float32).reshape(600, 15)
    _, y, z = interpreted(lower(func), [x, np.zeros_like(x), np.zeros_like(x)])
    assert np.array_equal(y, x) and np.array_equal(z, x)


def test_rows_of_small_tiles_move_by_element(tmp_path: Path) -> None:
    """Tails, pads and parts of tiles with rows of any number of bytes."""
    rng = np.random.default_rng(4)
    batch, cases = KernelBatch(tmp_path), []
    for dtype, columns in (("uint8", 16), ("float16", 8), ("float32", 15), ("int32", 1)):
        storage = DTYPES[dtype].storage
        for M, N, tm in ((8, 4 * columns, 4), (13, 2 * columns - 1, 8)):
            for pad in (None, 5):
                func = through_ub(M, N, tm, columns, dtype, pad)
                x = rng.integers(1, 100, (M, N)).astype(storage)
                padded = (-(-M // tm) * tm, -(-N // columns) * columns)
                arrays = [x, np.zeros_like(x), np.zeros(padded, storage)]
                cases.append((batch.add(func), f"{dtype} {M}x{N} pad {pad}", func, arrays, pad))
    batch.build()
    for number, name, func, arrays, pad in cases:
        (M, N), (rows, columns) = arrays[0].shape, arrays[2].shape
        value = _stored(pad or 0, func)
        want = np.pad(arrays[0], ((0, rows - M), (0, columns - N)), constant_values=value)
        outcome = batch.run(number, arrays)
        assert outcome.error is None, (name, outcome.error.text)
        assert np.array_equal(outcome.arrays[1], arrays[0]), name
        assert np.array_equal(outcome.arrays[2], want), name
        assert np.array_equal(interpreted(func, arrays)[2], want), name


def through_ub_copy_line() -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if "T.copy(X[i, j], tile" in line)


@settings(max_examples=examples(kept_number(60)))
@given(st.data())
def test_every_phase_means_the_same(data: st.DataObject) -> None:
    """Lowering keeps the meaning of copies, whatever the shapes: interpreted before and after."""
    tm = data.draw(st.integers(1, 6))
    blocks = data.draw(st.integers(1, 3))
    M, N = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 70))
    func = through_ub(M, N, tm, 8 * blocks, "float32", data.draw(st.sampled_from([None, -1.5])))
    x = np.arange(1, M * N + 1, dtype=np.float32).reshape(M, N)
    arrays = [
        x,
        np.zeros_like(x),
        np.zeros(tuple(func.tensors[2].static_shape() or ()), np.float32),
    ]
    built = interpreted(func, arrays)
    lowered = interpreted(lower(func), arrays)
    assert all(map(np.array_equal, built, lowered))
    assert np.array_equal(built[1], x)
    assert tile_ir.parse(tile_ir.print_func(func)).name == func.name


def test_a_vector_is_one_row_of_a_matrix(tmp_path: Path) -> None:
    """A one-dimensional tensor fills the first row of an l1 matrix; the rest of it is zero."""

    @T.prim_func
    def outer(
        X: T.Tensor((48,), "float16"),
        W: T.Tensor((48, 32), "float16"),
        Y: T.Tensor((32,), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            x = T.alloc_L1((16, 48), "float16")
            w = T.alloc_L1((48, 32), "float16")
            y = T.alloc_L0C((16, 32), "float32")
            with T.Scope("C"):
                T.copy(X[0:48], x)
                T.copy(W, w)
                T.gemm_v0(x, w, y, init=True)
                T.copy(y[0, :], Y[0:32])

    rng = np.random.default_rng(3)
    x, w = rng.integers(-4, 5, 48).astype("f2"), rng.integers(-4, 5, (48, 32)).astype("f2")
    arrays = [x, w, np.zeros(32, "f4")]
    batch = KernelBatch(tmp_path)
    number = batch.add(outer)
    batch.build()
    outcome = batch.run(number, arrays)
    assert outcome.error is None, outcome.error.text
    want = x.astype("f4") @ w.astype("f4")
    assert np.array_equal(outcome.arrays[2], want)
    assert np.array_equal(interpreted(outer, arrays)[2], want)


def three_dimensions(rank: int) -> Func:
    """Whole blocks, and contiguous parts of them, of more dimensions than rows and columns."""
    shape = (2,) * (rank - 3) + (3, 4, 64)

    @T.prim_func
    def blocks(
        X: T.Tensor(shape, "float32"),
        Y: T.Tensor(shape, "float32"),
        Z: T.Tensor((12, 64), "float32"),
    ):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            u = T.alloc_ub(shape, "float32")
            v = T.alloc_ub((12, 64), "float32")
            w = T.alloc_ub(shape, "float32")
            with T.Scope("V"):
                T.copy(X, u)
                if rank == 3:
                    T.copy(X[0:3, 0:4, 0:64], v)
                else:
                    T.copy(X[1, 0:3, 0:4, 0:64], v)
                T.barrier_all()
                T.copy(u, w)
                T.barrier_all()
                T.copy(w, Y)
                T.copy(v, Z)

    return blocks


def test_blocks_of_many_dimensions(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    for rank in (3, 4):
        batch.add(three_dimensions(rank))
    batch.build()
    rng = np.random.default_rng(4)
    for number, lead in enumerate(((), (2,))):
        x = rng.standard_normal((*lead, 3, 4, 64)).astype(np.float32)
        arguments = [x, np.zeros_like(x), np.zeros((12, 64), np.float32)]
        outcome = batch.run(number, arguments)
        assert outcome.error is None, outcome.error.text
        assert (outcome.arrays[1] == x).all()
        assert (outcome.arrays[2] == x.reshape(-1, 12, 64)[-1]).all()


def rows_from(M: int, count: int, kind: str, static: bool) -> Func:
    """Row `start + i` of X into row i of Y by tiles of a single row, which may begin past the end."""
    shape = {"vector": (32,), "row": (1, 32), "matrix": (2, 16)}[kind]

    @T.prim_func
    def single_rows(
        X: T.Tensor((M, 32), "float32"),
        Y: T.Tensor((count, 32), "float32"),
        Z: T.Tensor((M, 32), "float32"),
        start: T.int32,
    ):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            tile = T.alloc_ub(shape, "float32")
            with T.Scope("V"):
                for i in T.serial(count):
                    row = i if static else i + start
                    T.barrier_all()
                    if kind == "matrix":
                        T.copy(X[row, 0:32], tile)
                    else:
                        T.copy(X[row, 0], tile, pad_value=7)
                    T.barrier_all()
                    if kind == "matrix":
                        T.copy(tile, Y[i, 0:32])
                        T.copy(tile, Z[row, 0:32])
                    else:
                        T.copy(tile, Y[i, 0])
                        T.copy(tile, Z[row, 0])

    return single_rows


def test_rows_that_start_past_the_end_are_not_moved(tmp_path: Path) -> None:
    """docs/language/rules.md#edges: the dimension before the last is cut even where it is one
    long."""
    rng = np.random.default_rng(2)
    batch, cases = KernelBatch(tmp_path), []
    for kind in ("vector", "row", "matrix"):
        for M, start in ((5, 0), (5, 3), (1, 0), (3, 9)):
            func = rows_from(M, 5, kind, static=False)
            cases.append((batch.add(func), kind, M, start, func))
    batch.build()
    for number, kind, M, start, func in cases:
        x = rng.random((M, 32), np.float32)
        y = np.full((5, 32), -1, np.float32)
        arrays = [x, y, np.zeros_like(x), start]
        outcome = batch.run(number, arrays)
        assert outcome.error is None, outcome.error.text
        pad = 0 if kind == "matrix" else 7
        beyond = np.full((start + 5, 32), pad, np.float32)
        want = np.concatenate([x, beyond])[start : start + 5]
        assert np.array_equal(outcome.arrays[1], want), (kind, M, start)
        stored = np.where(np.arange(M)[:, None] >= start, x, 0)
        assert np.array_equal(outcome.arrays[2], stored), (kind, M, start)
        assert np.array_equal(interpreted(func, arrays)[1], want)


@pytest.mark.parametrize("kind", ["vector", "row", "matrix"])
def test_a_row_that_is_surely_inside_needs_no_guard(kind: str) -> None:
    text = tile_ir.print_func(lower(rows_from(5, 5, kind, static=True)))
    assert " if " not in text
