"""`T.cumsum` against NumPy: both axes, both directions, all types, odd sizes, in place and not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import DTYPES, Func

from .kernel_batch import KernelBatch, interpreted

SIZES = (
    (1, 1),
    (1, 100),
    (2, 8),
    (5, 33),
    (16, 64),
    (17, 65),
    (33, 130),
    (40, 16),
    (1, 2500),
    (3, 1100),
)


def kernel(
    dtype: str, rows: int, columns: int, dim: int, reverse: bool, in_place: bool, first: int
) -> Func:
    width = -(-(columns + first) // 16) * 16

    @T.prim_func
    def k(X: T.Tensor((rows, width), dtype), Y: T.Tensor((rows, width), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((rows, width), dtype)
            y = T.alloc_ub((rows, width), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            T.barrier_all()
            if in_place:
                T.cumsum(x[:, first : first + columns], dim=dim, reverse=reverse)
            else:
                T.cumsum(x[:, first : first + columns], y[:, first : first + columns], dim, reverse)
            T.barrier_all()
            if in_place:
                T.copy(x, Y)
            else:
                T.copy(y, Y)

    return k


def line(dtype: str, reverse: bool) -> Func:
    @T.prim_func
    def k(X: T.Tensor((77,), dtype), Y: T.Tensor((77,), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((77,), dtype)
            T.copy(X, x)
            T.barrier_all()
            T.cumsum(x, x, reverse=reverse)
            T.barrier_all()
            T.copy(x, Y)

    return k


def sums(x: Any, axis: int, reverse: bool) -> Any:
    wide = x.astype(np.int64 if x.dtype.kind == "i" else np.float64)
    result = np.cumsum(np.flip(wide, axis) if reverse else wide, axis)
    return (np.flip(result, axis) if reverse else result).astype(x.dtype)


def values(shape: tuple[int, ...], dtype: str) -> Any:
    rng = np.random.default_rng(5)
    if DTYPES[dtype].is_integer:
        return rng.integers(-(2**30), 2**30, shape, dtype=dtype)
    return rng.uniform(0, 2, shape).astype(dtype)


def test_running_sums(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    listed = []
    turn = 0
    for dtype in ("float32", "float16", "int32"):
        for rows, columns in SIZES:
            for dim in (0, 1):
                turn += 1
                reverse, in_place, first = turn % 2 == 0, turn % 3 == 0, 16 * (turn % 5 == 0)
                func = kernel(dtype, rows, columns, dim - 2 * (turn % 2), reverse, in_place, first)
                x, y = (values((rows, func.tensors[0].shape[1].value), dtype) for _ in range(2))
                part = np.s_[:, first : first + columns]
                want = (x if in_place else y).copy()
                want[part] = sums(x[part], dim, reverse)
                label = f"{dtype} {rows}x{columns} dim {dim} {reverse} {in_place}"
                listed.append((batch.add(func), label, [x, y], want))
        for reverse in (False, True):
            x = values((77,), dtype)
            label = f"{dtype} line {reverse}"
            listed.append((batch.add(line(dtype, reverse)), label, [x, x], sums(x, 0, reverse)))
    batch.build()
    wrong = []
    for number, label, given, want in listed:
        outcome = batch.run(number, given, checks=2)
        if outcome.error is not None:
            wrong.append(f"{label}: {outcome.error.kind}: {outcome.error.text}")
            continue
        loose = {"float32": 2e-6, "float16": 1e-3, "int32": 0}[want.dtype.name]
        for found in (outcome.arrays[-1], interpreted(batch.funcs[number], given)[-1]):
            if not np.allclose(found.astype(float), want.astype(float), rtol=loose, atol=0):
                wrong.append(f"{label}: {found} is not {want}")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:10])
