"""A row a block, and a row an iteration of a block's loop: several of them are done together where
iterations do not depend on each other. Results are those of torch at strict, either way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_passes.explain.tiles import explain_tiles
from tile_passes.pass_options import FOR_SPEED, PassOptions, left_by

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore:both vector cores do the same part"),
]

F16, F32, I32 = "float16", "float32", "int32"
Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Case:
    """A kernel, the numbers of its outputs, its inputs and what it means."""

    func: T.PrimFunc
    outputs: list[int]
    inputs: Tensors
    meaning: Callable[..., Tensors]


def means(M: int, N: int, R: int) -> Case:
    """Elements of a tensor that get a value of the row, and a tile of one."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F16), S: T.Tensor((M,), F32), Y: T.Tensor((M, N), F16)):
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((N,), F32), T.alloc_shared((N,), F16)
            s = T.alloc_shared((1,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                T.reduce_sum(x, s, dim=0)
                s[0] = s[0] * (1.0 / N)
                S[bx * R + r] = s[0]
                for j in T.Parallel(N):
                    y[j] = x[j] - s[0]
                T.copy(y, Y[bx * R + r, 0])

    def meaning(x: Any) -> Tensors:
        m = x.float().mean(-1)
        return m, (x.float() - m[:, None]).half()

    return Case(kernel, [1, 2], (torch.randn(M, N).half(),), meaning)


def weighted(M: int, N: int, R: int) -> Case:
    """A row of weights in front of the loop, and a column of results."""

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), F16), W: T.Tensor((N,), F16), Y: T.Tensor((M, N), F16),
        S: T.Tensor((M, 1), F32),
    ):  # fmt: skip
        with T.Kernel(M // R) as bx:
            w, x, q = (T.alloc_shared((N,), F32) for _ in range(3))
            s, y = T.alloc_shared((1,), F32), T.alloc_shared((N,), F16)
            T.copy(W, w)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                for j in T.Parallel(N):
                    q[j] = x[j] * x[j]
                T.reduce_sum(q, s, dim=0)
                for i in T.Parallel(1):
                    s[i] = T.rsqrt(s[i] / N + 1e-5)
                for j in T.Parallel(N):
                    y[j] = x[j] * s[0] * w[j]
                T.copy(y, Y[bx * R + r, 0])
                T.copy(s, S[bx * R + r, 0])

    def meaning(x: Any, w: Any) -> Tensors:
        s = torch.rsqrt((x.float() ** 2).mean(-1, keepdim=True) + 1e-5)
        return (x.float() * s * w.float()).half(), s

    return Case(kernel, [2, 3], (torch.randn(M, N).half(), torch.randn(N).half()), meaning)


def in_chunks(M: int, N: int, R: int) -> Case:
    """An inner loop that sums up."""
    C = N // 2

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), S: T.Tensor((M,), F32)):
        with T.Kernel(M // R) as bx:
            x = T.alloc_shared((C,), F32)
            s, t = T.alloc_shared((1,), F32), T.alloc_shared((1,), F32)
            for r in T.serial(R):
                T.fill(s, 0.0)
                for c in T.serial(2):
                    T.copy(X[bx * R + r, c * C], x)
                    T.reduce_max(x, t, dim=0)
                    s[0] = s[0] + t[0]
                T.copy(s, S[bx * R + r])

    meaning = lambda x: (x.view(M, 2, C).amax(-1).sum(-1),)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def masked(M: int, N: int, R: int) -> Case:
    """Values that the number of the row decides."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // R) as bx:
            x, s = T.alloc_shared((N,), F32), T.alloc_shared((1,), F32)
            for r in T.serial(R):
                row = bx * R + r
                T.copy(X[row, 0], x)
                for j in T.Parallel(N):
                    x[j] = T.if_then_else(j <= row, x[j], -1e30)
                T.reduce_max(x, s, dim=0)
                for j in T.Parallel(N):
                    x[j] = T.exp(x[j] - s[0])
                T.copy(x, Y[row, 0])

    def meaning(x: Any) -> Tensors:
        y = torch.where(torch.arange(N) <= torch.arange(M)[:, None], x, -1e30)
        return (torch.exp(y - y.amax(-1, keepdim=True)),)

    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def named(M: int, N: int, R: int) -> Case:
    """A name for a value of a tile, and tiles of two dimensions beside one of one."""

    @T.prim_func
    def kernel(X: T.Tensor((2, M, N), F32), Y: T.Tensor((2, M, N), F32)):
        with T.Kernel(M // R, 2) as (bx, h):
            x, s = T.alloc_shared((1, N), F32), T.alloc_shared((1,), F32)
            for r in T.serial(R):
                T.copy(X[h, bx * R + r, 0], x)
                T.reduce_max(x, s, dim=1)
                most = s[0]
                for i, j in T.Parallel(1, N):
                    x[i, j] = x[i, j] - most
                T.copy(x, Y[h, bx * R + r, 0])

    return Case(
        kernel, [1], (torch.randn(2, M, N),), lambda x: (x - x.amax(-1, keepdim=True),)
    )  # fmt: skip


def rotated(M: int, N: int, R: int) -> Case:
    """Pairs of a row, with tables that have a row for each."""

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), F16), C: T.Tensor((M, N // 2), F32), S: T.Tensor((M, N // 2), F32),
        Y: T.Tensor((M, N), F16),
    ):  # fmt: skip
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((N,), F16), T.alloc_shared((N,), F16)
            c, s = T.alloc_shared((N // 2,), F32), T.alloc_shared((N // 2,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                T.copy(C[bx * R + r, 0], c)
                T.copy(S[bx * R + r, 0], s)
                for j in T.Parallel(N // 2):
                    y[2 * j] = x[2 * j] * c[j] - x[2 * j + 1] * s[j]
                    y[2 * j + 1] = x[2 * j] * s[j] + x[2 * j + 1] * c[j]
                T.copy(y, Y[bx * R + r, 0])

    def meaning(x: Any, c: Any, s: Any) -> Tensors:
        a, b = x.float()[:, ::2], x.float()[:, 1::2]
        return (torch.stack([a * c - b * s, a * s + b * c], -1).view(M, N).half(),)

    angles = torch.randn(M, N // 2), torch.randn(M, N // 2)
    return Case(kernel, [3], (torch.randn(M, N).half(), *angles), meaning)


def of_threads(M: int, N: int, R: int) -> Case:
    """In the words of TileLang for GPUs."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F16), Y: T.Tensor((M, N), F16)):
        with T.Kernel(M // R, threads=128) as bx:
            loaded, x = T.alloc_shared((N,), F16), T.alloc_fragment((N,), F32)
            s = T.alloc_fragment((1,), F32)
            for r in T.Pipelined(R, num_stages=2):
                T.copy(X[bx * R + r, :], loaded)
                T.copy(loaded, x)
                T.reduce_sum(x, s)
                for j in T.Parallel(N):
                    x[j] = x[j] / (1.0 + T.abs(s[0]))
                T.copy(x, Y[bx * R + r, :])

    def meaning(x: Any) -> Tensors:
        return ((x.float() / (1 + x.float().sum(-1, keepdim=True).abs())).half(),)

    return Case(kernel, [1], (torch.randn(M, N).half(),), meaning)


def sums_so_far(M: int, N: int, R: int) -> Case:
    """An iteration adds to what the one before left."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // R) as bx:
            x, s = T.alloc_shared((N,), F32), T.alloc_shared((N,), F32)
            T.fill(s, 0.0)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                for j in T.Parallel(N):
                    s[j] = s[j] + x[j]
                T.copy(s, Y[bx * R + r, 0])

    meaning = lambda x: (x.view(M // R, R, N).cumsum(1).view(M, N),)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def last_stays(M: int, N: int, R: int) -> Case:
    """All iterations store one row."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M // R, N), F32)):
        with T.Kernel(M // R) as bx:
            x = T.alloc_shared((N,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                for j in T.Parallel(N):
                    x[j] = x[j] * 2.0
                T.copy(x, Y[bx, 0])

    meaning = lambda x: (x.view(M // R, R, N)[:, -1] * 2,)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def overlapping(M: int, N: int, R: int) -> Case:
    """An iteration stores over half of what the one before has stored."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M // R, R * 4 + 4), F32)):
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((N,), F32), T.alloc_shared((8,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                for j in T.Parallel(8):
                    y[j] = x[j] * 2.0
                T.copy(y, Y[bx, r * 4])

    def meaning(x: Any) -> Tensors:
        y = torch.zeros(M // R, R * 4 + 4)
        for row in range(M):
            b, r = divmod(row, R)
            y[b, r * 4 : r * 4 + 8] = x[row, :8] * 2
        return (y,)

    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def two_stores(M: int, N: int, R: int) -> Case:
    """The second store of an iteration is over the first one of the next."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M // R, R + 1, N), F32)):
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((N,), F32), T.alloc_shared((N,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                for j in T.Parallel(N):
                    y[j] = x[j] * 2.0
                T.copy(x, Y[bx, r, 0])
                T.copy(y, Y[bx, r + 1, 0])

    def meaning(x: Any) -> Tensors:
        x = x.view(M // R, R, N)
        return (torch.cat([x, x[:, -1:] * 2], 1),)

    return Case(kernel, [1], (torch.randn(M, N),), meaning)


def in_place(M: int, N: int, R: int) -> Case:
    """An iteration loads the row that the next one stores."""

    @T.prim_func
    def kernel(X: T.Tensor((M // R, R + 1, N), F32), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // R) as bx:
            x = T.alloc_shared((N,), F32)
            for r in T.serial(R):
                T.copy(X[bx, r + 1, 0], x)
                T.copy(x, Y[bx * R + r, 0])
                for j in T.Parallel(N):
                    x[j] = 1.0
                T.copy(x, X[bx, r, 0])

    def meaning(x: Any) -> Tensors:
        return (x[:, 1:].reshape(M, N),)

    return Case(kernel, [1], (torch.randn(M // R, R + 1, N),), meaning)


def table_for_rows(M: int, N: int, R: int) -> Case:
    """A tile of several rows beside one row for all of them."""

    @T.prim_func
    def kernel(X: T.Tensor((M, R, N), F16), C: T.Tensor((M, N), F32), Y: T.Tensor((M, R, N), F16)):
        with T.Kernel(M) as bx:
            x, c = T.alloc_shared((R, N), F16), T.alloc_shared((N,), F32)
            T.copy(C[bx, 0], c)
            T.copy(X[bx, 0, 0], x)
            for i, j in T.Parallel(R, N):
                x[i, j] = x[i, j] * c[j]
            T.copy(x, Y[bx, 0, 0])

    meaning = lambda x, c: ((x.float() * c[:, None]).half(),)  # noqa: E731
    return Case(kernel, [2], (torch.randn(M, R, N).half(), torch.randn(M, N)), meaning)


def groups(M: int, N: int, R: int) -> Case:
    """A row in groups, with a scale for each."""
    G, C = 4, N // 4

    @T.prim_func
    def kernel(
        X: T.Tensor((M, G, C), F16), Y: T.Tensor((M, G, C), F16), S: T.Tensor((M, G), F32)
    ):  # fmt: skip
        with T.Kernel(M // R) as bx:
            x, a = T.alloc_shared((G, C), F32), T.alloc_shared((G, C), F32)
            s, y = T.alloc_shared((G,), F32), T.alloc_shared((G, C), F16)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0, 0], x)
                for i, j in T.Parallel(G, C):
                    a[i, j] = T.abs(x[i, j])
                T.reduce_max(a, s, dim=-1)
                for i in T.Parallel(G):
                    s[i] = T.max(s[i], 1e-6) / 127.0
                for i, j in T.Parallel(G, C):
                    y[i, j] = x[i, j] / s[i]
                T.copy(y, Y[bx * R + r, 0, 0])
                T.copy(s, S[bx * R + r, 0])

    def meaning(x: Any) -> Tensors:
        s = x.float().abs().amax(-1).clamp(min=1e-6) / 127
        return (x.float() / s[..., None]).half(), s

    return Case(kernel, [1, 2], (torch.randn(M, G, C).half(),), meaning)


def elements_of_groups(M: int, N: int, R: int) -> Case:
    """Elements of a tensor in groups, and a group of the tensor in another dimension."""
    G, C = 4, N // 4

    @T.prim_func
    def kernel(
        X: T.Tensor((2, M, G, C), F32), B: T.Tensor((M, G), F32), Y: T.Tensor((M, G, C), F32)
    ):  # fmt: skip
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((G, C), F32), T.alloc_shared((G, C), F32)
            s = T.alloc_shared((G,), F32)
            for r in T.serial(R):
                row = bx * R + r
                T.copy(X[1, row, 0, 0], x)
                T.reduce_sum(x, s, dim=1)
                for i, j in T.Parallel(G, C):
                    y[i, j] = X[0, row, i, j] * s[i] + B[row, i]
                T.copy(y, Y[row, 0, 0])

    def meaning(x: Any, b: Any) -> Tensors:
        return (x[0] * x[1].sum(-1, keepdim=True) + b[..., None],)

    return Case(kernel, [2], (torch.randn(2, M, G, C), torch.randn(M, G)), meaning)


def gathered(M: int, N: int, R: int) -> Case:
    """Rows of which a tensor has the numbers, two of them in each row of it."""

    @T.prim_func
    def kernel(
        X: T.Tensor((M, N), F16), index: T.Tensor((M, 2), I32), W: T.Tensor((M,), F32),
        Y: T.Tensor((M, N), F16),
    ):  # fmt: skip
        with T.Kernel(M // R) as bx:
            a, b = T.alloc_shared((N,), F16), T.alloc_shared((N,), F16)
            for r in T.serial(R):
                first = index[bx * R + r, 0]
                T.copy(X[first // 2, 0], a)
                T.copy(X[index[bx * R + r, 1], 0], b)
                for j in T.Parallel(N):
                    a[j] = a[j] * W[bx * R + r] + b[j]
                T.copy(a, Y[bx * R + r, 0])

    def meaning(x: Any, i: Any, w: Any) -> Tensors:
        x = x.float()
        return ((x[i[:, 0].long() // 2] * w[:, None] + x[i[:, 1].long()]).half(),)

    rows = torch.stack([torch.randint(0, 2 * M, (M,)), torch.randperm(M)], 1)
    return Case(kernel, [3], (torch.randn(M, N).half(), rows.int(), torch.randn(M)), meaning)


def scattered(M: int, N: int, R: int) -> Case:
    """Each block stores a row where a tensor says; a permutation, so that none meets another."""
    assert R

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), index: T.Tensor((M,), I32), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M) as bx:
            x = T.alloc_shared((N,), F32)
            T.copy(X[bx, 0], x)
            for j in T.Parallel(N):
                x[j] = x[j] * 2.0
            T.copy(x, Y[index[bx], 0])

    def meaning(x: Any, i: Any) -> Tensors:
        y = torch.empty_like(x)
        y[i.long()] = x * 2
        return (y,)

    return Case(kernel, [2], (torch.randn(M, N), torch.randperm(M).int()), meaning)


def neighbours_of_groups(M: int, N: int, R: int) -> Case:
    """A block uses the group of the next one too."""
    G, C = 4, N // 4

    @T.prim_func
    def kernel(X: T.Tensor((M + 1, G, C), F32), Y: T.Tensor((M, G, C), F32)):
        with T.Kernel(M // R) as bx:
            x, y = T.alloc_shared((G, C), F32), T.alloc_shared((G, C), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0, 0], x)
                T.copy(X[bx * R + r + 1, 0, 0], y)
                for i, j in T.Parallel(G, C):
                    x[i, j] = x[i, j] - y[i, j]
                T.copy(x, Y[bx * R + r, 0, 0])

    meaning = lambda x: (x[:-1] - x[1:],)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M + 1, G, C),), meaning)


def parts_of_groups(M: int, N: int, R: int) -> Case:
    """The first three of five rows of a group, with a sum of all three."""
    C = N // 4

    @T.prim_func
    def kernel(X: T.Tensor((M, 5, C), F32), Y: T.Tensor((M, 3, C), F32)):
        with T.Kernel(M // R) as bx:
            x, s = T.alloc_shared((3, C), F32), T.alloc_shared((C,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0:3, 0:C], x)
                T.reduce_sum(x, s, dim=0)
                for i, j in T.Parallel(3, C):
                    x[i, j] = x[i, j] - s[j]
                T.copy(x, Y[bx * R + r, 0, 0])

    meaning = lambda x: (x[:, :3] - x[:, :3].sum(1, keepdim=True),)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M, 5, C),), meaning)


def named_in_three(M: int, N: int, R: int) -> Case:
    """A name for a value of all three places of a grid."""
    K = 3

    @T.prim_func
    def kernel(
        X: T.Tensor((R, M, K, N), F32), W: T.Tensor((R, M, K), I32), Y: T.Tensor((R, M, K, N), F32)
    ):  # fmt: skip
        with T.Kernel(M, R, K) as (bx, by, bz):
            x = T.alloc_shared((N,), F32)
            weight = W[by, bx, bz]
            T.copy(X[by, bx, bz, 0], x)
            for j in T.Parallel(N):
                x[j] = x[j] * weight + bx
            T.copy(x, Y[by, bx, bz, 0])

    def meaning(x: Any, w: Any) -> Tensors:
        return (x * w[..., None] + torch.arange(M)[:, None, None],)

    weights = torch.randint(0, 4, (R, M, K)).int()
    return Case(kernel, [2], (torch.randn(R, M, K, N), weights), meaning)


def halves(M: int, N: int, R: int) -> Case:
    """Halves of rows of a tensor, which may end inside a block."""

    @T.prim_func
    def kernel(X: T.Tensor((M, 2 * N - 8), F16), Y: T.Tensor((M, N - 4), F16)):
        with T.Kernel(M // R, threads=128) as bx:
            x, y = T.alloc_shared((N - 4,), F16), T.alloc_shared((N - 4,), F16)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0 : N - 4], x)
                T.copy(X[bx * R + r, N - 4 : 2 * N - 8], y)
                for j in T.Parallel(N - 4):
                    y[j] = x[j] * y[j]
                T.copy(y, Y[bx * R + r, 0])

    meaning = lambda x: (x[:, : N - 4] * x[:, N - 4 :],)  # noqa: E731
    return Case(kernel, [1], (torch.randn(M, 2 * N - 8).half(),), meaning)


def absolute(M: int, N: int, R: int) -> Case:
    """A reduction of absolute values, in the words of TileLang for GPUs."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F16), Q: T.Tensor((M, N), F16), S: T.Tensor((M,), F32)):
        with T.Kernel(M // R, threads=128) as bx:
            x, q = T.alloc_shared((N,), F16), T.alloc_shared((N,), F16)
            most = T.alloc_fragment((1,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                T.reduce_absmax(x, most, dim=0)
                most[0] = T.max(most[0], 1e-6)
                for j in T.Parallel(N):
                    q[j] = x[j] / most[0]
                T.copy(q, Q[bx * R + r, 0])
                S[bx * R + r] = most[0] / 127.0

    def meaning(x: Any) -> Tensors:
        most = x.float().abs().amax(-1).clamp(min=1e-6)
        return (x.float() / most[:, None]).half(), most / 127

    return Case(kernel, [1, 2], (torch.randn(M, N).half(),), meaning)


def bisected(M: int, N: int, R: int) -> Case:
    """Bounds of a row that branches move, by a name whose elements change, and a scalar variable."""

    @T.prim_func
    def kernel(X: T.Tensor((M, N), F32), Y: T.Tensor((M, N), F32)):
        with T.Kernel(M // R, threads=128) as bx:
            x, y = T.alloc_shared((N,), F32), T.alloc_fragment((N,), F32)
            count, low = T.alloc_fragment((1,), F32), T.alloc_fragment((1,), F32)
            high = T.alloc_local((1,), F32)
            for r in T.serial(R):
                T.copy(X[bx * R + r, 0], x)
                low[0] = 0.0
                high[0] = 1.0
                for _ in T.serial(5):
                    middle = (low[0] + high[0]) * 0.5
                    for j in T.Parallel(N):
                        y[j] = T.if_then_else(x[j] >= middle, 1.0, 0.0)
                    T.reduce_sum(y, count, dim=0)
                    if count[0] >= N // 4:
                        low[0] = middle
                    else:
                        high[0] = middle
                for j in T.Parallel(N):
                    y[j] = T.if_then_else(x[j] >= low[0], x[j], high[0])
                T.copy(y, Y[bx * R + r, 0])

    def meaning(x: Any) -> Tensors:
        low, high = torch.zeros(M, 1), torch.ones(M, 1)
        for _ in range(5):
            middle = (low + high) / 2
            enough = (x >= middle).sum(-1, keepdim=True) >= N // 4
            low, high = torch.where(enough, middle, low), torch.where(enough, high, middle)
        return (torch.where(x >= low, x, high),)

    return Case(kernel, [1], (torch.rand(M, N),), meaning)


TOGETHER = (
    means, weighted, in_chunks, masked, named, rotated, of_threads, groups, elements_of_groups,
    gathered, scattered, neighbours_of_groups, named_in_three, absolute, bisected,
)  # fmt: skip
# No row of boxes is shorter work than the tile of a block, and no part of a row begins inside one.
AS_THEY_ARE = (table_for_rows, parts_of_groups, halves)
# A tensor says where a block behind the last one would store, or has no element for it.
UP_TO_THE_LAST = (scattered, means, elements_of_groups, gathered)
IN_ORDER = (sums_so_far, last_stays, overlapping, two_stores, in_place)
# Whole numbers of rows for each core and not, rows of whole blocks and not, an iteration and five,
# and blocks that no number divides.
SIZES = ((256, 256, 4), (1536, 64, 3), (240, 128, 1), (100, 40, 5), (509, 64, 1))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("case", [*TOGETHER, *AS_THEY_ARE, *IN_ORDER], ids=lambda c: c.__name__)
def test_rows_mean_what_torch_says(case: Any, sizes: tuple[int, int, int]) -> None:
    torch.manual_seed(0)
    made = case(*sizes)
    found = T.compile(made.func, out_idx=made.outputs)(*(x.clone() for x in made.inputs))
    found = found if isinstance(found, (list, tuple)) else [found]
    for ours, expected in zip(found, made.meaning(*made.inputs), strict=True):
        torch.testing.assert_close(ours.double(), expected.double(), rtol=2e-3, atol=3e-3)


def explained(case: Any, iterations: int, rows: int = 8192) -> str:
    kernel = T.compile(case(rows, 512, iterations).func)
    func = left_by(kernel.func, PassOptions(for_speed=tuple(FOR_SPEED)))
    return explain_tiles(func, kernel.target)


@pytest.mark.parametrize("iterations", [1, 8])
@pytest.mark.parametrize("case", TOGETHER, ids=lambda c: c.__name__)
def test_rows_are_done_together(case: Any, iterations: int) -> None:
    alone = case is bisected and iterations > 1  # iterations have one scalar variable
    with override(check="off"):
        assert ("blocks become one" in explained(case, iterations)) is not alone


@pytest.mark.parametrize("case", TOGETHER, ids=lambda c: c.__name__)
def test_rows_are_done_together_where_their_number_has_no_divisor(case: Any) -> None:
    with override(check="off"):
        assert ("blocks become one" in explained(case, 1, 8191)) is (case not in UP_TO_THE_LAST)


@pytest.mark.parametrize("case", [*AS_THEY_ARE, *IN_ORDER], ids=lambda c: c.__name__)
def test_other_blocks_stay(case: Any) -> None:
    with override(check="off"):
        assert "blocks become one" not in explained(case, 8)
