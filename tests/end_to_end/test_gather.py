"""Gathers by offset, index, pattern, bits and blocks: types, lengths, regions, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
import tile_ir
from tile_ir import DType, Func, KernelError
from tile_ir.dtypes import BFLOAT16, FLOAT16, FLOAT32, INT16, INT32, UINT16, UINT32
from tile_ir.expr import Var
from tile_ir.ops.gather import PATTERNS

from .flat_op_kernels import STRICT, FlatCase, Tile, disagreements, flat_case, whole
from .kernel_batch import KernelBatch

RNG = np.random.default_rng(7)
TYPES = (INT16, UINT16, FLOAT16, BFLOAT16, INT32, UINT32, FLOAT32)


def some(shape: tuple[int, ...], dtype: DType) -> Any:
    return RNG.integers(0, 1000, shape).astype(dtype.compute)


def padded(count: int, size: int = 4) -> int:
    return -(-count * size // 32) * 32 // size


def gather_cases() -> Iterator[FlatCase]:
    at, n = Var("at"), Var("n")
    for dtype in TYPES:
        for count in (1, 7, 64, 129, 1000):
            src = whole(dtype, some((padded(500, dtype.size),), dtype))
            offset = Tile(UINT32, some((padded(count),), UINT32) // 3 * dtype.size, ((0, count),))
            dst = Tile(dtype, some((padded(count, dtype.size),), dtype), ((0, count),))
            for base in (0, 2 * dtype.size):
                yield flat_case("gather", f"{dtype}-{count}-{base}", [dst, src, offset, base])
            index = Tile(UINT32, some((padded(count),), UINT32) // 3, ((0, count),))
            yield flat_case("gather_elements", f"{dtype}-{count}", [dst, src, index])
        block = 32 // dtype.size
        rows = Tile(dtype, some((4, 2 * block), dtype), ((at, 1), (0, 2 * block)))
        table = RNG.integers(0, 2 * block, (4, 2 * block))
        line = ((at, 1), (0, 2 * block))
        for row in (0, 2, 3):
            offset = Tile(INT32, (table * dtype.size).astype(np.int32), line)
            given = [rows, rows, offset, 0]
            given[0] = Tile(dtype, some((4, 2 * block), dtype), line)
            yield flat_case("gather", f"{dtype}-row-{row}", given, (), [(at, row)])
        columns = ((0, 4), (block, block))
        dst = Tile(dtype, some((4, 3 * block), dtype), columns)
        few = whole(INT32, RNG.integers(0, 64, (4, block)).astype(np.int32))
        src = whole(dtype, some((64,), dtype))
        yield flat_case("gather_elements", f"{dtype}-columns", [dst, src, few])
        bytes_ = whole(INT32, few.values * dtype.size)
        yield flat_case("gather", f"{dtype}-columns", [dst, src, bytes_, 0])
    for count in (0, 1, 70, 128):
        run = ((0, n),)
        given = [Tile(FLOAT32, some((128,), FLOAT32), run), whole(FLOAT32, some((64,), FLOAT32)),
                 Tile(UINT32, RNG.integers(0, 64, 128).astype(np.uint32) * 4, run), 0]  # fmt: skip
        yield flat_case("gather", f"run-{count}", given, (), [(n, count)])
    table = RNG.integers(0, 64, 16500).astype(np.uint32) * 4  # more than one instruction takes
    given = [whole(FLOAT32, some((16500,), FLOAT32)), whole(FLOAT32, some((64,), FLOAT32)),
             whole(UINT32, table), 0]  # fmt: skip
    yield flat_case("gather", "long", given)


def pattern_cases() -> Iterator[FlatCase]:
    n = Var("n")
    for dtype in TYPES:
        for pattern, (_, first, every) in PATTERNS.items():
            for count in (1, 2, 5, 64, 130, 1000):
                kept = len(range(first, count, every))
                if kept == 0:
                    continue
                dst = Tile(dtype, some((padded(kept, dtype.size),), dtype), ((0, kept),))
                src = Tile(dtype, some((padded(count, dtype.size),), dtype), ((0, count),))
                yield flat_case("gather_mask", f"{dtype}-{pattern}-{count}", [dst, src], (pattern,))
        block = 32 // dtype.size
        src = Tile(dtype, some((4, 3 * block), dtype), ((0, 4), (block, 2 * block)))
        dst = whole(dtype, some((4, block), dtype))
        yield flat_case("gather_mask", f"{dtype}-columns", [dst, src], ("p1010",))
    for count in (0, 1, 77, 128):
        src = Tile(FLOAT32, some((128,), FLOAT32), ((0, n),))
        dst = Tile(FLOAT32, some((64,), FLOAT32), ((0, (n + 1) // 2),))
        yield flat_case("gather_mask", f"run-{count}", [dst, src], ("p0101",), [(n, count)])


def raw_cases() -> Iterator[FlatCase]:
    for dtype in TYPES:
        kind = UINT16 if dtype.size == 2 else UINT32
        per_repeat = 256 // dtype.size
        for repeats, block, step, pattern_step in ((1, 1, 8, 1), (3, 1, 8, 0), (2, 2, 16, 1)):
            src = whole(dtype, some((4 * 4 * per_repeat,), dtype))
            bits = whole(kind, RNG.integers(0, 1 << 16, (256,)).astype(kind.compute))
            dst = whole(dtype, some((4 * per_repeat,), dtype))
            strides = [block, repeats, step, pattern_step]
            label = f"{dtype}-{repeats}-{block}"
            yield flat_case("gathermask_experiment", label, [dst, src, bits, 0, *strides], (False,))
            given = [dst, src, bits, 37, *strides]
            yield flat_case("gathermask_experiment", label + "-counted", given, (True,))
        blocks = RNG.permutation(32)
        src = whole(dtype, some((32 * 32 // dtype.size,), dtype))
        table = whole(UINT32, (blocks * 32).astype(np.uint32))
        for repeats, block, step in ((1, 1, 8), (4, 1, 8), (2, 2, 16), (2, 1, 10), (2, 0, 8)):
            dst = whole(dtype, some((32 * 32 // dtype.size,), dtype))
            label = f"{dtype}-{repeats}-{block}-{step}"
            yield flat_case("gatherb", label, [dst, src, table, repeats, block, step])


@pytest.mark.parametrize(
    ("cases", "least"),
    [(gather_cases, 130), (pattern_cases, 250), (raw_cases, 70)],
    ids=["gather", "patterns", "raw"],
)
def test_gathers_agree(cases: Any, least: int, tmp_path: Path) -> None:
    listed = list(cases())
    assert len(listed) >= least
    count, wrong = disagreements(kept(listed), tmp_path)
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:30])


def indexed_rows() -> Func:
    """As the language has it: larger buffers than are used, and indices that are used again."""

    @T.prim_func
    def k(X: T.Tensor((2, 64), "int32"), N: T.Tensor((1, 8), "uint32"),
          Y: T.Tensor((4, 8), "int32"), J: T.Tensor((1, 8), "uint32")):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((2, 64), "int32")
            i = T.alloc_ub((1, 8), "uint32")
            y = T.alloc_ub((4, 8), "int32")
            half = T.alloc_ub((2, 64), "int32")
            with T.Scope("V"):
                T.copy(X, x)
                T.copy(N, i)
                T.barrier_all()
                T.tile.fill(y, -1)
                T.tile.fill(half, 0)
                T.pipe_barrier("v")
                T.tile.gather_mask(y, x, i)
                T.pipe_barrier("v")
                T.tile.gather_mask(y[1, :], x, i)
                T.pipe_barrier("v")
                T.tile.gather_mask(half, x, "P0101")
                T.pipe_barrier("v")
                T.tile.gather_mask(y[2, :], half[0, 0:8], pattern="p1111")
                T.barrier_all()
                T.copy(y, Y)
                T.copy(i, J)

    return k


def test_indices_stay_as_they_are(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    batch.add(indexed_rows())
    batch.build()
    x = np.arange(128, dtype=np.int32).reshape(2, 64) * 3
    index = np.array([[1, 2, 2, 5, 4, 127, 0, 8]], np.uint32)
    given = [x, index, np.zeros((4, 8), np.int32), np.zeros((1, 8), np.uint32)]
    outcome = batch.run(0, given, checks=STRICT)
    assert outcome.error is None, outcome.error.text
    want = np.full((4, 8), -1)
    want[0] = want[1] = x.reshape(-1)[index]
    want[2] = x.reshape(-1)[:16:2]
    assert (outcome.arrays[2] == want).all() and (outcome.arrays[3] == index).all()


def test_gather_of_columns_is_refused() -> None:
    src = Tile(FLOAT32, some((4, 32), FLOAT32), ((0, 4), (8, 8)))
    given = [whole(FLOAT32, some((8,), FLOAT32)), src, whole(UINT32, some((8,), UINT32)), 0]
    with pytest.raises(KernelError) as caught:
        flat_case("gather", "x", given)
    assert caught.value.slug == "strided-operand" and caught.value.hint


@pytest.mark.parametrize(
    ("name", "given", "attrs", "slug"),
    [
        ("gather", [(FLOAT32, 8), (FLOAT16, 8), (UINT32, 8), 0], (), "dtype-mismatch"),
        ("gather", [(FLOAT32, 8), (FLOAT32, 8), (FLOAT32, 8), 0], (), "operand-dtype"),
        ("gather", [(FLOAT32, 8), (FLOAT32, 8), (UINT32, 8), 0.5], (), "dtype-mismatch"),
        ("gather", [(FLOAT32, 16), (FLOAT32, 8), (UINT32, 8), 0], (), "shape-mismatch"),
        ("gather_mask", [(FLOAT32, 8), (FLOAT32, 32)], ("p0101",), "shape-mismatch"),
        ("gather_mask", [(FLOAT32, 16), (FLOAT32, 32)], ("p0011",), "attribute-value"),
        ("gatherb", [(UINT16, 64), (UINT16, 64), (UINT32, 8), 1, 1, 8], (), "shape-mismatch"),
        ("gatherb", [(UINT16, 256), (UINT16, 64), (UINT32, 8), 2, 1, 8], (), "shape-mismatch"),
        ("gatherb", [(UINT16, 256), (UINT16, 64), (UINT32, 8), 256, 1, 8], (), "repeat-range"),
    ],
)
def test_refused(name: str, given: list[Any], attrs: tuple[Any, ...], slug: str) -> None:
    operands = [whole(g[0], some((g[1],), g[0])) if isinstance(g, tuple) else g for g in given]
    with pytest.raises(KernelError) as caught:
        flat_case(name, "x", operands, attrs)
    assert caught.value.slug == slug


def test_reading_beside_the_source_is_found() -> None:
    """The interpreter tells an offset that leads out of the region."""
    given = [whole(FLOAT32, some((8,), FLOAT32)), whole(FLOAT32, some((8,), FLOAT32)),
             whole(UINT32, np.full(8, 32, np.uint32)), 0]  # fmt: skip
    case = flat_case("gather", "x", given)
    with pytest.raises(tile_ir.TileError) as caught:
        tile_ir.interpret(case.func, [a.copy() for a in case.arguments])
    assert caught.value.slug == "out-of-bounds"
