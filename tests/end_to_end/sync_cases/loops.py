"""Loops that are skipped, left early, or go round in slots; trip counts and slots from memory."""

from __future__ import annotations

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import MOST, ROW, ROWS, F, Row, Rows, W, X, case, first_rows, total, trips


@case((X,), (ROWS,), lambda x, n: (first_rows(x + (np.arange(MOST) % 3)[None, :, None], n),))
def skipped_inner_loop(rounds: int | None) -> Func:
    """The loop between load and store runs 0, 1 or 2 times."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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
    def k(X: Rows, Y: Row, n: T.int32):
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
    def k(X: Rows, Y: Rows, n: T.int32):
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


Lengths = T.Tensor((2, MOST, 8), "int32")
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
    def k(X: Rows, L: Lengths, Y: Row, n: T.int32):
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
    def k(X: Rows, L: Lengths, Y: Rows, n: T.int32):
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


@case((X,), (ROWS,), lambda x, n: (first_rows(x * 2, n),))
def slot_held_for_two_rounds(rounds: int | None) -> Func:
    """The slot changes every second round: rounds next to each other may share it."""

    @T.prim_func
    def k(X: Rows, Y: Rows, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            with T.Scope("V"):
                for i in range(trips(rounds, n)):
                    T.copy(X[vid, i, :], a[i // 2 % 2, :])
                    T.tile.mul(a[i // 2 % 2, :], a[i // 2 % 2, :], 2.0)
                    T.copy(a[i // 2 % 2, :], Y[vid, i, :])

    return k


@case((X,), (ROW,), lambda x, n: (3 * total(x, n),))
def slots_count_through_two_loops(rounds: int | None) -> Func:
    """The inner loop has an odd trip count, so the outer one changes whose turn it is."""

    @T.prim_func
    def k(X: Rows, Y: Row, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((2, W), F)
            acc = T.alloc_ub((W,), F)
            with T.Scope("V"):
                T.tile.fill(acc, 0.0)
                for i in range(trips(rounds, n)):
                    for j in range(3):
                        slot = (i * 3 + j) % 2
                        T.copy(X[vid, i, :], a[slot, :])
                        T.tile.add(acc, acc, a[slot, :])
                T.copy(acc, Y[vid, :])

    return k
