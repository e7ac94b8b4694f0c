"""Loops over rows with a scalar for each row: one operation on all rows, and bit by bit what the
loop gives; loops whose iterations meet stay loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, DTYPES, Automatic, For, Func
from tile_ir.costs.timing import timing_of
from tile_ir.dtypes import from_bytes, to_bytes
from tile_ir.traversal import walk
from tile_runtime.simulator.timeline import timeline_from

from .kernel_batch import KernelBatch, interpreted

OPERATIONS = ("add", "sub", "mul", "div", "max", "min")
SIZES = ((1, 8), (2, 16), (7, 33), (8, 64), (13, 100), (40, 24), (64, 128))
TYPES = ("float32", "float16", "int32", "int16")


def tile_loop(name: str, dtype: str, rows: int, columns: int) -> Func:
    """The loop over tile operations, in a slice of a wider buffer."""
    operation = getattr(T.tile, name)
    block = 32 // DTYPES[dtype].size
    width = -(-(columns + block) // block) * block

    @T.prim_func
    def k(X: T.Tensor((rows, width), dtype), M: T.Tensor((rows,), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((rows, width), dtype)
            m = T.alloc_ub((rows,), dtype)
            T.copy(X, x)
            T.copy(M, m)
            T.barrier_all()
            for h in T.serial(rows):
                operation(x[h, block : block + columns], x[h, block : block + columns], m[h])
            T.barrier_all()
            T.copy(x, X)

    return k


def lines_loop(name: str, dtype: str, rows: int, columns: int) -> Func:
    """The same as a serial loop around a parallel one; the scalar stands left."""
    block = 32 // DTYPES[dtype].size
    width = -(-(columns + block) // block) * block

    def value(x: Any, m: Any) -> Any:
        match name:
            case "add":
                return m + x
            case "sub":
                return x - m
            case "mul":
                return m * x
            case "div":
                return x / m
            case "max":
                return T.max(m, x)
        return T.min(x, m)

    @T.prim_func
    def k(X: T.Tensor((rows, width), dtype), M: T.Tensor((rows,), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((rows, width), dtype)
            m = T.alloc_ub((rows,), dtype)
            T.copy(X, x)
            T.copy(M, m)
            T.barrier_all()
            for h in T.serial(rows):
                for j in T.Parallel(columns):
                    x[h, block + j] = value(x[h, block + j], m[h])
            T.barrier_all()
            T.copy(x, X)

    return k


def cases() -> list[tuple[str, str, int, int, Any]]:
    return [
        (name, dtype, rows, columns, form)
        for name in OPERATIONS
        for dtype in TYPES
        if name != "div" or DTYPES[dtype].is_float
        for number, (rows, columns) in enumerate(SIZES)
        for form in (tile_loop, lines_loop)
        if (number + (form is lines_loop)) % 2 == 0 or dtype == "float32"
    ]


def arguments(dtype: str, func: Func) -> list[Any]:
    rng = np.random.default_rng(2)
    shapes = [tuple(d.value for d in t.shape) for t in func.tensors]
    if DTYPES[dtype].is_integer:
        return [rng.integers(-99, 99, s).astype(dtype) for s in shapes]
    x, m = (to_bytes(rng.standard_normal(s), DTYPES[dtype]) for s in shapes)
    x.reshape(-1)[:3] = np.array([0.0, -0.0, np.inf], dtype)
    return [x, np.where(m == 0, np.array(1, dtype), m)]


def test_row_loops_are_operations_on_all_rows(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = []
    given_cases = cases()
    assert len(given_cases) > 150
    for name, dtype, rows, columns, form in kept(given_cases):
        func = form(name, dtype, rows, columns)
        left = (Automatic.SYNC, Automatic.MEMORY) if len(listed) % 3 == 0 else ()
        number = batch.add(func, left)
        loops = [s for s in walk(batch.funcs[number].launch.body) if isinstance(s, For)]
        assert not loops or rows == 1, f"{name} {dtype} {rows}x{columns}"
        listed.append((number, f"{name} {dtype} {rows}x{columns} {form.__name__}", dtype, func))
    batch.build()
    wrong = []
    for number, label, dtype, func in listed:
        given = arguments(dtype, func)
        outcome = batch.run(number, given, checks=2)
        if outcome.error is not None:
            wrong.append(f"{label}: {outcome.error.kind}: {outcome.error.text}")
            continue
        want = interpreted(func, given)[0]
        if not np.array_equal(outcome.arrays[0].view(np.uint8), want.view(np.uint8)):
            got, expected = (from_bytes(a, DTYPES[dtype]) for a in (outcome.arrays[0], want))
            wrong.append(f"{label}: {got} is not {expected}")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:10])


@pytest.mark.parametrize("form", [tile_loop, lines_loop], ids=lambda f: f.__name__)
def test_at_least_five_times_as_fast(form: Any, tmp_path: Path) -> None:
    """64 rows of 128 floats: the modelled time beside that of the loop, which a row that other
    iterations write keeps a loop; both without the copies, which take the same in both."""

    @T.prim_func
    def copies(X: T.Tensor((64, 136), "float32"), M: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((64, 136), "float32")
            m = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.copy(M, m)
            T.barrier_all()
            T.copy(x, X)

    @T.prim_func
    def dependent(X: T.Tensor((64, 136), "float32"), M: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((64, 136), "float32")
            m = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            T.copy(M, m)
            T.barrier_all()
            for h in T.serial(63):
                T.tile.sub(x[h + 1, 8:136], x[h, 8:136], m[h])
            T.barrier_all()
            T.copy(x, X)

    batch = KernelBatch(tmp_path)
    kernels = (copies, dependent, form("sub", "float32", 64, 128))
    numbers = [batch.add(func) for func in kernels]
    batch.build()
    times = []
    for number in numbers:
        given = arguments("float32", batch.funcs[number])
        outcome = batch.run(number, given, checks=2, timing=timing_of(DEFAULT_TARGET))
        assert outcome.error is None, outcome.error.text
        timeline = timeline_from(*outcome.timeline, DEFAULT_TARGET)
        times.append(timeline.body_microseconds)
    copied, looped, at_once = times
    assert looped - copied > 5 * (at_once - copied), times
