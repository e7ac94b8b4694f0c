"""More flags of one pair of pipes alive at once than there are ids, and flags inside flags."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import MOST, ROW, ROWS, F, Row, Rows, W, X, case, counted_rows, first_rows, total, trips

LOADS = 20  # more than a pair of pipes has events
Many = T.Tensor((2, LOADS, W), F)


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
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Many, Y: Many, n: T.int32):
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
    def k(X: Many, Y: Many, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((LOADS, W), F)
            with T.Scope("V"):
                for _ in range(trips(rounds, n)):
                    load_from(X, vid, a, 0)
                    scale_from(a, 0)
                    store_from(a, Y, vid, 0)

    return k


@case((X,), (ROW,), lambda x, n: (2 * total(x, n),))
def every_id_taken_by_the_user(rounds: int | None) -> Func:
    """Flags by hand use all ids from MTE2 to V, and one more load has to be waited for."""

    @T.prim_func
    def k(X: Rows, Y: Row, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((8, W), F)
            b = T.alloc_ub((W,), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 8, :])
                    T.set_flag("mte2", "v", i % 8)
                    T.copy(X[vid, i, :], b)
                    T.tile.add(acc, acc, b)
                    T.wait_flag("mte2", "v", i % 8)
                    T.tile.add(acc, acc, a[i % 8, :])
                T.copy(acc, Y[vid, :])

    return k


@case((X,), (ROWS,), lambda x, n: (first_rows(x + 1, n),))
def filled_in_one_loop_used_in_another(rounds: int | None) -> Func:
    """Loads, computations and stores in loops of their own: one flag a row, or one a loop."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((MOST, W), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i, :])
                for i in range(trips(rounds, n)):
                    T.tile.add(a[i, :], a[i, :], 1.0)
                for i in range(trips(rounds, n)):
                    T.copy(a[i, :], Y[vid, i, :])

    return k
