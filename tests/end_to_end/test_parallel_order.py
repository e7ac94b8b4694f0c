"""Iterations of `T.Parallel` that use elements which other iterations write: a statement reads all of
its elements before it writes any, or the kernel is refused; nothing depends on the order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import Automatic, Func, KernelError

from .kernel_batch import KernelBatch, lower

STRICT = 2
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
ROWS, HALF = 4, 32
COLUMNS = 2 * HALF
Body = Callable[..., None]


def kernel(body: Body, threads: int, columns: int = COLUMNS) -> Func:
    step = T.macro(body)
    shape = (ROWS, COLUMNS)

    @T.prim_func
    def k(
        X: T.Tensor(shape, "float32"),
        Y: T.Tensor(shape, "float32"),
        K: T.Tensor((COLUMNS,), "int32"),
    ):  # fmt: skip
        with T.Kernel(1, threads=threads, is_npu=True) as (_):
            x = T.alloc_ub(shape, "float32")
            y = T.alloc_ub(shape, "float32")
            k = T.alloc_ub((COLUMNS,), "int32")
            T.copy(X, x)
            T.copy(Y, y)
            T.copy(K, k)
            for i, j in T.Parallel(ROWS, columns):
                step(x, y, k, i, j)
            T.copy(x, X)
            T.copy(y, Y)

    return k


def flipped(x, y, k, i, j):
    x[i, j] = x[i, COLUMNS - 1 - j]


def rows_flipped(x, y, k, i, j):
    x[i, j] = x[ROWS - 1 - i, j] + y[i, j]


def first_subtracted(x, y, k, i, j):
    x[i, j] = x[i, j] - x[i, 0]


def shifted_up(x, y, k, i, j):
    x[i, j] = T.if_then_else(j > 0, x[i, j - 1] + x[i, j], x[i, j])


def rotated(x, y, k, i, j):
    x[i, (j + 1) % COLUMNS] = x[i, j]


def picked(x, y, k, i, j):
    x[i, j] = x[i, k[j]]


def named(x, y, k, i, j):
    a = x[i, COLUMNS - 1 - j]
    x[i, j] = a + y[i, j]


def chosen(x, y, k, i, j):
    if x[i, COLUMNS - 1 - j] > 0.5:
        x[i, j] = x[i, COLUMNS - 1 - j] * 2.0
    else:
        x[i, j] = 1.0


def chosen_alone(x, y, k, i, j):
    if x[i, COLUMNS - 1 - j] > 0.5:
        x[i, j] = 3.0


# What one order of iterations would change, by NumPy.
KEPT: dict[Body, Callable[[Any, Any, Any], Any]] = {
    flipped: lambda x, y, k: x[:, ::-1],
    rows_flipped: lambda x, y, k: x[::-1] + y,
    first_subtracted: lambda x, y, k: x - x[:, :1],
    shifted_up: lambda x, y, k: np.concatenate([x[:, :1], x[:, :-1] + x[:, 1:]], 1),
    rotated: lambda x, y, k: np.roll(x, 1, 1),
    picked: lambda x, y, k: x[:, k],
    named: lambda x, y, k: x[:, ::-1] + y,
    chosen: lambda x, y, k: np.where(x[:, ::-1] > 0.5, x[:, ::-1] * 2, np.float32(1)),
    chosen_alone: lambda x, y, k: np.where(x[:, ::-1] > 0.5, np.float32(3), x),
}


def downwards(x, y, k, i, j):
    x[i, j] = x[i, j + HALF] + 1.0


def mirrored(x, y, k, i, j):
    x[i, j] = x[i, COLUMNS - 1 - j]


def exchanged(x, y, k, i, j):
    a = x[i, j]
    x[i, j] = x[i, COLUMNS - 1 - j]
    x[i, COLUMNS - 1 - j] = a


def summed(x, y, k, i, j):
    x[i, 0] = x[i, 0] + y[i, j]


def largest(x, y, k, i, j):
    x[i, 0] = T.max(x[i, 0], y[i, j])


def counted(x, y, k, i, j):
    x[i, k[j] // 2] += 1.0


def same_value(x, y, k, i, j):
    x[i, 0] = 3.0


def last_subtracted(x, y, k, i, j):
    y[i, j] = x[i, j] * 2.0
    x[i, j] = y[i, 0] + x[i, j]


def _first(x: Any, value: Any) -> Any:
    return np.concatenate([value[:, None], x[:, 1:]], 1)


def _counted(x: Any, k: Any) -> Any:
    x = x.copy()
    for j in range(HALF):
        x[:, k[j] // 2] += 1
    return x


# What is the same in any order, or in order and statement by statement, of the first half.
SAFE: dict[Body, Callable[[Any, Any, Any], Any]] = {
    downwards: lambda x, y, k: np.concatenate([x[:, HALF:] + 1, x[:, HALF:]], 1),
    mirrored: lambda x, y, k: np.concatenate([x[:, : HALF - 1 : -1], x[:, HALF:]], 1),
    exchanged: lambda x, y, k: x[:, ::-1],
    summed: lambda x, y, k: _first(x, x[:, 0] + y[:, :HALF].sum(1)),
    largest: lambda x, y, k: _first(x, np.maximum(x[:, 0], y[:, :HALF].max(1))),
    counted: lambda x, y, k: _counted(x, k),
    same_value: lambda x, y, k: _first(x, np.full(ROWS, 3.0, np.float32)),
    last_subtracted: lambda x, y, k: np.concatenate(
        [x[:, :HALF] + 2 * x[:, :1], x[:, HALF:]], 1
    ),
}  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
def test_a_statement_reads_before_it_writes(threads: int, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    cases = [(body, want, COLUMNS) for body, want in KEPT.items()]
    cases += [(body, want, HALF) for body, want in SAFE.items()]
    for body, _, columns in cases:
        number = batch.add(kernel(body, threads, columns), AUTOMATIC)
        told = any(r.slug == "parallel-order" for r in batch.funcs[number].remarks)
        assert told == (body in KEPT and body not in (picked, named)), body.__name__
    batch.build()
    rng = np.random.default_rng(threads)
    x, y = (rng.integers(0, 9, (ROWS, COLUMNS)).astype(np.float32) / 4 for _ in range(2))
    k = rng.permutation(COLUMNS).astype(np.int32)
    for number, (body, want, _) in enumerate(cases):
        outcome = batch.run(number, [x, y, k], checks=STRICT)
        assert outcome.error is None, (body.__name__, outcome.error.text)
        assert np.array_equal(outcome.arrays[0], want(x, y, k)), body.__name__


def two_statements(x, y, k, i, j):
    y[i, j] = x[i, j] * 2.0
    x[i, j] = y[i, COLUMNS - 1 - j]


def two_statements_ahead(x, y, k, i, j):
    y[i, j] = x[i, j] * 2.0
    x[i, (j + 1) % COLUMNS] = y[i, j]


def both_sides(x, y, k, i, j):
    if j < HALF:
        x[i, j] = x[i, COLUMNS - 1 - j]
    else:
        x[i, j] = x[i, COLUMNS - 1 - j] + 1.0


def last_wins(x, y, k, i, j):
    x[i, 0] = y[i, j]


def recurrence_in_one_element(x, y, k, i, j):
    x[i, 0] = x[i, 0] * 0.5 + y[i, j]


def running_maximum(x, y, k, i, j):
    if y[i, j] > x[i, 0]:
        x[i, 0] = y[i, j]


def two_places(x, y, k, i, j):
    x[i, j] = 1.0
    x[i, (j + 1) % COLUMNS] = 2.0


def inside_a_loop(x, y, k, i, j):
    for _ in T.serial(2):
        x[i, j] = x[ROWS - 1 - i, j] + 1.0


@pytest.mark.parametrize(
    "body",
    [two_statements, two_statements_ahead, both_sides, last_wins, recurrence_in_one_element,
     running_maximum, two_places, inside_a_loop],
)  # fmt: skip
@pytest.mark.parametrize("threads", [1, 2])
def test_what_depends_on_the_order_is_refused(body: Body, threads: int) -> None:
    with pytest.raises(KernelError) as caught:
        lower(kernel(body, threads), False, AUTOMATIC)
    assert caught.value.slug == "parallel-order"
    assert caught.value.loc is not None
    assert "read a copy" in (caught.value.hint or "")


def test_views_of_the_same_bytes(tmp_path: Path) -> None:
    """What another name reads is read before anything is written, too."""

    @T.prim_func
    def k(X: T.Tensor((COLUMNS,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((COLUMNS,), "float32")
            again = T.view(x, (ROWS, COLUMNS // ROWS), "float32")
            T.copy(X, x)
            for j in T.Parallel(COLUMNS):
                x[j] = again[ROWS - 1 - j // (COLUMNS // ROWS), j % (COLUMNS // ROWS)]
            T.copy(x, X)

    batch = KernelBatch(tmp_path)
    number = batch.add(k, AUTOMATIC)
    batch.build()
    x = np.random.default_rng(1).random(COLUMNS).astype(np.float32)
    outcome = batch.run(number, [x], checks=STRICT)
    assert outcome.error is None, outcome.error.text
    assert np.array_equal(outcome.arrays[0], x.reshape(ROWS, -1)[::-1].ravel())


def test_a_tile_that_does_not_fit() -> None:
    @T.prim_func
    def k(X: T.Tensor((45000,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((45000,), "float32")
            T.copy(X, x)
            for j in T.Parallel(45000):
                x[j] = x[44999 - j]
            T.copy(x, X)

    with pytest.raises(KernelError) as caught:
        lower(k, False, AUTOMATIC)
    assert caught.value.slug == "parallel-order"
    assert "no tile can keep it" in caught.value.message
