"""Sorting to pairs: lengths, ties, infinities, parts of the source, regions; the source stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import DType, Func, KernelError
from tile_ir.dtypes import FLOAT16, FLOAT32, INT32, UINT32
from tile_ir.expr import Var

from .flat_op_kernels import STRICT, FlatCase, Tile, disagreements, flat_case, whole
from .kernel_batch import KernelBatch

RNG = np.random.default_rng(5)


def values(shape: tuple[int, ...], dtype: DType, ties: bool = False) -> Any:
    if ties:
        return RNG.choice([0.0, -0.0, 1.5, -3.0, np.inf, -np.inf], shape).astype(dtype.compute)
    return RNG.standard_normal(shape).astype(dtype.compute)


def padded(count: int, dtype: DType) -> int:
    block = 32 // dtype.size
    return -(-count // block) * block


def run(count: int, dtype: DType, ties: bool = False) -> Tile:
    return Tile(dtype, values((padded(count, dtype),), dtype, ties), ((0, count),))


def sort_cases() -> Iterator[FlatCase]:
    n = Var("n")
    for dtype in (FLOAT16, FLOAT32):
        for count in (1, 2, 31, 32, 33, 64, 100, 128, 131, 160, 300, 512, 513, 1000, 2049, 2500):
            for ties in (False, True):
                src = run(count, dtype, ties)
                for actual in {count, count - count // 3}:
                    label = f"{dtype}-{count}-{actual}-{ties}"
                    yield flat_case("sort", label, [run(2 * count, dtype), src, actual])
                kept = max(1, count // 4)
                label = f"{dtype}-{kept}of{count}-{ties}"
                yield flat_case("topk", label, [run(2 * kept, dtype), src, kept, count])
                given = [run(2 * kept, dtype), src, kept, kept // 2]
                yield flat_case("topk", label + "-few", given)
        # Few of so many: only some blocks of the source are sorted.
        for count, kept in ((1024, 1), (1024, 64), (1100, 40), (4096, 32), (8190, 200)):
            for ties in (False, True):
                src = run(count, dtype, ties)
                for actual in (count, count // 3, 5):
                    label = f"{dtype}-{kept}of{count}-{actual}-{ties}"
                    yield flat_case("topk", label, [run(2 * kept, dtype), src, kept, actual])
        block = 32 // dtype.size
        rows = Tile(dtype, values((5, 3 * block), dtype), ((1, 4), (block, block)))
        wide = Tile(dtype, values((4, 6 * block), dtype), ((0, 4), (2 * block, 2 * block)))
        yield flat_case("sort", f"{dtype}-columns", [wide, rows, 4 * block])
        yield flat_case("topk", f"{dtype}-columns", [run(20, dtype), rows, 10, 4 * block - 3])
        for count in (0, 1, 70, 200):
            src = run(200, dtype)
            given = [run(400, dtype), src, n]
            yield flat_case("sort", f"{dtype}-actual-{count}", given, (), [(n, count)])
            few = Tile(dtype, values((400,), dtype), ((0, n * 2),))
            given = [few, src, n, 150]
            yield flat_case("topk", f"{dtype}-kept-{count}", given, (), [(n, count)])
            part = Tile(dtype, src.values, ((0, n),))
            given = [few, part, n]
            yield flat_case("sort", f"{dtype}-part-{count}", given, (), [(n, count)])
    yield flat_case("topk", "most", [run(2 * 2048, FLOAT32), run(8192, FLOAT32), 2048, 8192])
    yield flat_case("topk", "most-f16", [run(2 * 100, FLOAT16), run(8190, FLOAT16), 100, 8190])


def piece_cases() -> Iterator[FlatCase]:
    """The two instructions on their own."""
    at = Var("at")
    for dtype in (FLOAT16, FLOAT32):
        per_pair = 8 // dtype.size
        for count in (32, 64, 320, 32 * 256):
            index = RNG.integers(0, 1 << 32, count, dtype=np.uint32)
            dst = run(count * per_pair, dtype)
            given = [dst, run(count, dtype, True), whole(UINT32, index)]
            if count < 1000 or dtype is FLOAT16:
                yield flat_case("sort32", f"{dtype}-{count}", given)
        rows = ((at, 1), (0, 64))
        given = [Tile(dtype, values((3, 64 * per_pair), dtype), ((at, 1), (0, 64 * per_pair))),
                 Tile(dtype, values((3, 64), dtype), rows),
                 Tile(INT32, RNG.integers(0, 99, (3, 64)).astype(np.int32), rows)]  # fmt: skip
        for row in (0, 2):
            yield flat_case("sort32", f"{dtype}-row-{row}", given, (), [(at, row)])
    for lengths in ((4, 8), (32, 32), (100, 20, 4), (64, 64, 64, 64), (4, 400, 12, 1000)):
        lists = []
        for length in lengths:
            pairs = np.stack(
                [np.sort(values((length,), FLOAT32))[::-1], RNG.random(length)], axis=1
            )
            lists.append(whole(FLOAT32, pairs.astype(np.float32).reshape(-1)))
        yield flat_case("merge_sort", f"{lengths}", [run(2 * sum(lengths), FLOAT32), *lists])
    pairs = np.sort(values((2, 16, 2), FLOAT32), axis=1)[:, ::-1].reshape(2, 32)
    columns = Tile(FLOAT32, np.tile(pairs.reshape(4, 16), (1, 2)), ((0, 2), (0, 16)))
    given = [run(64, FLOAT32), columns, whole(FLOAT32, pairs[1])]
    yield flat_case("merge_sort", "columns", given)


@pytest.mark.parametrize(
    ("cases", "least"), [(sort_cases, 180), (piece_cases, 15)], ids=["sort", "pieces"]
)
def test_sorts_agree(cases: Any, least: int, tmp_path: Path) -> None:
    listed = list(cases())
    assert len(listed) >= least
    count, wrong = disagreements(kept(listed), tmp_path)
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:30])


def top_indices() -> Func:
    """How scripts use it: the indices of the largest, taken from a larger buffer of two rows."""

    @T.prim_func
    def k(X: T.Tensor((2, 64), "float32"), Y: T.Tensor((10,), "int32"),
          Z: T.Tensor((2, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((2, 64), "float32")
            pairs = T.alloc_ub((64,), "float32")
            index = T.alloc_ub((16,), "float32")
            y = T.alloc_ub((16,), "int32")
            with T.Scope("V"):
                T.copy(X, x)
                T.barrier_all()
                T.tile.topk(pairs, x, 10, 128)
                T.pipe_barrier("v")
                T.tile.gather_mask(index, pairs[0:20], "P1010")
                T.pipe_barrier("v")
                T.tile.cast(y, index, mode="CAST_ROUND", count=10)
                T.barrier_all()
                T.copy(y[0:10], Y)
                T.copy(x, Z)

    return k


def test_top_indices(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    batch.add(top_indices())
    batch.build()
    x = values((2, 64), FLOAT32)
    given = [x, np.zeros(10, np.int32), np.zeros((2, 64), np.float32)]
    outcome = batch.run(0, given, checks=STRICT)
    assert outcome.error is None, outcome.error.text
    assert (outcome.arrays[1] == np.argsort(-x.reshape(-1))[:10]).all()
    assert (outcome.arrays[2] == x).all()


@pytest.mark.parametrize(
    ("name", "given", "slug"),
    [
        ("sort", [(FLOAT32, 64), (FLOAT32, 64), 64], "shape-mismatch"),
        ("sort", [(FLOAT32, 128), (FLOAT32, 64), 65], "sort-count"),
        ("sort", [(FLOAT16, 128), (FLOAT32, 64), 64], "dtype-mismatch"),
        ("sort", [(FLOAT32, 128), (FLOAT32, 64), 6.5], "dtype-mismatch"),
        ("sort", [(INT32, 128), (INT32, 64), 64], "operand-dtype"),
        ("topk", [(FLOAT32, 200), (FLOAT32, 64), 100, 64], "sort-count"),
        ("topk", [(FLOAT32, 8), (FLOAT32, 9000), 4, 9000], "sort-size"),
        ("sort32", [(FLOAT32, 80), (FLOAT32, 40), (UINT32, 40)], "sort-group"),
        ("merge_sort", [(FLOAT32, 80), (FLOAT32, 80)], "arity"),
        ("merge_sort", [(FLOAT32, 80), (FLOAT32, 41), (FLOAT32, 39)], "merge-size"),
        ("merge_sort", [(FLOAT32, 80), (FLOAT32, 40), (FLOAT32, 32)], "shape-mismatch"),
        ("merge_sort", [(FLOAT16, 80), (FLOAT16, 40), (FLOAT16, 40)], "operand-dtype"),
    ],
)
def test_refused(name: str, given: list[Any], slug: str) -> None:
    def operand(g: Any) -> Any:
        return whole(g[0], values((g[1],), FLOAT32).astype(g[0].compute))

    operands = [operand(g) if isinstance(g, tuple) else g for g in given]
    with pytest.raises(KernelError) as caught:
        flat_case(name, "x", operands)
    assert caught.value.slug == slug
