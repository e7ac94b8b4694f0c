"""`T.reduce_*` as scripts call it (docs/language/rules.md#reductions): simulator (strict) against
NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_frontend as T
from tile_ir import Func, KernelError
from tile_runtime.launcher.native import launcher

from .kernel_batch import KernelBatch, interpreted

NUMPY = {"sum": np.sum, "max": np.max, "min": np.min}
COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum}
START = 2.0  # what `out` holds before
# Rows that are reduced a block of 32 bytes at a time: once, twice, with a rest of less than a repeat
# or of more, with enough rows that the rest is reduced in blocks too, and in two instructions.
WIDE = ((3, 512), (5, 1024), (2, 4096), (7, 192), (4, 768), (2, 4160), (30, 512), (66, 576))


def reduction(
    kind: str, dtype: str, shape: tuple[int, ...], out: tuple[int, ...], *args: Any, **kwargs: Any
) -> Func:
    """Load, reduce, store; `generic` goes through T.reduce."""
    generic = kwargs.pop("generic", False)

    def call(x: Any, y: Any) -> Any:
        if generic:
            return T.reduce(x, y, f"reduce_{kind}", *args, **kwargs)
        return getattr(T, f"reduce_{kind}")(x, y, *args, **kwargs)

    @T.prim_func
    def k(X: T.Tensor(shape, dtype), Y: T.Tensor(out, dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub(shape, dtype)
            y = T.alloc_ub(out, dtype)
            T.copy(X, x)
            T.tile.fill(y, START)
            T.barrier_all()
            call(x, y)
            T.barrier_all()
            T.copy(y, Y)

    return k


def values(shape: tuple[int, ...], dtype: str) -> Any:
    """Small whole numbers: sums are exact in any order and type."""
    rng = np.random.default_rng(sum(shape))
    return rng.integers(-9, 9, shape).astype(dtype)


def cases() -> list[tuple[Func, tuple[int, ...], Any]]:
    """The kernel, the shape of its source, and the expected `out` as a function of the source."""
    result: list[tuple[Func, tuple[int, ...], Any]] = []

    def add(kind: str, dtype: str, shape: Any, out: Any, want: Any, *args: Any, **kw: Any) -> None:
        func = reduction(kind, dtype, shape, out, *args, **kw)

        def expected(x: Any) -> Any:
            full = np.full(out, START, dtype)
            part = np.asarray(want(x.astype(np.float64)))
            flat = full.reshape(-1)
            old = flat[: part.size].copy()
            clear = kw.get("clear", True) and False not in [a for a in args if a is False]
            new = part.reshape(-1).astype(dtype)
            flat[: part.size] = new if clear else COMBINE[kind](old, new)
            return full

        result.append((func, shape, expected))

    for kind, fn in NUMPY.items():
        for dtype in ("float32", "float16"):
            m, n = 6, 48
            for dim in (1, -1):
                add(kind, dtype, (m, n), (m,), lambda x, f=fn: f(x, axis=1), dim)
                add(kind, dtype, (m, n), (m, 1), lambda x, f=fn: f(x, axis=1), dim, clear=False)
            for dim in (0, -2):
                add(kind, dtype, (m, n), (n,), lambda x, f=fn: f(x, axis=0), dim)
                add(kind, dtype, (m, n), (1, n), lambda x, f=fn: f(x, axis=0), dim, False)
            add(kind, dtype, (200,), (1,), lambda x, f=fn: f(x), 0)
            add(kind, dtype, (200,), (1,), lambda x, f=fn: f(x), clear=False)
            add(kind, dtype, (2, 5, 32), (5,), lambda x, f=fn: f(x[0], axis=1), 1)
            add(kind, dtype, (2, 5, 32), (32,), lambda x, f=fn: f(x[0], axis=0), 0)
            add(
                kind, dtype, (m, n), (m,), lambda x, f=fn: f(x[:3, :17], axis=1), -1,
                real_shape=[3, 17],
            )  # fmt: skip
            add(kind, dtype, (m, n), (n,), lambda x, f=fn: f(x[:4], axis=0), 0, [4, 0])
            add(
                kind, dtype, (m, n), (1, n), lambda x, f=fn: f(x[:3, :16], axis=0), 0, [3, 16],
                False,
            )  # fmt: skip
            add(
                kind, dtype, (m, n), (m,), lambda x, f=fn: f(x, axis=1), 1, None, True, generic=True
            )  # fmt: skip
        for shape in WIDE:
            add(kind, "float32", shape, shape[:1], lambda x, f=fn: f(x, axis=1), -1)
        part = (3, 512)
        add(
            kind, "float32", (5, 576), (5,), lambda x, f=fn: f(x[:3, :512], axis=1), -1,
            real_shape=list(part), clear=False,
        )  # fmt: skip
    return result


def test_forms_of_the_call(tmp_path: Path) -> None:
    batch, given = KernelBatch(tmp_path), list(cases())
    assert len(given) > 80
    listed = [(batch.add(func), func, shape, want) for func, shape, want in kept(given)]
    batch.build()
    wrong = []
    for number, func, shape, want in listed:
        out = func.tensors[1]
        dtype = out.dtype.name
        arrays = [values(shape, dtype), np.zeros(out.static_shape() or (), dtype)]
        outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
        expected = want(arrays[0])
        if outcome.error is not None:
            wrong.append(f"{number} {func.name}: {outcome.error.text}")
        elif not np.array_equal(outcome.arrays[1], expected):
            wrong.append(f"{number}: {outcome.arrays[1]} for {expected}")
        elif not np.array_equal(interpreted(func, arrays)[1], expected):
            wrong.append(f"{number}: the interpreter differs")
    assert not wrong, f"{len(wrong)} of {len(listed)}\n" + "\n".join(wrong[:5])


def runtime_shape(kind: str, dim: int, clear: bool, dtype: str) -> Func:
    """`real_shape` and slices whose sizes are known when the kernel runs."""
    operation = getattr(T, f"reduce_{kind}")
    size = 8 if dim == 1 else 96

    @T.prim_func
    def k(X: T.Tensor((8, 96), dtype), m: T.int32, n: T.int32, Y: T.Tensor((2, 96), dtype)):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((8, 96), dtype)
            y = T.alloc_ub((size,), dtype)
            z = T.alloc_ub((96,), dtype)
            T.copy(X, x)
            T.tile.fill(y, START)
            T.tile.fill(z, START)
            T.barrier_all()
            operation(x, y, dim, clear=clear, real_shape=[m, n])
            T.pipe_barrier("v")
            operation(x[2 : 2 + m, 16 : 16 + n], z[0 : m if dim == 1 else n], dim, clear=clear)
            T.barrier_all()
            T.copy(y, Y[0, 0:size])
            T.copy(z, Y[1, :])

    return k


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_runtime_sizes(dtype: str, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    kernels = {
        (kind, dim, clear): batch.add(runtime_shape(kind, dim, clear, dtype))
        for kind in NUMPY
        for dim in (0, 1)
        for clear in (True, False)
    }
    batch.build()
    x = values((8, 96), dtype)
    for (kind, dim, clear), number in kernels.items():
        for m, n in ((1, 1), (3, 17), (6, 80), (5, 64), (2, 0), (0, 4)):
            if (m, n)[1 - dim] == 0 and not clear:
                continue
            arrays = [x, m, n, np.full((2, 96), START, dtype)]
            outcome = batch.run(number, arrays, checks=launcher().CHECKS_STRICT)
            assert outcome.error is None, (kind, dim, clear, m, n, outcome.error.text)
            expected = np.full((2, 96), START, dtype)
            for row, part in enumerate((x[:m, :n], x[2 : 2 + m, 16 : 16 + n])):
                first = {"sum": 0, "max": -np.inf, "min": np.inf}[kind]
                new = NUMPY[kind](part.astype(np.float64), axis=dim, initial=first)
                old = expected[row, : new.size]
                expected[row, : new.size] = new if clear else COMBINE[kind](old, new)
            assert np.array_equal(outcome.arrays[3], expected), (kind, dim, clear, m, n)
            assert np.array_equal(interpreted(batch.funcs[number], arrays)[3], expected)


def slug(shape: tuple[int, ...], out: tuple[int, ...], *args: Any, **kwargs: Any) -> str:
    with pytest.raises(KernelError) as caught:
        reduction("sum", "float32", shape, out, *args, **kwargs)
    assert caught.value.loc is not None
    return caught.value.slug


def test_what_is_wrong_is_said() -> None:
    assert slug((4, 8), (8,), 2) == "reduce-axis"
    assert slug((4, 8), (8,), -3) == "reduce-axis"
    assert slug((8,), (1,), 1) == "reduce-axis"
    assert slug((4, 8), (4,), 1.0) == "attribute-type"
    assert slug((4, 8), (4,), "1") == "attribute-type"
    assert slug((4, 8), (8,), 1) == "shape-mismatch"
    assert slug((4, 8), (4,), 1, True, False) == "arity"
    assert slug((4, 8), (4,), 1, [4, 8], [4, 8]) == "arity"
    assert slug((4, 8), (4,), 1, [4, 8, 1]) == "arity"
    assert slug((4, 12), (4,), 1, real_shape=[4, 8]) == "row-alignment"
    assert slug((4, 8), (4,), 1, real_shape=[5, 8]) == "reduce-shape"
