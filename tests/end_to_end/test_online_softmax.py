"""`T.tile.softmax_flash_v2` against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}
UNTOUCHED = 7.0


def one_step(
    rows: int, n: int, dtype: str, columns: Any, live: Any, column: bool = False,
    in_place: bool = True,
) -> Any:  # fmt: skip
    """A step whose numbers of columns are given, or known when the kernel runs (None)."""
    vector = (rows, 1) if column else (1, rows)

    @T.prim_func
    def k(X: T.Tensor((rows, n), dtype), M: T.Tensor(vector, dtype), S: T.Tensor(vector, dtype),
          P: T.Tensor((rows, n), dtype), OM: T.Tensor(vector, dtype), OS: T.Tensor(vector, dtype),
          E: T.Tensor(vector, dtype), c: T.int32, a: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, n), dtype)
            p = x if in_place else T.alloc_ub((rows, n), dtype)
            m = T.alloc_ub(vector, dtype)
            s = T.alloc_ub(vector, dtype)
            om = m if in_place else T.alloc_ub(vector, dtype)
            os = s if in_place else T.alloc_ub(vector, dtype)
            e = T.alloc_ub(vector, dtype)
            tmp = T.alloc_ub((1024,), "uint8")
            compact = T.alloc_ub((rows, n), dtype)
            T.copy(X, x)
            T.copy(M, m)
            T.copy(S, s)
            if not in_place:
                T.tile.fill(p, UNTOUCHED)
            T.tile.softmax_flash_v2(
                p, os, om, e, x, s, m, tmp, compact,
                c if columns is None else columns, a if live is None else live,
            )  # fmt: skip
            T.copy(p, P)
            T.copy(om, OM)
            T.copy(os, OS)
            T.copy(e, E)

    return k


def numbers(rows: int, n: int, dtype: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rows, n)).astype(dtype)
    m = (rng.standard_normal(rows) + 1).astype(dtype)
    return x, m, rng.uniform(1, 2, rows).astype(dtype)


def expected(x: Any, m: Any, s: Any, columns: int, live: int, behind: Any) -> tuple[Any, ...]:
    wide, m, s = x.astype(float), m.astype(float), s.astype(float)
    peak = np.maximum(m, wide[:, :live].max(1))
    p = np.asarray(behind, float).copy()
    p[:, :columns] = np.exp(wide[:, :columns] - peak[:, None])
    scale = np.exp(m - peak)
    return p, peak, s * scale + p[:, :live].sum(1), scale


CASES = [
    ("float32", 64, 128, 64, 60),
    ("float32", 64, 128, 128, 128),
    ("float32", 5, 72, 40, 33),
    ("float32", 1, 16, 8, 1),
    ("float16", 64, 128, 64, 60),
    ("float16", 3, 48, 48, 47),
]


@pytest.mark.parametrize(("dtype", "rows", "n", "columns", "live"), CASES)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("in_place", "column"), [(True, False), (False, True)])
def test_one_step(
    dtype: str, rows: int, n: int, columns: int, live: int, known: bool, in_place: bool,
    column: bool,
) -> None:  # fmt: skip
    given = (columns, live) if known else (None, None)
    k = one_step(rows, n, dtype, *given, column=column, in_place=in_place)
    x, m, s = numbers(rows, n, dtype)
    shape = (rows, 1) if column else (1, rows)
    got = [np.zeros((rows, n), dtype), *(np.zeros(shape, dtype) for _ in range(3))]
    arrays = (x, m.reshape(shape), s.reshape(shape), *got)
    compile(k, pass_configs=AUTOMATIC)(*map(torch.from_numpy, arrays), columns, live)
    want = expected(x, m, s, columns, live, x if in_place else np.full_like(x, UNTOUCHED))
    near = 2e-6 if dtype == "float32" else 8e-3
    for found, right in zip(got, want, strict=True):
        np.testing.assert_allclose(found.reshape(right.shape), right, rtol=near, atol=near)


def softmax_in_blocks(width: int, by_hand: bool) -> Any:
    @T.prim_func
    def k(X: T.Tensor((8, 96), "float32"), Y: T.Tensor((8, 1), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((8, width), "float32")
            m = T.alloc_ub((8, 1), "float32")
            s = T.alloc_ub((8, 1), "float32")
            e = T.alloc_ub((8, 1), "float32")
            T.tile.fill(m, -1e30)
            T.tile.fill(s, 0.0)
            for i in T.serial(96 // width):
                if by_hand:
                    T.barrier_all()
                T.copy(X[:, i * width : (i + 1) * width], x)
                if by_hand:
                    T.barrier_all()
                T.tile.softmax_flash_v2(x, s, m, e, x, s, m)
            T.tile.ln(s, s)
            if by_hand:
                T.pipe_barrier("v")
            T.tile.add(s, s, m)
            if by_hand:
                T.barrier_all()
            T.copy(s, Y)

    return k


@pytest.mark.parametrize("width", [96, 32, 24])
@pytest.mark.parametrize("by_hand", [True, False])
def test_steps_give_the_softmax_of_all_columns(width: int, by_hand: bool) -> None:
    """With flags of its own too: the steps keep their order themselves."""
    x = np.random.default_rng(5).standard_normal((8, 96)).astype(np.float32) * 4
    y = np.zeros((8, 1), np.float32)
    kernel = compile(softmax_in_blocks(width, by_hand), pass_configs={} if by_hand else AUTOMATIC)
    kernel(torch.from_numpy(x), torch.from_numpy(y))
    want = np.log(np.exp(x.astype(float)).sum(1, keepdims=True))
    np.testing.assert_allclose(y, want, rtol=1e-5)


WRONG = [
    (lambda x, y, v: T.tile.softmax_flash_v2(x, v, v, y, x, v, v), "operand-overlap"),
    (lambda x, y, v: T.tile.softmax_flash_v2(x, 1, v, y, x, v, v), "operand-kind"),
    (lambda x, y, v: T.tile.softmax_flash_v2(x, v, y, v, x, v, v), "operand-overlap"),
    (lambda x, y, v: T.tile.softmax_flash_v2(x, v, y, 3, x, v, v), "operand-kind"),
]


@pytest.mark.parametrize(("call", "slug"), WRONG)
def test_what_is_no_step(call: Any, slug: str) -> None:
    def k(X: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((8, 64), "float32")
            y = T.alloc_ub((8, 1), "float32")
            v = T.alloc_ub((8, 1), "float32")
            call(x, y, v)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug


@pytest.mark.parametrize("name", ["col_count", "actual_col"])
@pytest.mark.parametrize("number", [0, 65, 1.5])
def test_columns_there_are_not(name: str, number: Any) -> None:
    columns, live = (number, None) if name == "col_count" else (None, number)

    def k(X: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((8, 64), "float32")
            e = T.alloc_ub((8, 1), "float32")
            m = T.alloc_ub((8, 1), "float32")
            s = T.alloc_ub((8, 1), "float32")
            T.tile.softmax_flash_v2(x, s, m, e, x, s, m, col_count=columns, actual_col=live)

    with pytest.raises(KernelError, match=name):
        T.prim_func(k)
