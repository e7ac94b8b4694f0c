"""The scalar unit between the pipes: stores and operands, and numbers for another core."""

from __future__ import annotations

from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import MOST, ROW, ROWS, F, Row, Rows, W, X, case, first_rows, trips


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
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
)
def scalar_operand_from_the_destination(rounds: int | None) -> Func:
    """One statement reads an element on the scalar unit and overwrites it on V."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((W,), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a)
                    T.tile.mul(a, a, a[4])
                    T.copy(a, Y[vid, i, :])

    return k


Lines = T.Tensor((2, MOST, 16), F)
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
    def k(X: Rows, S: Lines, Y: T.Tensor((2, MOST, 8), F), n: T.int32):
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
    def k(X: Rows, S: Lines, Y: Rows, n: T.int32):
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
    def k(X: Rows, S: Row, Y: Rows, n: T.int32):
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
