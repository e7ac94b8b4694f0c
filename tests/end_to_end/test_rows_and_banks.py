"""Rows of a matrix against a value each, and reduced to a value each: right wherever rows and their
values lie, and without bank conflicts between both where there is room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from kept_cases import running

import tile_frontend as T
from tile_codegen_ascendc import emit
from tile_ir import DEFAULT_TARGET, Automatic, Func
from tile_ir.costs.timing import timing_of
from tile_runtime.simulator.timeline import timeline_from

from .kernel_batch import KernelBatch

STRICT = 2
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
ROWS = (1, 7, 8, 12, 31, 40)
FEW = (1, 2, 7, 8, 9, 24, 25)
COLUMNS = (64, 112, 128, 256)
REDUCED = (64, 128, 192, 320, 512, 1024)
NARROW = (1, 3, 8)
TYPES = ("float32", "float16", "int32")
# Bytes of ub in front of the matrix.
BEFORE = (0, 32, 224)
FOLDS = {"max": T.reduce_max, "sum": T.reduce_sum, "min": T.reduce_min}


def against(rows: int, columns: int, dtype: str, before: int, left: int = 0) -> Func:
    """y = x - v[row], with x so many bytes behind the beginning of ub; `left` are taken besides."""

    @T.prim_func
    def subtract(
        X: T.Tensor((rows, columns), dtype),
        V: T.Tensor((rows,), dtype),
        Y: T.Tensor((rows, columns), dtype),
    ):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            other = T.alloc_ub((before + 32 + left,), "uint8")
            x = T.alloc_ub((rows, columns), dtype)
            v = T.alloc_ub((rows,), dtype)
            with T.Scope("V"):
                if vid == 0:
                    T.tile.fill(other, 0)
                    T.copy(X, x)
                    T.copy(V, v)
                    T.tile.row_expand_sub(x, x, v)
                    T.copy(x, Y)

    return subtract


def reduced(rows: int, columns: int, fold: str, pitch: int = 0) -> Func:
    """A value for each row, between others that stay; rows may begin further apart."""
    reduce, room, pitch = FOLDS[fold], (rows + 7) // 8 * 8, pitch or columns

    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((2, room), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, is_npu=True) as (cid, vid):
            x = T.alloc_ub((rows, pitch), "float32")
            y = T.alloc_ub((2, room), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(X, x[:, 0:columns])
                    T.tile.fill(y, 7.0)
                    reduce(x[:, 0:columns], y[0, 0:rows], dim=-1)
                    T.copy(y, Y)

    return main


@dataclass
class Kernels:
    """Kernels of one translation unit, by what they were made of."""

    batch: KernelBatch
    number: dict[Any, int] = field(default_factory=dict)

    def add(self, key: Any, func: Func) -> None:
        self.number[key] = self.batch.add(func, AUTOMATIC)

    def run(self, key: Any, arrays: list[Any], **options: Any) -> Any:
        outcome = self.batch.run(self.number[key], arrays, **options)
        assert outcome.error is None, outcome.error
        return outcome

    def source(self, key: Any) -> str:
        return emit(self.batch.funcs[self.number[key]], DEFAULT_TARGET)


@pytest.fixture(scope="module")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """Those of the cases that run."""
    made = Kernels(KernelBatch(tmp_path_factory.mktemp("rows")))
    dtypes, columns_run = running(request, "dtype"), running(request, "columns")
    for dtype in (t for t in TYPES if t in dtypes):
        for columns in (c for c in COLUMNS if c in columns_run):
            for i, rows in enumerate(ROWS):
                made.add((rows, columns, dtype), against(rows, columns, dtype, BEFORE[i % 3]))
    for before in sorted(running(request, "before")):
        made.add(("timed", before), against(33, 512, "float32", before))
    made.add("no room", against(16, 512, "float32", 0, 150 * 1024))
    for fold in sorted(running(request, "fold")):
        for columns in (c for c in REDUCED if c in columns_run):
            for rows in FEW:
                made.add((fold, rows, columns), reduced(rows, columns, fold))
        for columns in (c for c in NARROW if c in columns_run):
            for rows in (1, 8, 19, 40):
                for pitch in (8, 24, 64):
                    made.add((fold, rows, columns, pitch), reduced(rows, columns, fold, pitch))
    made.batch.build()
    return made


def numbers(rows: int, columns: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(rows * columns).integers(-50, 50, (rows, columns)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("columns", COLUMNS)
def test_rows_against_values(kernels: Kernels, columns: int, dtype: str) -> None:
    for rows in ROWS:
        x, v = numbers(rows, columns, dtype), numbers(rows, 3, dtype)[:, 0].copy()
        key = rows, columns, dtype
        found = kernels.run(key, [x, v, np.zeros_like(x)], checks=STRICT).arrays[2]
        assert np.array_equal(found, x - v[:, None]), key
        if columns * x.itemsize % 512 == 0 and rows >= 8:
            assert "with_column_apart" in kernels.source(key)


def slowed(kernels: Kernels, key: Any, rows: int) -> float:
    """Cycles that subtractions wait for banks."""
    x = np.zeros((rows, 512), "float32")
    arrays = [x, np.zeros(rows, "float32"), x]
    timed = kernels.run(key, arrays, timing=timing_of(DEFAULT_TARGET), checks=0).timeline
    line = timeline_from(*timed, DEFAULT_TARGET)
    return float(sum(e["slowed"] for e in line.events if line.strings[e["api"]] == "Sub"))


@pytest.mark.parametrize("before", [*BEFORE, 64, 256])
def test_no_conflicts_wherever_the_matrix_lies(kernels: Kernels, before: int) -> None:
    assert slowed(kernels, ("timed", before), 33) == 0


def test_conflicts_stay_where_there_is_no_room(kernels: Kernels) -> None:
    assert "with_column_apart" not in kernels.source("no room")
    assert slowed(kernels, "no room", 16) > 0


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("columns", REDUCED)
def test_any_number_of_rows(kernels: Kernels, columns: int, fold: str) -> None:
    for rows in FEW:
        x, y = numbers(rows, columns), np.zeros((2, (rows + 7) // 8 * 8), "float32")
        found = kernels.run((fold, rows, columns), [x, y], checks=STRICT).arrays[1]
        assert np.array_equal(found[0, :rows], getattr(x, fold)(axis=1))
        assert (found[0, rows:] == 7).all()
        assert (found[1] == 7).all()


@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("columns", NARROW)
def test_rows_of_a_block(kernels: Kernels, columns: int, fold: str) -> None:
    for key in (k for k in kernels.number if k[0] == fold and k[2:3] == (columns,) and k[3:]):
        x, y = numbers(key[1], columns), np.zeros((2, (key[1] + 7) // 8 * 8), "float32")
        found = kernels.run(key, [x, y], checks=STRICT).arrays[1]
        assert np.array_equal(found[0, : key[1]], getattr(x, fold)(axis=1)), key
        assert (found[0, key[1] :] == 7).all()
        assert (found[1] == 7).all()
