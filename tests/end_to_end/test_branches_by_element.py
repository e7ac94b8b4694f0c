"""Branches inside `T.Parallel`, as people write masks: compare and select instead of scalar loops,
over types, sizes and both lanes. The same text, run by Python on NumPy elements, says what it means."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T
from tile_ir import Automatic, Func
from tile_ir.dtypes import DTYPES, from_bytes, to_bytes
from tile_runtime import compile

from .kernel_batch import KernelBatch

STRICT = 2
SHAPES = ((4, 64), (5, 33), (1, 8), (2, 1), (7, 130))
TYPES = ("float32", "float16", "int32", "int16", "bfloat16")
AUTOMATIC = (Automatic.SYNC, Automatic.MEMORY)
Body = Callable[[Any, Any, Any, Any, Any], None]


def causal(x, y, i, j, n):
    if j > i + n:
        x[i, j] = 0


def causal_after_a_step(x, y, i, j, n):
    x[i, j] = x[i, j] + y[i, j]
    if not (j <= i + n):
        x[i, j] = 1


def both_ways(x, y, i, j, n):
    if x[i, j] > y[i, j]:
        x[i, j] = y[i, j]
    else:
        x[i, j] = x[i, j] + 1


def two_targets(x, y, i, j, n):
    if x[i, j] > y[i, j]:
        y[i, j] = x[i, j]
        x[i, j] = 0


def condition_changed(x, y, i, j, n):
    if x[i, j] > y[i, j]:
        x[i, j] = 0
        y[i, j] = x[i, j] + 2
    else:
        y[i, j] = 1


def chain(x, y, i, j, n):
    if x[i, j] > 5:
        y[i, j] = 3
    elif x[i, j] > 3:
        y[i, j] = 2
    elif j == i + n:
        y[i, j] = 1


def connected(x, y, i, j, n):
    if (x[i, j] > 2 and j < i + n) or not (y[i, j] > 4 or j == n):
        x[i, j] = y[i, j]


def same_for_all(x, y, i, j, n):
    if n > 1:
        if j >= n and i != 1:
            x[i, j] = y[i, j]
    else:
        x[i, j] = 1


def half_the_same(x, y, i, j, n):
    if n > 1 and j >= n:
        x[i, j] = y[i, j]
    elif n == 1 or x[i, j] == 3:
        x[i, j] = 2


def nested(x, y, i, j, n):
    if j >= n:
        a = x[i, j]
        x[i, j] = y[i, j]
        if a > y[i, j]:
            y[i, j] = a
        else:
            x[i, j] = a


def exchanged(x, y, i, j, n):
    a = x[i, j]
    x[i, j] = y[i, j]
    y[i, j] = a


def one_after_another(x, y, i, j, n):
    if x[i, j] == 1:
        x[i, j] = 2
    if x[i, j] == 2:
        x[i, j] = 3
    bigger = x[i, j] > y[i, j]
    y[i, j] = x[i, j] * 2
    if bigger:
        x[i, j] = y[i, j]


BODIES: tuple[Body, ...] = (
    causal, causal_after_a_step, both_ways, two_targets, condition_changed, chain, connected,
    same_for_all, half_the_same, nested, exchanged, one_after_another,
)  # fmt: skip


def kernel(body: Body, dtype: str, rows: int, columns: int, threads: int) -> Func:
    step = T.macro(body)

    @T.prim_func
    def k(
        X: T.Tensor((rows, columns), dtype), Y: T.Tensor((rows, columns), dtype), n: T.int32
    ):  # fmt: skip
        with T.Kernel(1, threads=threads, is_npu=True) as (_):
            x = T.alloc_ub((rows, columns), dtype)
            y = T.alloc_ub((rows, columns), dtype)
            T.copy(X, x)
            T.copy(Y, y)
            for i, j in T.Parallel(rows, columns):
                step(x, y, i, j, n)
            T.copy(x, X)
            T.copy(y, Y)

    return k


def by_python(body: Body, x: Any, y: Any, n: int) -> list[Any]:
    x, y = x.copy(), y.copy()
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            body(x, y, i, j, n)
    return [x, y]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", TYPES)
def test_branches_agree(dtype: str, threads: int, tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    rng = np.random.default_rng(5)
    kind = DTYPES[dtype]
    listed = []
    for body, (rows, columns) in kept(itertools.product(BODIES, SHAPES)):
        func = kernel(body, dtype, rows, columns, threads)
        number = batch.add(func, AUTOMATIC)
        remarks = [r.message for r in batch.funcs[number].remarks if r.slug == "scalar-loop"]
        assert not remarks, (body.__name__, rows, columns, remarks)
        listed.append((number, body, rows, columns))
    batch.build()
    wrong = []
    for number, body, rows, columns in listed:
        x, y = (rng.integers(1, 9, (rows, columns)).astype(np.float64) for _ in range(2))
        for n in (0, 1, 2, 40):
            outcome = batch.run(number, [to_bytes(x, kind), to_bytes(y, kind), n], checks=STRICT)
            if outcome.error is not None:
                wrong.append(f"{body.__name__} {rows}x{columns}: {outcome.error.text}")
                break
            got = [from_bytes(a, kind) for a in outcome.arrays[:2]]
            if not all(map(np.array_equal, got, by_python(body, x, y, n))):
                wrong.append(f"{body.__name__} {rows}x{columns}, n={n}")
    assert not wrong, f"{len(wrong)} of {len(listed)}:\n" + "\n".join(wrong[:20])


def test_even_and_odd_places_are_apart(tmp_path: Path) -> None:
    """Pairs side by side, as rotary embeddings have them: iterations never meet."""

    @T.prim_func
    def k(X: T.Tensor((4, 64), "float32"), Z: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((4, 64), "float32")
            z = T.alloc_ub((4, 64), "float32")
            T.copy(X, x)
            for i, j in T.Parallel(4, 32):
                z[i, 2 * j] = x[i, 2 * j] - x[i, 2 * j + 1]
                z[i, 2 * j + 1] = x[i, 2 * j] + x[i, 2 * j + 1]
            T.copy(z, Z)

    batch = KernelBatch(tmp_path)
    number = batch.add(k, AUTOMATIC)
    assert not any("another iteration" in r.message for r in batch.funcs[number].remarks)
    batch.build()
    x = np.random.default_rng(1).random((4, 64)).astype(np.float32)
    outcome = batch.run(number, [x, np.zeros_like(x)], checks=STRICT)
    assert outcome.error is None, outcome.error.text
    want = np.stack([x[:, ::2] - x[:, 1::2], x[:, ::2] + x[:, 1::2]], 2).reshape(4, 64)
    assert np.array_equal(outcome.arrays[1], want)


# What a kernel takes of a tile, by a shift that begins inside a block of 32 bytes.
SHIFTED: dict[str, Callable[[Any, Any, int], Any]] = {
    "before": lambda x, j, n: T.if_then_else(j >= 4, x[j - 4], 0.0),
    "computed": lambda x, j, n: T.if_then_else(j >= 4, x[j - 4] * 2, 1.0),
    "behind": lambda x, j, n: T.if_then_else(j < n - 3, x[j + 3], x[j]),
    "both": lambda x, j, n: T.if_then_else(T.And(j >= 1, j < n - 5), x[j - 1] - x[j + 5], x[j]),
}


@pytest.mark.parametrize("through", ("gm", "tile"))
@pytest.mark.parametrize("form", SHIFTED)
def test_a_choice_of_shifted_elements_is_gathered(
    form: str, through: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")
    n, of = 40, SHIFTED[form]

    @T.prim_func
    def k(X: T.Tensor((3, n), "float32"), Y: T.Tensor((3, n), "float32")):
        with T.Kernel(3, threads=128) as i:
            x = T.alloc_shared((n,), "float32")
            y = T.alloc_fragment((n,), "float32")
            T.copy(X[i, :], x)
            for j in T.Parallel(n):
                if through == "gm":
                    Y[i, j] = of(x, j, n)
                else:
                    y[j] = of(x, j, n)
            if through == "tile":
                T.copy(y, Y[i, :])

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        kernel = compile(k, out_idx=-1)
    assert not [w for w in told if "scalar-loop" in str(w.message)]
    x = torch.randn(3, n)
    expected = {"before": torch.zeros(3, n), "computed": torch.ones(3, n)}.get(form, x.clone())
    if form == "before":
        expected[:, 4:] = x[:, :-4]
    elif form == "computed":
        expected[:, 4:] = x[:, :-4] * 2
    elif form == "behind":
        expected[:, :-3] = x[:, 3:]
    else:
        expected[:, 1:-5] = x[:, :-6] - x[:, 6:]
    assert torch.equal(kernel(x), expected)


def test_a_shift_reads_no_part_that_nothing_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")

    @T.prim_func
    def k(X: T.Tensor((3, 40), "float32"), Y: T.Tensor((3, 40), "float32")):
        with T.Kernel(3, threads=128) as i:
            x = T.alloc_shared((40,), "float32")
            T.copy(X[i, 8:40], x[8:40])
            for j in T.Parallel(40):
                Y[i, j] = T.if_then_else(j >= 12, x[j - 4], 0.0)

    x, expected = torch.randn(3, 40), torch.zeros(3, 40)
    expected[:, 12:] = x[:, 8:-4]
    assert torch.equal(compile(k, out_idx=-1)(x), expected)
