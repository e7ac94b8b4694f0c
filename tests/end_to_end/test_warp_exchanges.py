"""Kernels whose threads give each other values by shuffles, and loops that bind threads, against
torch at `strict`."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_ir import KernelError
from tile_runtime import jit

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]


@jit
def sum_of_block(X, P: int = 128):
    n, m = T.const("n, m")
    X: T.Tensor((n, m), T.float32)
    Y = T.empty((n,), T.float32)
    with T.Kernel(n, threads=P) as b:
        tx = T.get_thread_binding()
        s = T.alloc_shared((P // 32,), T.float32)
        v = T.alloc_var(T.float32)
        v = 0.0
        for i in T.serial(T.ceildiv(m, P)):
            if i * P + tx < m:
                v += X[b, i * P + tx]
        for k in T.serial(5):
            v += T.shfl_down(v, 16 >> k)
        if tx % 32 == 0:
            s[tx // 32] = v
        T.sync_threads()
        if tx < 32:
            v = T.if_then_else(tx < P // 32, s[tx % (P // 32)], 0.0)
            for k in T.serial(2):
                v += T.shfl_down(v, 2 >> k)
            if tx == 0:
                Y[b] = v
    return Y


@pytest.mark.parametrize("m", [1, 300])
def test_a_block_sums_by_warps(m: int) -> None:
    x = torch.randn(3, m)
    assert torch.allclose(sum_of_block(x), x.sum(1), atol=1e-4)


@jit
def warp_forms(X, F):
    n = T.const("n")
    X: T.Tensor((n, 64), T.int32)
    F: T.Tensor((n, 64), T.float16)
    scanned = T.empty((n, 64), T.int32)
    best = T.empty((n, 2), T.int32)
    moved = T.empty((n, 64), T.float16)
    normal = T.empty((n, 64), T.float16)
    with T.Kernel(n, threads=64) as b:
        tx = T.get_thread_binding()
        lane = T.get_lane_idx()
        v = T.alloc_var(T.int32)
        v = X[b, tx]
        for k in range(5):
            before = T.shfl_up(v, 1 << k)
            if lane >= (1 << k):
                v += before
        scanned[b, tx] = v
        value = T.alloc_local((1,), T.int32)
        place = T.alloc_local((1,), T.int32)
        value[0] = X[b, tx]
        place[0] = lane
        for k in T.serial(5):
            other = T.shfl_xor(value[0], 16 >> k)
            there = T.shfl_xor(place[0], 16 >> k)
            if other > value[0] or (other == value[0] and there < place[0]):
                value[0] = other
                place[0] = there
        if lane == 0:
            best[b, tx // 32] = place[0]
        moved[b, tx] = T.shfl_xor(F[b, tx], 1, width=8) - T.shfl_sync(F[b, tx], 2, 8)
        most = T.alloc_var(T.float16)
        most = T.warp_reduce_max(F[b, tx])
        normal[b, tx] = F[b, tx] - most
    return scanned, best, moved, normal


def test_lanes_hear_from_each_other() -> None:
    x = torch.randint(-9, 9, (3, 64), dtype=torch.int32)
    f = torch.randn(3, 64).half()
    warps, parts = x.reshape(3, 2, 32), f.reshape(3, 8, 8)
    pairs = f.reshape(3, 32, 2).flip(2).reshape(3, 64)
    wanted = [
        warps.cumsum(2).reshape(3, 64),
        warps.argmax(2),
        pairs - parts[..., 2:3].expand(3, 8, 8).reshape(3, 64),
        (f.reshape(3, 2, 32) - f.reshape(3, 2, 32).amax(2, keepdim=True)).reshape(3, 64),
    ]
    for found, expected in zip(warp_forms(x, f), wanted, strict=True):
        assert torch.equal(found.double(), expected.double())


@jit
def bound_by_loops(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), T.float32)
    B: T.Tensor((K, N), T.float32)
    C = T.empty((M, N), T.float32)
    turned = T.empty((N, M), T.float32)
    with T.Kernel(T.ceildiv(N, 8), T.ceildiv(M, 4), threads=(8, 4)) as (bx, by):
        s = T.alloc_shared((4, 8), T.float32)
        for ty in T.thread_binding(0, 4, thread="threadIdx.y"):
            for tx in T.thread_binding(8, "threadIdx.x"):
                acc = T.alloc_var(T.float32)
                acc = 0.0
                if by * 4 + ty < M and bx * 8 + tx < N:
                    for k in T.serial(K):
                        acc += A[by * 4 + ty, k] * B[k, bx * 8 + tx]
                    C[by * 4 + ty, bx * 8 + tx] = acc
                s[ty, tx] = acc
        T.sync_threads()
        for ty in T.thread_binding(4, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                if by * 4 + ty < M and bx * 8 + tx < N:
                    turned[bx * 8 + tx, by * 4 + ty] = s[ty, tx]
    return C, turned


def test_loops_bind_threads() -> None:
    a, b = torch.randn(7, 5), torch.randn(5, 13)
    product, turned = bound_by_loops(a, b)
    assert torch.allclose(product, a @ b, atol=1e-4)
    assert torch.equal(turned, product.T)


def traced(threads: int, branch: bool) -> Any:
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=threads):
            t = T.get_thread_binding()
            if branch:
                if X[t] > 0:
                    Y[t] = T.shfl_xor(X[t], 1)
            else:
                Y[t] = T.shfl_xor(X[t], 1)

    return kernel


@pytest.mark.parametrize(
    ("threads", "branch", "message"),
    [(64, True, "stands where they differ"), (48, False, "48 threads are no whole warps")],
)
def test_what_a_warp_cannot_do_is_told(threads: int, branch: bool, message: str) -> None:
    with pytest.raises(KernelError, match=message) as told:
        traced(threads, branch)
    assert told.value.slug == "thread-program"
    assert told.value.hint


@jit
def shuffled_elements(X):
    X: T.Tensor((64,), T.int32)
    Y = T.empty((64,), T.int32)
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            Y[i] = T.shfl_xor(X[i], 1)
    return Y


def test_elements_are_no_threads() -> None:
    with pytest.raises(KernelError, match="elements of T.Parallel are no threads") as told:
        shuffled_elements(torch.zeros(64, dtype=torch.int32))
    assert told.value.slug == "thread-program" and told.value.hint
