"""`T.reduce_*` of types that have no reduction of their own, and of rows that start inside blocks of
32 bytes, against NumPy at `strict`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Automatic, Func, KernelError
from tile_ir.dtypes import DTYPES, DType, from_bytes, to_bytes

from .kernel_batch import KernelBatch

STRICT = 2
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
SHAPES = ((4, 64), (3, 33), (1, 7), (5, 1), (7, 96), (2, 130), (17, 16))
FOLDS = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def kernel(
    name: str, dtype: str, shape: tuple[int, int], dim: int, clear: bool, thin: bool, threads: int
) -> Func:
    rows, columns = shape
    operation = getattr(T, f"reduce_{name}")
    kept = rows if dim == -1 else columns
    out = (kept,) if not thin else (rows, 1) if dim == -1 else (1, columns)

    @T.prim_func
    def k(X: T.Tensor(shape, dtype), Y: T.Tensor(out, dtype)):
        with T.Kernel(1, threads=threads, is_npu=True) as (_):
            x = T.alloc_ub(shape, dtype)
            y = T.alloc_ub(out, dtype)
            T.copy(X, x)
            T.copy(Y, y)
            T.barrier_all()
            operation(x, y, dim=dim, clear=clear)
            T.barrier_all()
            T.copy(y, Y)
            T.copy(x, X)

    return k


def expected(name: str, kind: DType, x: Any, old: Any, axis: int, clear: bool) -> Any:
    fold = FOLDS[name]
    if kind.is_integer:
        result = fold.reduce(x, axis=axis, dtype=x.dtype)
        return result if clear else fold(old, result)
    result = rounded(fold.reduce(x.astype(np.float64), axis=axis), kind)
    return result if clear else rounded(fold(old, result), kind)


def rounded(values: Any, kind: DType) -> Any:
    return from_bytes(to_bytes(values, kind), kind)


@pytest.mark.parametrize(
    "dtype", ["int32", "int16", "uint8", "int8", "bfloat16", "float32", "float16"]
)
@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_reductions_of_any_type(name: str, dtype: str, tmp_path: Path) -> None:
    kind = DTYPES[dtype]
    batch, rng, listed = KernelBatch(tmp_path), np.random.default_rng(3), []
    for count, shape in enumerate(SHAPES):
        for dim in (-1, 0):
            for clear in (True, False):
                order = AUTOMATIC if count % 2 else ()
                thin = count % 3 == 0
                threads = 2 if count % 4 == 1 else 1
                func = kernel(name, dtype, shape, dim, clear, thin, threads)
                listed.append((batch.add(func, order), shape, dim, clear))
    batch.build()
    wrong = []
    for number, shape, dim, clear in listed:
        kept = shape[0] if dim == -1 else shape[1]
        if kind.is_integer:
            low, high = kind.limits()
            x, old = (rng.integers(low, high, s, endpoint=True) for s in (shape, kept))
        else:  # sums are exact whatever their order
            x, old = (rng.integers(-8, 9, s) for s in (shape, kept))
        x, old = x.astype(kind.compute), old.astype(kind.compute)
        out = batch.funcs[number].tensors[1].static_shape()
        given = [to_bytes(x, kind), to_bytes(old, kind).reshape(out)]
        outcome = batch.run(number, given, checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{shape} {dim} {clear}: {outcome.error.text}")
            continue
        want = expected(name, kind, x, old, 1 if dim == -1 else 0, clear)
        if not np.array_equal(from_bytes(outcome.arrays[1], kind).reshape(-1), want):
            wrong.append(f"{shape} {dim} {clear}: {outcome.arrays[1]} is not {want}")
        if not np.array_equal(from_bytes(outcome.arrays[0], kind), x):
            wrong.append(f"{shape} {dim} {clear}: the operand was changed")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:10])


def test_a_run_time_shape_is_told_what_to_write() -> None:
    with pytest.raises(KernelError, match="run-time shape") as caught:

        @T.prim_func
        def k(X: T.Tensor((8, 64), "int32"), n: T.int32):
            with T.Kernel(1, threads=1, is_npu=True) as (_):
                x = T.alloc_ub((8, 64), "int32")
                y = T.alloc_ub((8,), "int32")
                T.copy(X, x)
                T.reduce_max(x, y, dim=-1, real_shape=[8, n])

    assert caught.value.diagnostic.hint == "reduce the whole tile, or cast it to float32 first"
