"""A value read on a second pipe after a reader on a third, then overwritten."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import ROW, ROWS, F, Row, Rows, W, X, case, first_rows, trips


@case((X,), (ROWS, ROWS), lambda x, n: (first_rows(x, n), first_rows(x + 1, n)))
def read_by_two_pipes(rounds: int | None) -> Func:
    """The load is read by V and by MTE3, and the next load must wait for both."""

    @T.prim_func
    def k(X: Rows, Y: Rows, Z: Rows, n: T.int32):
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
    def k(X: Rows, Y: Rows, Z: Row, n: T.int32):
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
