"""Kernels that are easy to synchronise wrongly: every one has a name for what makes it hard, and what
it computes in NumPy. In-core flags stand only where a case is about flags of the user's.

`make(rounds)` gives the kernel of a case for a number of rounds known to the compiler; with None its
last parameter, `n`, says how many. Lane `vid` of the one block works on row `vid` of every tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func

W = 64  # elements of a tile
MOST = 8  # rounds a tensor has room for
LOADS = 20  # more than a pair of pipes has events
F = "float32"


def trips(rounds: int | None, n: Any) -> Any:
    return n if rounds is None else rounds


def counted_rows(rows: int = MOST) -> Any:
    """Inputs of both lanes: small whole numbers, so that every sum is exact."""
    return (np.arange(2 * rows * W) * 37 % 23 - 11).astype(np.float32).reshape(2, rows, W)


@dataclass(frozen=True)
class SyncCase:
    """A kernel with tensors `inputs` and results of the shapes `results`, then `n`.

    `expected(*inputs, rounds)` gives a result each; where nothing is written they stay 0.
    """

    make: Callable[[int | None], Func]
    inputs: tuple[Any, ...]
    results: tuple[Any, ...]
    expected: Callable[..., tuple[Any, ...]]
    missing: str = ""  # what goes wrong in it today

    def arguments(self, rounds: int) -> list[Any]:
        return [*self.inputs, *(np.zeros_like(r) for r in self.results), rounds]


CASES: dict[str, SyncCase] = {}


def case(
    inputs: tuple[Any, ...],
    results: tuple[Any, ...],
    expected: Callable[..., Any],
    missing: str = "",
) -> Any:
    """Put a factory into CASES under its name."""

    def add(make: Callable[[int | None], Func]) -> Callable[[int | None], Func]:
        CASES[make.__name__] = SyncCase(make, inputs, results, expected, missing)
        return make

    return add


X, ROWS, ROW = counted_rows(), counted_rows(), np.zeros((2, W), np.float32)


def first_rows(x: Any, rounds: int) -> Any:
    """The rows of the rounds there are, 0 in the others."""
    return np.where(np.arange(x.shape[1])[None, :, None] < rounds, x, 0).astype(x.dtype)


def total(x: Any, rounds: int) -> Any:
    return x[:, :rounds].sum(1)


# A reader on a second pipe after one on a third.


@case((X,), (ROWS, ROWS), lambda x, n: (first_rows(x, n), first_rows(x + 1, n)))
def read_by_two_pipes(rounds: int | None) -> Func:
    """The load is read by V and by MTE3, and the next load must wait for both."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        Y: T.Tensor((2, MOST, W), F),
        Z: T.Tensor((2, MOST, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.add(b, a, 1.0)
                    T.copy(a, Y[vid, i, :])
                    T.copy(b, Z[vid, i, :])

    return k


@case(
    (X,),
    (ROWS, ROW),
    lambda x, n: (
        first_rows(x * 2, n),
        np.where(np.arange(W) == 0, (2 * x[:, :n, 5]).sum(1)[:, None], 0),
    ),
)
def read_by_three_pipes(rounds: int | None) -> Func:
    """What V writes is read by MTE3, then by the scalar unit; V then overwrites it."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        Y: T.Tensor((2, MOST, W), F),
        Z: T.Tensor((2, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            c = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(c, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.mul(b, a, 2.0)
                    T.copy(b, Y[vid, i, :])
                    c[0] = c[0] + b[5]
                T.copy(c, Z[vid, :])

    return k


# Branches.


@case((X,), (ROW,), lambda x, n: (total(x, n),))
def one_branch_has_flags(rounds: int | None) -> Func:
    """Every second round the user orders load and sum; the other rounds nobody does."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    if i % 2 == 0:
                        T.set_flag("mte2", "v", 0)
                        T.wait_flag("mte2", "v", 0)
                    T.tile.add(acc, acc, a)
                T.copy(acc, Y[vid, :])

    return k


@case((X,), (ROWS, ROW), lambda x, n: (first_rows(x, n), x[:, 1:n:2].sum(1)))
def one_branch_reads(rounds: int | None) -> Func:
    """Only one side has a reader on V; MTE3 reads after both."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        Y: T.Tensor((2, MOST, W), F),
        Z: T.Tensor((2, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    if i % 2 == 1:
                        T.tile.add(acc, acc, a)
                    T.copy(a, Y[vid, i, :])
                T.copy(acc, Z[vid, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(np.where(x[:, :, :1] > 0, x + 1, x * 2), n),))
def branch_on_a_loaded_value(rounds: int | None) -> Func:
    """The scalar unit reads what was loaded, and both sides write it on V."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    if a[0] > 0.0:
                        T.tile.add(a, a, 1.0)
                    else:
                        T.tile.mul(a, a, 2.0)
                    T.copy(a, Y[vid, i, :])

    return k


@case(
    (X,),
    (ROW,),
    lambda x, n: (sum((x[:, i // 3 * 3] for i in range(n)), np.zeros((2, W), np.float32)),),
)
def conditional_reload(rounds: int | None) -> Func:
    """The buffer is loaded every third round and read in each."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    if i % 3 == 0:
                        T.copy(X[vid, i, :], a)
                    T.tile.add(acc, acc, a)
                T.copy(acc, Y[vid, :])

    return k


@case(
    (X,),
    (ROWS,),
    lambda x, n: (first_rows(np.stack([x[:, i] + x[:, i // 2 * 2] for i in range(MOST)], 1), n),),
)
def flags_around_an_if(rounds: int | None) -> Func:
    """The user's flags stand around the branch with the load; V, MTE3 and the rest are automatic."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.set_flag("v", "mte2", 3)
                for i in range(trips(rounds, n)):
                    T.wait_flag("v", "mte2", 3)
                    if i % 2 == 0:
                        T.copy(X[vid, i, :], a)
                    T.set_flag("mte2", "v", 3)
                    T.wait_flag("mte2", "v", 3)
                    T.tile.fill(b, 0.0)
                    T.tile.add(b, b, a)
                    T.set_flag("v", "mte2", 3)
                    T.copy(b, Y[vid, i, :])
                    T.copy(X[vid, i, :], b)
                    T.tile.add(b, b, a)
                    T.copy(b, Y[vid, i, :])
                T.wait_flag("v", "mte2", 3)

    return k


@case((X,), (ROW,), lambda x, n: (total(x, n),))
def flags_of_the_user_across_rounds(rounds: int | None) -> Func:
    """Two slots with flags by hand between load and sum; what follows the loop is automatic."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for s in range(2):
                    T.set_flag("v", "mte2", s)
                for i in range(trips(rounds, n)):
                    T.wait_flag("v", "mte2", i % 2)
                    T.copy(X[vid, i, :], a[i % 2, :])
                    T.set_flag("mte2", "v", i % 2)
                    T.wait_flag("mte2", "v", i % 2)
                    T.tile.add(acc, acc, a[i % 2, :])
                    T.set_flag("v", "mte2", i % 2)
                for s in range(2):
                    T.wait_flag("v", "mte2", s)
                T.copy(acc, Y[vid, :])

    return k


# Loops.


@case((X,), (ROWS,), lambda x, n: (first_rows(x + (np.arange(MOST) % 3)[None, :, None], n),))
def skipped_inner_loop(rounds: int | None) -> Func:
    """The loop between load and store runs 0, 1 or 2 times."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    for _ in range(i % 3):
                        T.tile.add(a, a, 1.0)
                    T.copy(a, Y[vid, i, :])

    return k


@case((X,), (ROW,), lambda x, n: (x[:, 0] + total(x, n),))
def skipped_loop_between(rounds: int | None) -> Func:
    """Load before the loop, store after it; only the loop has anything in between."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.copy(X[vid, 0, :], a)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], b)
                    T.tile.add(a, a, b)
                T.copy(a, Y[vid, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(x * 2, n),))
def preload_and_prefetch(rounds: int | None) -> Func:
    """Two slots, the next load under way before this one is used, stores from two slots."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            b = T.alloc_ub((2, W), F)
            with T.Scope("V"):
                if trips(rounds, n) > 0:
                    T.copy(X[vid, 0, :], a[0, :])
                for i in range(trips(rounds, n)):
                    if i + 1 < trips(rounds, n):
                        T.copy(X[vid, i + 1, :], a[(i + 1) % 2, :])
                    T.tile.mul(b[i % 2, :], a[i % 2, :], 2.0)
                    T.copy(b[i % 2, :], Y[vid, i, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(x * 2, n),))
def ping_pong_by_name(rounds: int | None) -> Func:
    """Two buffers with names of their own, two rounds in one, and the odd one at the end."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.copy(X[vid, 0, :], a)
                for i in range(trips(rounds, n) // 2):
                    T.copy(X[vid, 2 * i + 1, :], b)
                    T.tile.mul(a, a, 2.0)
                    T.copy(a, Y[vid, 2 * i, :])
                    T.copy(X[vid, T.min(2 * i + 2, MOST - 1), :], a)
                    T.tile.mul(b, b, 2.0)
                    T.copy(b, Y[vid, 2 * i + 1, :])
                if trips(rounds, n) % 2 == 1:
                    T.tile.mul(a, a, 2.0)
                    T.copy(a, Y[vid, trips(rounds, n) - 1, :])

    return k


@case(
    (X,),
    (ROWS,),
    lambda x, n: (
        first_rows(
            x + np.roll(np.concatenate([x, np.zeros((2, 1, W), np.float32)], 1), 1, 1)[:, :MOST], n
        ),
    ),
)
def three_slots_two_in_use(rounds: int | None) -> Func:
    """Every round reads its slot and the one before: a slot is free two rounds later."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((3, W), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(a, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 3, :])
                    T.tile.add(b, a[i % 3, :], a[(i + 2) % 3, :])
                    T.copy(b, Y[vid, i, :])

    return k


@case((X,), (ROW,), lambda x, n: (total(x, min(n, 3)),))
def left_in_the_middle(rounds: int | None) -> Func:
    """The third round leaves the loop after the load: what later rounds wait for never comes."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 2, :])
                    if i == 3:
                        T.loop_break()
                    T.tile.add(acc, acc, a[i % 2, :])
                T.copy(acc, Y[vid, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(np.cumsum(x, 1), n),))
def while_reads_what_it_changes(rounds: int | None) -> Func:
    """The condition reads a counter in ub that V counts up at the end of every round."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            count = T.alloc_ub((8,), "int32")
            a = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(count, 0)
                T.tile.fill(acc, 0.0)
                while count[0] < trips(rounds, n):
                    i = count[0]
                    T.copy(X[vid, i, :], a)
                    T.tile.add(acc, acc, a)
                    T.copy(acc, Y[vid, i, :])
                    T.tile.add(count, count, 1)

    return k


LENGTHS = (np.arange(2 * MOST * 8) % 4).astype(np.int32).reshape(2, MOST, 8)


@case(
    (X, LENGTHS),
    (ROW,),
    lambda x, m, n: (
        sum(
            (x[:, j] * (m[:, i, :1] > j) for i in range(n) for j in range(4)),
            np.zeros((2, W), np.float32),
        ),
    ),
)
def inner_trips_from_memory(rounds: int | None) -> Func:
    """How often the inner loop runs is loaded in every round."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        L: T.Tensor((2, MOST, 8), "int32"),
        Y: T.Tensor((2, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            length = T.alloc_ub((8,), "int32")
            a = T.alloc_ub((2, W), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(L[vid, i, :], length)
                    for j in range(length[0]):
                        T.copy(X[vid, j, :], a[j % 2, :])
                        T.tile.add(acc, acc, a[j % 2, :])
                T.copy(acc, Y[vid, :])

    return k


@case((X, LENGTHS), (ROWS,), lambda x, m, n: (first_rows(x * 2, n),))
def slot_from_memory(rounds: int | None) -> Func:
    """Which slot is used is loaded: it may be that of the round before, or not."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        L: T.Tensor((2, MOST, 8), "int32"),
        Y: T.Tensor((2, MOST, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            choice = T.alloc_ub((MOST, 8), "int32")
            a = T.alloc_ub((4, W), F)
            with T.Scope("V"):
                T.copy(L[vid, 0:MOST, :], choice)
                for i in range(trips(rounds, n)):
                    slot = choice[i, i % 8]
                    T.copy(X[vid, i, :], a[slot, :])
                    T.tile.mul(a[slot, :], a[slot, :], 2.0)
                    T.copy(a[slot, :], Y[vid, i, :])

    return k


# Many flags at once.


@case(
    (X,),
    (ROW,),
    lambda x, n: (
        sum(
            (3 * x[:, i] + 2 * x[:, (i + 1) % MOST] + 4 * x[:, 0] for i in range(n)),
            np.zeros((2, W), np.float32),
        ),
    ),
)
def nested_fences(rounds: int | None) -> Func:
    """Loads of three buffers, read in the opposite order, the outermost around an inner loop."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            c = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    for _ in range(2):
                        T.copy(X[vid, (i + 1) % MOST, :], b)
                        T.copy(X[vid, 0, :], c)
                        T.tile.axpy(acc, c, 2.0)
                        T.tile.add(acc, acc, b)
                    T.tile.axpy(acc, a, 3.0)
                T.copy(acc, Y[vid, :])

    return k


MANY = counted_rows(LOADS)


@T.macro
def load_from(source, vid, tiles, j):  # type: ignore[no-untyped-def]
    T.copy(source[vid, j, :], tiles[j, :])
    if j + 1 < LOADS:
        load_from(source, vid, tiles, j + 1)


@T.macro
def scale_from(tiles, j):  # type: ignore[no-untyped-def]
    T.tile.mul(tiles[j, :], tiles[j, :], float(j + 1))
    if j + 1 < LOADS:
        scale_from(tiles, j + 1)


@T.macro
def store_from(tiles, target, vid, j):  # type: ignore[no-untyped-def]
    T.copy(tiles[j, :], target[vid, j, :])
    if j + 1 < LOADS:
        store_from(tiles, target, vid, j + 1)


@case((MANY,), (MANY,), lambda x, n: (x * (np.arange(LOADS, dtype=np.float32) + 1)[None, :, None],))
def more_flags_than_ids(rounds: int | None) -> Func:
    """Twenty loads, then twenty computations, then twenty stores: as many flags alive at once."""

    @T.prim_func
    def k(X: T.Tensor((2, LOADS, W), F), Y: T.Tensor((2, LOADS, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((LOADS, W), F)
            with T.Scope("V"):
                load_from(X, vid, a, 0)
                scale_from(a, 0)
                store_from(a, Y, vid, 0)

    return k


@case(
    (MANY,),
    (MANY,),
    lambda x, n: (x * (np.arange(LOADS, dtype=np.float32) + 1)[None, :, None] * (n > 0),),
)
def more_flags_than_ids_in_a_loop(rounds: int | None) -> Func:
    """The same in a loop: every load also waits for the store of the round before."""

    @T.prim_func
    def k(X: T.Tensor((2, LOADS, W), F), Y: T.Tensor((2, LOADS, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((LOADS, W), F)
            with T.Scope("V"):
                for _ in range(trips(rounds, n)):
                    load_from(X, vid, a, 0)
                    scale_from(a, 0)
                    store_from(a, Y, vid, 0)

    return k


# The same bytes under two names.


@case((X,), (ROWS,), lambda x, n: (first_rows(np.cumsum(x, 1) * 2, n),))
def two_buffers_at_one_address(rounds: int | None) -> Func:
    """What MTE2 fills and what MTE3 empties are the same bytes by the user's wish."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            T.annotate_address({a: 0, b: 0, acc: 512})
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.add(acc, acc, a)
                    T.tile.mul(b, acc, 2.0)
                    T.copy(b, Y[vid, i, :])

    return k


@case(
    (X,),
    (ROWS,),
    lambda x, n: (first_rows(np.concatenate([x[:, :, :32] + 1, x[:, :, 32:] * 2], 2), n),),
)
def halves_that_overlap(rounds: int | None) -> Func:
    """A buffer over the end of one and the start of another."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            whole = T.alloc_ub((W,), F)
            low = T.alloc_ub((32,), F)
            high = T.alloc_ub((32,), F)
            T.annotate_address({whole: 256, low: 256, high: 384})
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], whole)
                    T.tile.add(low, low, 1.0)
                    T.tile.mul(high, high, 2.0)
                    T.copy(whole, Y[vid, i, :])

    return k


BIG, WIDE = 56, 256  # 56 KiB: three such tiles fit ub
LARGE = (np.arange(2 * BIG * WIDE) % 19 - 9).astype(np.float32).reshape(2, BIG, WIDE)


@case(
    (LARGE,),
    (LARGE, LARGE, LARGE),
    lambda x, n: tuple(v * (n > 0) for v in (x + 1, (x + 2) * 2, (x + 4) * 3)),
)
def more_than_ub_holds(rounds: int | None) -> Func:
    """Six tiles of which three fit: those that take over bytes do so across pipes."""

    @T.prim_func
    def k(X: T.Tensor((2, BIG, WIDE), F), U: T.Tensor((2, BIG, WIDE), F), V: T.Tensor((2, BIG, WIDE), F),
          Y: T.Tensor((2, BIG, WIDE), F), n: T.int32):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((BIG, WIDE), F)
            b = T.alloc_ub((BIG, WIDE), F)
            c = T.alloc_ub((BIG, WIDE), F)
            d = T.alloc_ub((BIG, WIDE), F)
            e = T.alloc_ub((BIG, WIDE), F)
            f = T.alloc_ub((BIG, WIDE), F)
            with T.Scope("V"):
                for _ in range(trips(rounds, n)):
                    T.copy(X[vid, 0:BIG, :], a)
                    T.tile.add(b, a, 1.0)
                    T.copy(b, U[vid, 0:BIG, :])
                    T.copy(X[vid, 0:BIG, :], c)
                    T.tile.add(d, c, 2.0)
                    T.tile.mul(d, d, 2.0)
                    T.copy(d, V[vid, 0:BIG, :])
                    T.copy(X[vid, 0:BIG, :], e)
                    T.tile.add(f, e, 4.0)
                    T.tile.mul(f, f, 3.0)
                    T.copy(f, Y[vid, 0:BIG, :])

    return k


# Scalars.


def stored_scalars(x: Any, n: int) -> tuple[Any]:
    acc = np.zeros((2, W), np.float32)
    for i in range(n):
        acc = acc + 2 * x[:, i]
        acc[:, 3] = acc[:, 5] + 2 * x[:, i, 7]
    return (acc,)


@case((X,), (ROW,), stored_scalars)
def scalar_store_of_a_vector_result(rounds: int | None) -> Func:
    """The scalar unit stores what it reads from V's results into what V reads next."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.mul(b, a, 2.0)
                    T.tile.add(acc, acc, b)
                    acc[3] = acc[5] + b[7]
                T.copy(acc, Y[vid, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(x * x[:, :, 4:5], n),))
def scalar_operand_from_another_buffer(rounds: int | None) -> Func:
    """A vector operation with an element that a copy has just brought to another buffer."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.copy(X[vid, i, :], b)
                    T.tile.mul(b, b, a[4])
                    T.copy(b, Y[vid, i, :])

    return k


@case(
    (X,),
    (ROWS,),
    lambda x, n: (first_rows(x * x[:, :, 4:5], n),),
    missing="nothing can stand between the load and the operation of one statement",
)
def scalar_operand_from_the_destination(rounds: int | None) -> Func:
    """One statement reads an element on the scalar unit and overwrites it on V."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.mul(a, a, a[4])
                    T.copy(a, Y[vid, i, :])

    return k


LINES = np.zeros((2, MOST, 16), np.float32)  # a line of the data cache a round


@case(
    (X,),
    (LINES, np.zeros((2, MOST, 8), np.float32)),
    lambda x, n: (
        np.where(np.arange(16) == 0, first_rows(x[:, :, 2:3], n), 0),
        np.where(np.arange(8) == 0, first_rows(x[::-1, :, 2:3] + 1, n), 0)
        + 1.0 * (np.arange(8) > 0) * (np.arange(MOST) < n)[None, :, None],
    ),
)
def scalar_store_for_another_core(rounds: int | None) -> Func:
    """Lanes send each other a number through gm: store, write the cache back, meet, load."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        S: T.Tensor((2, MOST, 16), F),
        Y: T.Tensor((2, MOST, 8), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((8,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    S[vid, i, 0] = a[2]
                    T.tile.datacachecleanandinvalid_experiment(
                        S[vid, i, :], "SINGLE_CACHE_LINE", "CACHELINE_OUT"
                    )
                    T.sync_all()
                    T.copy(S[1 - vid, i, 0:8], b)
                    T.tile.add(b, b, 1.0)
                    T.copy(b, Y[vid, i, :])

    return k


@case(
    (X,),
    (LINES, ROWS),
    lambda x, n: (
        np.where(np.arange(16) == 0, first_rows(x[:, :, 2:3] * 2, n), 0),
        first_rows(x + x[::-1, :, 2:3] * 2, n),
    ),
)
def scalar_store_and_a_signal(rounds: int | None) -> Func:
    """The same with a signal between the lanes, and the scalar unit as the reader."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        S: T.Tensor((2, MOST, 16), F),
        Y: T.Tensor((2, MOST, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.mul(b, a, 2.0)
                    S[vid, i, 0] = b[2]
                    T.tile.datacachecleanandinvalid_experiment(
                        S[vid, i, :], "SINGLE_CACHE_LINE", "CACHELINE_OUT"
                    )
                    T.set_cross_flag("v", 4, mode=1)
                    T.wait_cross_flag(4)
                    T.tile.add(a, a, S[1 - vid, i, 0])
                    T.copy(a, Y[vid, i, :])

    return k


@case(
    (X,),
    (ROW, ROWS),
    lambda x, n: (
        x[:, n - 1] * (n > 0),
        first_rows(x[::-1] + 1, n),
    ),
)
def loads_before_the_cores_meet(rounds: int | None) -> Func:
    """The other lane's load must be over when this one stores anew, not only the stores before."""

    @T.prim_func
    def k(
        X: T.Tensor((2, MOST, W), F),
        S: T.Tensor((2, W), F),
        Y: T.Tensor((2, MOST, W), F),
        n: T.int32,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.copy(a, S[vid, :])
                    T.sync_all()
                    T.copy(S[1 - vid, :], b)
                    T.sync_all()
                    T.tile.add(b, b, 1.0)
                    T.copy(b, Y[vid, i, :])

    return k


# Global memory.


@case((X,), (ROWS,), lambda x, n: (first_rows(np.cumsum(x, 1), n),))
def carried_through_gm(rounds: int | None) -> Func:
    """Every round loads what the one before has stored."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, MOST, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            b = T.alloc_ub((2, W), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 2, :])
                    if i > 0:
                        T.copy(Y[vid, i - 1, :], b[i % 2, :])
                        T.tile.add(a[i % 2, :], a[i % 2, :], b[i % 2, :])
                    T.copy(a[i % 2, :], Y[vid, i, :])

    return k


@case((X,), (ROW, ROW), lambda x, n: (total(x, n), total(x, n) * 2))
def atomic_sums_read_back(rounds: int | None) -> Func:
    """Sums in gm need no order among themselves, but with the load that follows."""

    @T.prim_func
    def k(X: T.Tensor((2, MOST, W), F), Y: T.Tensor((2, W), F), Z: T.Tensor((2, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            b = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 2, :])
                    T.tile.atomic_add(Y[vid, 0:W], a[i % 2, :])
                T.copy(Y[vid, :], b)
                T.tile.mul(b, b, 2.0)
                T.copy(b, Z[vid, :])

    return k


@case(
    (counted_rows(5),),
    (counted_rows(5),),
    lambda x, n: (np.concatenate([x[:, : 2 * n] + 1, 0 * x[:, 2 * n :]], 1)[:, :5],),
)
def tiles_that_hang_over(rounds: int | None) -> Func:
    """Tails are filled on V before they are loaded, by nobody's statement."""

    @T.prim_func
    def k(X: T.Tensor((2, 5, W), F), Y: T.Tensor((2, 5, W), F), n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, 2, W), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, 2 * i : 2 * i + 2, :], a[i % 2, :, :])
                    T.tile.add(a[i % 2, :, :], a[i % 2, :, :], 1.0)
                    T.copy(a[i % 2, :, :], Y[vid, 2 * i : 2 * i + 2, :])

    return k


# The cube core.

SIDE = 16
LEFT = (np.arange(MOST * SIDE * SIDE) * 7 % 5 - 2).astype(np.float16).reshape(MOST, SIDE, SIDE)
RIGHT = (np.arange(MOST * SIDE * SIDE) * 3 % 7 - 3).astype(np.float16).reshape(MOST, SIDE, SIDE)
SQUARE = np.zeros((SIDE, SIDE), np.float32)
SQUARES = np.zeros((MOST, SIDE, SIDE), np.float32)


def products(a: Any, b: Any) -> Any:
    return a.astype(np.float32) @ b.astype(np.float32)


def up_to(x: Any, n: int) -> Any:
    return np.where(np.arange(len(x))[:, None, None] < n, x, 0)


@case((LEFT, RIGHT), (SQUARE,), lambda a, b, n: (products(a, b)[:n].sum(0),))
def small_products_add_up(rounds: int | None) -> Func:
    """An accumulator too small for the cube to keep in order, from two slots in every memory."""

    @T.prim_func
    def k(A: T.Tensor((MOST, SIDE, SIDE), "float16"), B: T.Tensor((MOST, SIDE, SIDE), "float16"),
          C: T.Tensor((SIDE, SIDE), F), n: T.int32):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_l1 = T.alloc_L1((2, SIDE, SIDE), "float16")
            b_l1 = T.alloc_L1((2, SIDE, SIDE), "float16")
            a_l0 = T.alloc_L0A((2, SIDE, SIDE), "float16")
            b_l0 = T.alloc_L0B((2, SIDE, SIDE), "float16")
            c_l0 = T.alloc_L0C((SIDE, SIDE), F)
            with T.Scope("C"):
                for i in range(trips(rounds, n)):
                    T.copy(A[i, :, :], a_l1[i % 2, :, :])
                    T.copy(B[i, :, :], b_l1[i % 2, :, :])
                    T.copy(a_l1[i % 2, :, :], a_l0[i % 2, :, :])
                    T.copy(b_l1[i % 2, :, :], b_l0[i % 2, :, :])
                    T.mma(a_l0[i % 2, :, :], b_l0[i % 2, :, :], c_l0, init=(i == 0))
                if trips(rounds, n) > 0:
                    T.copy(c_l0, C)

    return k


@case((LEFT, RIGHT), (SQUARES,), lambda a, b, n: (up_to(np.cumsum(products(a, b), 0), n),))
def accumulator_written_out_every_round(rounds: int | None) -> Func:
    """The accumulator goes on while it is written out: the cube waits for the fixpipe."""

    @T.prim_func
    def k(A: T.Tensor((MOST, SIDE, SIDE), "float16"), B: T.Tensor((MOST, SIDE, SIDE), "float16"),
          C: T.Tensor((MOST, SIDE, SIDE), F), n: T.int32):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            b_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            c_l0 = T.alloc_L0C((SIDE, SIDE), F)
            with T.Scope("C"):
                for i in range(trips(rounds, n)):
                    T.copy(A[i, :, :], a_l1)
                    T.copy(B[i, :, :], b_l1)
                    T.gemm_v0(a_l1, b_l1, c_l0, init=(i == 0))
                    T.copy(c_l0, C[i, :, :])

    return k


@case(
    (LEFT, RIGHT),
    (SQUARES, SQUARE.astype(np.float16)),
    lambda a, b, n: (
        up_to(products(a, products(a, b)), n),
        products(a, b)[n - 1] * (n > 0),
    ),
)
def product_of_a_product(rounds: int | None) -> Func:
    """The result goes out to gm and comes back as an operand: FIX before MTE2."""

    @T.prim_func
    def k(A: T.Tensor((MOST, SIDE, SIDE), "float16"), B: T.Tensor((MOST, SIDE, SIDE), "float16"),
          C: T.Tensor((MOST, SIDE, SIDE), F), P: T.Tensor((SIDE, SIDE), "float16"), n: T.int32):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            b_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            c_l0 = T.alloc_L0C((2, SIDE, SIDE), F)
            with T.Scope("C"):
                for i in range(trips(rounds, n)):
                    T.copy(A[i, :, :], a_l1)
                    T.copy(B[i, :, :], b_l1)
                    T.gemm_v0(a_l1, b_l1, c_l0[0, :, :], init=True)
                    T.copy(c_l0[0, :, :], P)
                    T.copy(P, b_l1)
                    T.gemm_v0(a_l1, b_l1, c_l0[1, :, :], init=True)
                    T.copy(c_l0[1, :, :], C[i, :, :])

    return k


@case(
    (LEFT, RIGHT),
    (SQUARES, SQUARES),
    lambda a, b, n: (up_to(products(a, b), n), up_to(products(a, b) + 1, n)),
)
def cube_and_vector_in_turn(rounds: int | None) -> Func:
    """Signals between the cores by hand, everything inside a core automatic."""

    @T.prim_func
    def k(A: T.Tensor((MOST, SIDE, SIDE), "float16"), B: T.Tensor((MOST, SIDE, SIDE), "float16"),
          C: T.Tensor((MOST, SIDE, SIDE), F), D: T.Tensor((MOST, SIDE, SIDE), F), n: T.int32):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_l1 = T.alloc_L1((2, SIDE, SIDE), "float16")
            b_l1 = T.alloc_L1((2, SIDE, SIDE), "float16")
            c_l0 = T.alloc_L0C((SIDE, SIDE), F)
            u = T.alloc_ub((2, SIDE // 2, SIDE), F)
            with T.Scope("C"):
                for i in range(trips(rounds, n)):
                    T.copy(A[i, :, :], a_l1[i % 2, :, :])
                    T.copy(B[i, :, :], b_l1[i % 2, :, :])
                    T.gemm_v0(a_l1[i % 2, :, :], b_l1[i % 2, :, :], c_l0, init=True)
                    T.copy(c_l0, C[i, :, :])
                    T.set_cross_flag("fix", 0)
            with T.Scope("V"):
                mine = vid * (SIDE // 2)
                for i in range(trips(rounds, n)):
                    T.wait_cross_flag(0)
                    T.copy(C[i, mine : mine + SIDE // 2, :], u[i % 2, :, :])
                    T.tile.add(u[i % 2, :, :], u[i % 2, :, :], 1.0)
                    T.copy(u[i % 2, :, :], D[i, mine : mine + SIDE // 2, :])

    return k
