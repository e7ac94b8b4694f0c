"""Calls that become several instructions order them: under order by hand the script only orders the
calls, here by a full barrier behind each, and `strict` must find no race inside one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import DEFAULT_TARGET, Automatic, Func
from tile_passes import apply_passes

from .kernel_batch import KernelBatch, interpreted

STRICT = 2
ROWS, COLUMNS = 8, 64

# What one call does with float tiles x, y of [8, 64], a row r of 64, a column c and d of 8, pairs p
# and q of 512 elements, integers i and j, and a mask m.
CALLS: dict[str, Callable[..., Any]] = {
    "sigmoid": lambda x, y, **_: T.tile.sigmoid(y, x),
    "sigmoid in place": lambda x, **_: T.tile.sigmoid(x, x),
    "silu": lambda x, y, **_: T.tile.silu(y, x),
    "xor": lambda i, j, **_: T.tile.bitwise_xor(j, i, j),
    "xor of a number": lambda i, j, **_: T.tile.bitwise_xor(j, i, 9),
    "and of a number": lambda i, j, **_: T.tile.bitwise_and(j, i, 6),
    "row sums": lambda x, c, **_: T.reduce_sum(x, c, dim=-1),
    "column sums": lambda x, r, **_: T.reduce_sum(x, r, dim=0, clear=False),
    "sums of integers": lambda i, n, **_: T.reduce_sum(i, n, dim=-1, clear=False),
    "into its own row": lambda x, **_: T.reduce_max(x, x[0, :], dim=0),
    "broadcast across": lambda x, c, **_: T.tile.broadcast(x, c, axis=1),
    "broadcast down": lambda x, r, **_: T.tile.broadcast(x, r, axis=0),
    "running sums": lambda x, y, **_: T.cumsum(x, y, dim=1),
    "running sums in place": lambda x, **_: T.cumsum(x, dim=0),
    "sort": lambda x, p, **_: T.tile.sort(p[0:128], x[0, :], 64),
    "merged and copied back": lambda p, q, **_: T.tile.merge_sort(q, p, 64, 4, is_copy=True),
    "merged top": lambda p, q, **_: T.tile.topk(q[0:128], p[0:128], 64),
    "powers": lambda x, y, **_: T.tile.pow(y, x, y),
    "sine": lambda x, y, **_: T.tile.sin(y, x),
    "columns": lambda x, y, **_: T.tile.add(y[:, 0:32], x[:, 32:64], x[:, 0:32]),
    "converted columns": lambda x, i, **_: T.copy(x[:, 0:32], i[:, 32:64]),
    "bytes": lambda b, **_: T.tile.fill(b[0:33], 3),
    "online softmax": lambda x, y, c, d, e, f, g, **_: T.tile.softmax_flash_v2(y, c, d, e, x, f, g),
}


def kernel(call: Callable[..., Any]) -> Func:
    @T.prim_func
    def k(
        X: T.Tensor((ROWS, COLUMNS), "float32"), P: T.Tensor((512,), "float32"),
        N: T.Tensor((ROWS, COLUMNS), "int32"), B: T.Tensor((64,), "int8"),
    ):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((ROWS, COLUMNS), "float32")
            y = T.alloc_ub((ROWS, COLUMNS), "float32")
            r = T.alloc_ub((COLUMNS,), "float32")
            c = T.alloc_ub((ROWS,), "float32")
            d = T.alloc_ub((ROWS,), "float32")
            e = T.alloc_ub((ROWS,), "float32")
            f = T.alloc_ub((ROWS,), "float32")
            g = T.alloc_ub((ROWS,), "float32")
            n = T.alloc_ub((ROWS,), "int32")
            p = T.alloc_ub((512,), "float32")
            q = T.alloc_ub((512,), "float32")
            i = T.alloc_ub((ROWS, COLUMNS), "int32")
            j = T.alloc_ub((ROWS, COLUMNS), "int32")
            b = T.alloc_ub((64,), "int8")
            T.copy(X, x)
            T.copy(X, y)
            T.copy(X[0, :], r)
            T.copy(X[0, 0:8], c)
            T.copy(X[1, 0:8], d)
            T.copy(X[2, 0:8], e)
            T.copy(X[3, 0:8], f)
            T.copy(X[4, 0:8], g)
            T.copy(N[0, 0:8], n)
            T.copy(P, p)
            T.copy(P, q)
            T.copy(N, i)
            T.copy(N, j)
            T.copy(B, b)
            T.barrier_all()
            call(x=x, y=y, r=r, c=c, d=d, e=e, f=f, g=g, n=n, p=p, q=q, i=i, j=j, b=b)
            T.barrier_all()
            call(x=x, y=y, r=r, c=c, d=d, e=e, f=f, g=g, n=n, p=p, q=q, i=i, j=j, b=b)
            T.barrier_all()
            T.copy(x, X)
            T.copy(p, P)
            T.copy(i, N)
            T.copy(b, B)

    return k


def arguments() -> list[Any]:
    rng = np.random.default_rng(4)
    values = np.concatenate([np.sort(rng.random(64).astype(np.float32))[::-1] for _ in range(4)])
    pairs = np.zeros(512, np.float32)
    pairs[0::2] = values
    return [
        rng.random((ROWS, COLUMNS)).astype(np.float32), pairs,
        rng.integers(0, 99, (ROWS, COLUMNS)).astype(np.int32), np.zeros(64, np.int8),
    ]  # fmt: skip


def test_no_call_races_with_itself(tmp_path: Path) -> None:
    batch = KernelBatch(tmp_path)
    numbers = {name: batch.add(kernel(call)) for name, call in CALLS.items()}
    batch.build()
    wrong = []
    for name, number in numbers.items():
        outcome = batch.run(number, arguments(), checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{name}: {outcome.error.text}")
            continue
        want = interpreted(batch.funcs[number], arguments())
        if not all(
            np.allclose(a, b, rtol=1e-5, equal_nan=True)
            for a, b in zip(outcome.arrays, want, strict=True)
        ):
            wrong.append(f"{name}: not what it means")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["merged and copied back", "online softmax"])
def test_barriers_of_a_call_are_no_order_of_the_script(name: str) -> None:
    """Where lanes are the compiler's, order is too unless the script has some."""
    call = CALLS[name]

    @T.prim_func
    def k(X: T.Tensor((ROWS, COLUMNS), "float32"), P: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=2, is_npu=True) as (_):
            x = T.alloc_ub((ROWS, COLUMNS), "float32")
            y = T.alloc_ub((ROWS, COLUMNS), "float32")
            c = T.alloc_ub((ROWS,), "float32")
            d = T.alloc_ub((ROWS,), "float32")
            e = T.alloc_ub((ROWS,), "float32")
            f = T.alloc_ub((ROWS,), "float32")
            g = T.alloc_ub((ROWS,), "float32")
            p = T.alloc_ub((512,), "float32")
            q = T.alloc_ub((512,), "float32")
            T.tile.fill(f, 0.0)
            T.tile.fill(g, 0.0)
            T.copy(X, x)
            T.copy(P, p)
            call(x=x, y=y, c=c, d=d, e=e, f=f, g=g, p=p, q=q)
            T.copy(x, X)
            T.copy(p, P)

    split = apply_passes(k, ["infer_memory", "split_vector_lanes"], DEFAULT_TARGET)
    assert Automatic.SYNC in split.automatic
