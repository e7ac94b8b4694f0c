"""Order through global memory inside one core, and tiles that hang over its edge."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import ROW, ROWS, F, Row, Rows, W, X, case, counted_rows, first_rows, total, trips


@case((X,), (ROWS,), lambda x, n: (first_rows(np.cumsum(x, 1), n),))
def carried_through_gm(rounds: int | None) -> Func:
    """Every round loads what the one before has stored."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Row, Z: Row, n: T.int32):
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


@case((X,), (ROWS,), lambda x, n: (first_rows(1 + 2 * x, n),))
def atomic_sums_over_a_store(rounds: int | None) -> Func:
    """A plain store, then two sums over it: the sums wait for the store, not for each other."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            one = T.alloc_ub((W,), F)
            a = T.alloc_ub((2, W), F)
            with T.Scope("V"):
                T.tile.fill(one, 1.0)
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i % 2, :])
                    T.copy(one, Y[vid, i, :])
                    T.tile.atomic_add(Y[vid, i, 0:W], a[i % 2, :])
                    T.tile.atomic_add(Y[vid, i, 0:W], a[i % 2, :])

    return k
