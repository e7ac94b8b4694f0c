"""Kernels as a newcomer writes them: no flag, no scope, no `T.Pipelined`, more blocks than cores.

Each is made for a number of blocks and says what it is called with; `outputs` are its results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

import tile_frontend as T


@dataclass(frozen=True)
class Plain:
    kernel: T.PrimFunc
    inputs: tuple[Any, ...]
    outputs: tuple[int, ...]


def scale_rows(blocks: int, dtype: str = "float32", threads: int | None = None) -> Plain:
    """Rows of a tile that ends inside the last block."""
    rows, width = blocks * 3 - 1, 72

    @T.prim_func
    def kernel(X: T.Tensor((rows, width), dtype), Y: T.Tensor((rows, width), dtype)):
        with T.Kernel(blocks, threads=threads, is_npu=True) as cid:
            x = T.alloc_shared((3, 80), dtype)
            T.copy(X[cid * 3, 0], x)
            for i, j in T.Parallel(3, 80):
                x[i, j] = x[i, j] + x[i, j]
            T.copy(x, Y[cid * 3, 0])

    given = torch.arange(rows * width).reshape(rows, width) % 50
    return Plain(kernel, (given.to(getattr(torch, dtype)),), (1,))


def scale_any_rows(blocks: int) -> Plain:
    rows = T.symbolic("rows")

    @T.prim_func
    def kernel(X: T.Tensor((rows, 64), "float16"), Y: T.Tensor((rows, 64), "float16")):
        with T.Kernel(T.ceildiv(rows, 4)) as cid:
            x = T.alloc_shared((4, 64), "float16")
            T.copy(X[cid * 4, 0], x)
            for i, j in T.Parallel(4, 64):
                x[i, j] = x[i, j] * 3.0
            T.copy(x, Y[cid * 4, 0])

    return Plain(kernel, (torch.randn(blocks * 4 - 1, 64).half(),), (1,))


def sum_tiles(blocks: int, rounds: int = 5) -> Plain:
    """So many rounds as the caller says."""

    @T.prim_func
    def kernel(
        X: T.Tensor((8, blocks * 64), "float32"),
        Y: T.Tensor((1, blocks * 64), "float32"),
        count: T.int32,
    ):
        with T.Kernel(blocks, is_npu=True) as cid:
            x = T.alloc_shared((1, 64), "float32")
            total = T.alloc_shared((1, 64), "float32")
            T.clear(total)
            for n in T.serial(count):
                T.copy(X[n, cid * 64], x)
                for i, j in T.Parallel(1, 64):
                    total[i, j] = total[i, j] + x[i, j]
            T.copy(total, Y[0, cid * 64])

    return Plain(kernel, (torch.randn(8, blocks * 64), rounds), (1,))


def sum_until(blocks: int) -> Plain:
    """A loop that a break leaves, and a tile that every second round loads anew."""

    @T.prim_func
    def kernel(X: T.Tensor((8, blocks * 64), "float32"), Y: T.Tensor((2, blocks * 64), "float32")):
        with T.Kernel(blocks, is_npu=True) as cid:
            x = T.alloc_shared((1, 64), "float32")
            total = T.alloc_shared((2, 64), "float32")
            T.clear(total)
            for n in T.serial(8):
                if n == cid % 8:
                    T.loop_break()
                T.copy(X[n, cid * 64], x)
                for j in T.Parallel(64):
                    total[0, j] = total[0, j] + x[0, j]
            for n in T.serial(8):
                if n % 2 == 0:
                    T.copy(X[n, cid * 64], x)
                for j in T.Parallel(64):
                    total[1, j] = total[1, j] + x[0, j]
            T.copy(total, Y[0, cid * 64])

    return Plain(kernel, (torch.randn(8, blocks * 64),), (1,))


def multiply(blocks: int, clamp: bool = False, k: int = 200) -> Plain:
    """A product whose last round is short; `clamp` gives the vector cores work with it."""

    @T.prim_func
    def kernel(
        A: T.Tensor((blocks * 32, k), "float16"),
        B: T.Tensor((k, 48), "float16"),
        C: T.Tensor((blocks * 32, 48), "float32"),
    ):
        with T.Kernel(blocks, is_npu=True) as cid:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 48), "float16")
            c = T.alloc_fragment((32, 48), "float32")
            y = T.alloc_shared((32, 48), "float32")
            for n in T.serial(T.ceildiv(k, 64)):
                T.copy(A[cid * 32, n * 64], a)
                T.copy(B[n * 64, 0], b)
                T.gemm_v0(a, b, c, init=(n == 0))
            if clamp:
                T.copy(c, y)
                for i, j in T.Parallel(32, 48):
                    y[i, j] = T.max(y[i, j], 0.0)
                T.copy(y, C[cid * 32, 0])
            else:
                T.copy(c, C[cid * 32, 0])

    return Plain(kernel, (torch.randn(blocks * 32, k).half(), torch.randn(k, 48).half()), (2,))


def multiply_twice(blocks: int) -> Plain:
    """A product of what the vector cores make of another one."""

    @T.prim_func
    def kernel(
        A: T.Tensor((blocks * 32, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.Tensor((blocks * 32, 64), "float32"),
    ):
        with T.Kernel(blocks, is_npu=True) as cid:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            h = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            x = T.alloc_shared((32, 64), "float32")
            y = T.alloc_shared((32, 64), "float16")
            T.copy(A[cid * 32, 0], a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, x)
            for i, j in T.Parallel(32, 64):
                x[i, j] = T.max(x[i, j], 0.0)
            T.copy(x, y)
            T.copy(y, h)
            T.gemm_v0(h, b, c, init=True)
            T.copy(c, C[cid * 32, 0])

    return Plain(kernel, (torch.randn(blocks * 32, 64).half(), torch.randn(64, 64).half()), (2,))


def attend(blocks: int, causal: bool = True) -> Plain:
    """Blocks that take longer the later they are."""
    size = blocks * 32

    @T.prim_func
    def kernel(
        Q: T.Tensor((size, 32), "float16"),
        K: T.Tensor((size, 32), "float16"),
        Out: T.Tensor((size, 32), "float32"),
    ):
        with T.Kernel(blocks, is_npu=True) as cid:
            q = T.alloc_shared((32, 32), "float16")
            k = T.alloc_shared((32, 32), "float16")
            s = T.alloc_fragment((32, 32), "float32")
            weights = T.alloc_shared((32, 32), "float32")
            p = T.alloc_shared((32, 32), "float16")
            part = T.alloc_fragment((32, 32), "float32")
            o = T.alloc_shared((32, 32), "float32")
            total = T.alloc_shared((32, 32), "float32")
            T.copy(Q[cid * 32, 0], q)
            T.clear(total)
            for n in T.serial(cid + 1 if causal else blocks):
                T.copy(K[n * 32, 0], k)
                T.gemm_v0(q, k, s, transpose_B=True, init=True)
                T.copy(s, weights)
                for i, j in T.Parallel(32, 32):
                    weights[i, j] = T.exp(weights[i, j] * 0.01)
                T.copy(weights, p)
                T.gemm_v0(p, k, part, init=True)
                T.copy(part, o)
                for i, j in T.Parallel(32, 32):
                    total[i, j] = total[i, j] + o[i, j]
            T.copy(total, Out[cid * 32, 0])

    return Plain(kernel, (torch.randn(size, 32).half(), torch.randn(size, 32).half()), (2,))


def over_heads(blocks: int) -> Plain:
    """A loop over tiles in a loop over heads, each with loads of its own."""

    @T.prim_func
    def kernel(
        X: T.Tensor((3, 4, blocks * 64), "float16"),
        W: T.Tensor((3, blocks * 64), "float16"),
        Y: T.Tensor((3, blocks * 64), "float16"),
    ):
        with T.Kernel(blocks, is_npu=True) as cid:
            x = T.alloc_shared((64,), "float16")
            w = T.alloc_shared((64,), "float16")
            y = T.alloc_shared((64,), "float16")
            for h in T.serial(3):
                T.copy(W[h, cid * 64 : cid * 64 + 64], w)
                T.clear(y)
                for n in T.serial(4):
                    T.copy(X[h, n, cid * 64 : cid * 64 + 64], x)
                    for j in T.Parallel(64):
                        y[j] = y[j] + x[j] * w[j]
                T.copy(y, Y[h, cid * 64 : cid * 64 + 64])

    inputs = torch.randn(3, 4, blocks * 64).half(), torch.randn(3, blocks * 64).half()
    return Plain(kernel, inputs, (2,))


KERNELS: dict[str, Callable[[int], Plain]] = {
    "scale_rows": scale_rows,
    "scale_rows_half_of_lanes": lambda n: scale_rows(n, "float16", 2),
    "scale_rows_int32": lambda n: scale_rows(n, "int32", 1),
    "scale_any_rows": scale_any_rows,
    "sum_tiles": sum_tiles,
    "sum_no_tile": lambda n: sum_tiles(n, 0),
    "sum_one_tile": lambda n: sum_tiles(n, 1),
    "sum_until": sum_until,
    "multiply": multiply,
    "multiply_and_clamp": lambda n: multiply(n, clamp=True),
    "multiply_once": lambda n: multiply(n, k=64),
    "multiply_twice": multiply_twice,
    "attend": attend,
    "attend_all": lambda n: attend(n, causal=False),
    "over_heads": over_heads,
}
