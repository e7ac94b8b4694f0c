"""Branches that load, read or synchronise on one side only; flags of the user inside and around."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import MOST, ROW, ROWS, F, Row, Rows, W, X, case, first_rows, total, trips


@case((X,), (ROW,), lambda x, n: (total(x, n),))
def one_branch_has_flags(rounds: int | None) -> Func:
    """Every second round the user orders load and sum; the other rounds nobody does."""

    @T.prim_func
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, Z: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Row, n: T.int32):
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


@case((X,), (ROWS,), lambda x, n: (first_rows(x + 1, n),))
def one_branch_has_barriers(rounds: int | None) -> Func:
    """The user stops everything in every second round; the others are left to the compiler."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    if i % 2 == 1:
                        T.barrier_all()
                    T.tile.add(a, a, 0.5)
                    T.pipe_barrier("v")
                    T.tile.add(a, a, 0.5)
                    T.copy(a, Y[vid, i, :])

    return k
