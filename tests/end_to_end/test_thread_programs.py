"""Kernels that ask for the number of a thread and say what each thread does, against torch at
`strict`; and what threads may not do here, each with its error."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_ir import KernelError
from tile_runtime import compile as compile_kernel
from tile_runtime import jit

pytestmark = [
    pytest.mark.usefixtures("strict"),
    pytest.mark.filterwarnings("ignore::tile_ir.KernelWarning"),
]


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found.double(), expected.double(), rtol=1e-4, atol=1e-4)


# One element, one row, every so many elements -----------------------------------------------------


@jit
def rows_and_elements(threads: int, columns: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, columns), "float32"),
        sums: T.Tensor((n,), "float32"),
        Y: T.Tensor((n, columns), "float32"),
        doubled: T.Tensor((n,), "float32"),
    ):
        with T.Kernel(3, threads=threads) as b:
            tx = T.get_thread_binding()
            row = b * threads + tx
            mine = T.alloc_local((columns,), "float32")
            if row < n:
                total = T.alloc_var("float32", init=1.0)
                for i in T.vectorized(columns):
                    mine[i] = X[row, i]
                for i in T.serial(columns):
                    total += mine[i]
                sums[row] = total
                for i in T.unroll(columns):
                    Y[row, i] = mine[i] / total
            for i in T.serial(row, n, 3 * threads):
                doubled[i] = X[i, 0] * 2

    return kernel


@pytest.mark.parametrize("n", [1, 301])
def test_each_thread_has_a_row(n: int) -> None:
    x, y = torch.rand(n, 5), torch.zeros(n, 5)
    sums, doubled = torch.zeros(n), torch.zeros(n)
    rows_and_elements(256, 5)(x, sums, y, doubled)
    total = x.sum(1) + 1
    close(sums, total)
    close(y, x / total[:, None])
    close(doubled, x[:, 0] * 2)


@jit
def returned_early(threads: int, sizes: tuple[int, int]) -> Any:
    rows, columns = sizes

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), "float16"),
        Y: T.Tensor((columns, rows), "float16"),
        Z: T.Tensor((rows * columns,), "int32"),
    ):
        with T.Kernel(1, threads=(threads // 4, 4)) as b:
            tx = T.get_thread_binding(0)
            ty = T.get_thread_binding(1)
            t = ty * (threads // 4) + tx
            for i in range(T.ceildiv(rows * columns, threads)):
                at = i * threads + t
                if at < rows * columns:
                    Z[at] = t
            if tx >= columns or ty >= rows:
                T.thread_return()
            Y[tx, ty] = X[ty, tx]

    return kernel


def test_threads_have_two_numbers_and_return_early() -> None:
    x, y = torch.rand(3, 13).half(), torch.zeros(13, 3).half()
    z = torch.zeros(39, dtype=torch.int32)
    returned_early(64, (3, 13))(x, y, z)
    assert torch.equal(y, x.T) and z.tolist() == list(range(39))


# Memory that threads share ------------------------------------------------------------------------


@T.macro
def turn_around(tile: Any, count: Any) -> None:
    thread = T.get_thread_binding()
    value = T.alloc_var("float32")
    value = tile[count - 1 - thread]
    T.sync_threads()
    tile[thread] = value
    T.sync_threads()


@jit
def staged(threads: int, parts: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n, parts * threads), "float32"),
        sums: T.Tensor((n,), "float32"),
        Y: T.Tensor((n, threads), "float32"),
    ):
        with T.Kernel(n, threads=threads) as b:
            tx = T.get_thread_binding()
            shared = T.alloc_shared((threads,), "float32")
            both = T.alloc_local((2,), "float32")
            last = T.alloc_var("float32", init=1.0)
            T.clear(both)
            for k in T.serial(parts):
                T.copy(X[b, k * threads], shared)
                both[k % 2] += shared[tx]
                last = shared[threads - 1 - tx]
                T.sync_threads()
            shared[tx] = both[0] + 2 * both[1]
            T.sync_threads()
            if b % 2 == 0:
                turn_around(shared, threads)
            Y[b, tx] = shared[tx] + last
            T.sync_threads()
            step = T.alloc_var("int32", init=threads // 2)
            while step > 0:
                if tx < step:
                    shared[tx] += shared[tx + step]
                T.sync_threads()
                step = step // 2
            if tx == 0:
                sums[b] = shared[0]

    return kernel


def test_barriers_divide_what_threads_do() -> None:
    threads, parts = 32, 3
    x = torch.rand(3, parts, threads)
    sums, y = torch.zeros(3), torch.zeros(3, threads)
    staged(threads, parts)(x.view(3, -1), sums, y)
    both = x[:, ::2].sum(1) + 2 * x[:, 1::2].sum(1)
    close(sums, both.sum(1))
    both[::2] = both[::2].flip(1)
    close(y, both + x[:, -1].flip(1))


@jit
def counted(threads: int, groups: int) -> Any:
    n = T.symbolic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "int32"), Y: T.Tensor((groups,), "int32"), Z: T.Tensor((2,), "int32")
    ):
        with T.Kernel(2, threads=threads) as b:
            tx = T.get_thread_binding()
            shared = T.alloc_shared((groups,), "int32")
            T.clear(shared)
            T.sync_threads()
            for i in T.serial(b * threads + tx, n, 2 * threads):
                if X[i] >= 0:
                    T.atomic_add(shared[X[i]], 1)
            T.sync_threads()
            for i in T.serial(tx, groups, threads):
                if shared[i] > 0:
                    T.atomic_add(Y[i], shared[i])
            if tx % 32 == 0:
                T.atomic_add(Z[0], 1)
            T.atomic_add(Z[1], 1)

    return kernel


@pytest.mark.parametrize("n", [0, 301])
def test_threads_add_to_shared_elements(n: int) -> None:
    x = torch.randint(-1, 37, (n,), dtype=torch.int32)
    y, z = torch.zeros(37, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    counted(128, 37)(x, y, z)
    assert torch.equal(y, torch.bincount(x[x >= 0], minlength=37).int())
    assert z.tolist() == [8, 256]


# What is refused ----------------------------------------------------------------------------------

_TOGETHER = "is for all threads of the block"
_UPDATED = "other threads may write `S` between the read and the write"


def kernel_of(lines: str) -> Any:
    body = "\n".join(f"            {line}" for line in lines.splitlines())
    text = f"""
@T.macro
def waits(x):
    T.sync_threads()

@T.macro
def copies(X, S, x):
    T.copy(X, S[0:128])

@T.prim_func
def kernel(
    X: T.Tensor((128,), "float32"), Y: T.Tensor((128,), "float32"),
    I: T.Tensor((128,), "int32"), n: T.int32,
):
        with T.Kernel(1, threads=128) as b:
            t = T.get_thread_binding()
            S = T.alloc_shared((256,), "float32")
            T.clear(S)
{body}
"""
    linecache.cache["<threads>"] = (len(text), None, text.splitlines(keepends=True), "<threads>")
    names = {"T": T, "__name__": "script"}
    exec(compile(text, "<threads>", "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize(
    ("lines", "slug", "message"),
    [
        # Updates of what another thread updates.
        ("S[0] += X[t]", "thread-program", _UPDATED),
        ("S[t // 2] += X[t]", "thread-program", _UPDATED),
        ("S[I[t]] += X[t]", "thread-program", _UPDATED),
        ("w = S[0] + X[t]\nS[0] = w", "thread-program", _UPDATED),
        ("S[t] = S[(t + 1) % 128]", "thread-program", _UPDATED),
        ("if t >= n: S[t] += S[t - n]", "thread-program", _UPDATED),
        ("for i in T.serial(2): S[t + i] += 1.0", "thread-program", _UPDATED),
        # What all threads do, where they differ.
        ("if t < n: T.copy(X, S[0:128])", "thread-program", _TOGETHER),
        ("T.copy(X[t:t + 1], S[t:t + 1])", "thread-program", _TOGETHER),
        ("if t < n:\n    S[t] = X[t]\n    T.sync_threads()", "thread-program", _TOGETHER),
        ("if t < n:\n    for i in T.Parallel(128): S[i] = X[i]", "thread-program", _TOGETHER),
        ("if t >= n: T.thread_return()\nT.sync_threads()", "thread-program", _TOGETHER),
        ("waits(t)", "thread-program", _TOGETHER),
        ("copies(X, S, t)", "thread-program", _TOGETHER),
        (
            "for i in T.serial(4):\n    if X[t] > i: break\n    T.sync_threads()",
            "thread-program", "would end a loop for some of the threads",
        ),
        # Values of threads.
        ("v = X[t]\nT.sync_threads()\nY[t] = v", "thread-program", "a value of each thread"),
        ("if T.any_sync(X[t] > 0): Y[t] = 1.0", "gpu-name", "T.any_sync"),
        ("for i in T.Parallel(128): Y[i] = X[i] * t", "gpu-name", "T.get_thread_binding"),
    ],
)  # fmt: skip
def test_what_threads_cannot_do_is_told(lines: str, slug: str, message: str) -> None:
    with pytest.raises(KernelError) as caught:
        kernel_of(lines)
    assert caught.value.slug == slug and message in str(caught.value)
    assert caught.value.loc is not None and caught.value.hint


@pytest.mark.parametrize(
    "lines",
    [
        "S[t] = X[t]\nY[t] = S[127 - t]",
        "Y[t] = X[t]\nS[t] = Y[(t + 1) % 128]",
        "Y[0] = X[t]",
        "for i in T.serial(128):\n    if i == t: Y[i] = X[t]",
    ],
)
def test_races_between_barriers_are_told(lines: str) -> None:
    with pytest.raises(KernelError) as caught:
        compile_kernel(kernel_of(lines))
    assert caught.value.slug == "parallel-order" and caught.value.loc is not None


# Additions and what uses their sum -----------------------------------------------------------------


@jit
def split_product(A, B, rows: int = 16, columns: int = 32, parts: int = 8):
    """Several threads add to a sum of a row, and each of them stores it, without a barrier in the
    text."""
    N, K = T.const("N, K")
    A: T.Tensor((K,), T.float32)
    B: T.Tensor((N, K), T.float32)
    C = T.empty((N,), T.float32)
    with T.Kernel(N // rows, threads=(rows, parts)) as b:
        row = T.get_thread_binding(0)
        part = T.get_thread_binding(1)
        sums = T.alloc_shared((rows,), T.float32)
        mine = T.alloc_local((1,), T.float32)
        if part == 0:
            sums[row] = 0
        T.clear(mine)
        for k in T.serial(T.ceildiv(K, columns)):
            for j in T.serial(columns // parts):
                at = k * columns + part * (columns // parts) + j
                mine[0] += A[at] * B[b * rows + row, at]
        T.atomic_add(sums[row], mine[0])
        C[b * rows + row] = sums[row]
    return C


def test_threads_wait_for_sums_and_store_equal_values() -> None:
    a, b = torch.randn(96), torch.randn(32, 96)
    close(split_product(a, b), b @ a)


def test_unequal_values_for_one_element_are_told() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), Y: T.Tensor((16,), "float32")):
        with T.Kernel(1, threads=64):
            t = T.get_thread_binding()
            Y[t % 16] = X[t]

    with pytest.raises(KernelError, match="write the same element of `Y`"):
        compile_kernel(kernel)
