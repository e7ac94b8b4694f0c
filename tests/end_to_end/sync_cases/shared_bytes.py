"""The same bytes under two names, on different pipes."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import ROWS, F, Rows, W, X, case, first_rows, trips


@case((X,), (ROWS,), lambda x, n: (first_rows(np.cumsum(x, 1) * 2, n),))
def two_buffers_at_one_address(rounds: int | None) -> Func:
    """What MTE2 fills and what MTE3 empties are the same bytes by the user's wish."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
Large = T.Tensor((2, BIG, WIDE), F)
LARGE = (np.arange(2 * BIG * WIDE) % 19 - 9).astype(np.float32).reshape(2, BIG, WIDE)


@case(
    (LARGE,),
    (LARGE, LARGE, LARGE),
    lambda x, n: tuple(v * (n > 0) for v in (x + 1, (x + 2) * 2, (x + 4) * 3)),
)
def more_than_ub_holds(rounds: int | None) -> Func:
    """Six tiles of which three fit: those that take over bytes do so across pipes."""

    @T.prim_func
    def k(X: Large, U: Large, V: Large, Y: Large, n: T.int32):
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
