"""The cube core: small accumulators, results that come back as operands, turns with the vector cores."""

from __future__ import annotations

from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .case import MOST, F, case, trips

SIDE = 16
Halves = T.Tensor((MOST, SIDE, SIDE), "float16")
Squares = T.Tensor((MOST, SIDE, SIDE), F)
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
    def k(A: Halves, B: Halves, C: T.Tensor((SIDE, SIDE), F), n: T.int32):
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
    def k(A: Halves, B: Halves, C: Squares, n: T.int32):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            b_l1 = T.alloc_L1((SIDE, SIDE), "float16")
            a_l0 = T.alloc_L0A((SIDE, SIDE), "float16")
            b_l0 = T.alloc_L0B((SIDE, SIDE), "float16")
            c_l0 = T.alloc_L0C((SIDE, SIDE), F)
            with T.Scope("C"):
                for i in range(trips(rounds, n)):
                    T.copy(A[i, :, :], a_l1)
                    T.copy(B[i, :, :], b_l1)
                    T.copy(a_l1, a_l0)
                    T.copy(b_l1, b_l0)
                    T.mma(a_l0, b_l0, c_l0, init=(i == 0))
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
    def k(A: Halves, B: Halves, C: Squares, P: T.Tensor((SIDE, SIDE), "float16"), n: T.int32):
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
    def k(A: Halves, B: Halves, C: Squares, D: Squares, n: T.int32):
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
