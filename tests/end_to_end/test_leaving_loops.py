"""Kernels as for GPUs that leave loops and rounds of them, and macros that return values or assign
what they are given. Each runs at `strict` against Python."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


NUMBERS = torch.tensor([3, 4, 5, -1, 7, -8, 9, 2], dtype=torch.int32)


@jit
def leave_at_negative(A, B):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((1,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        s = T.alloc_var(T.int32)
        for i in range(n):
            if A[i] < 0:
                break
            s += A[i]
        B[0] = s


@jit
def skip_negative(A, B):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((1,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        s = T.alloc_var(T.int32)
        for i in T.serial(n):
            if A[i] < 0:
                continue
            s += A[i]
        B[0] = s


@jit
def some_ways_go_on(A, B):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((1,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        s = T.alloc_var(T.int32)
        for i in T.serial(n):
            if A[i] > 0:
                if A[i] == 3:
                    continue
                s += 100
                if A[i] == 9:
                    break
                else:
                    s += 1
            s += A[i]
        B[0] = s


@jit
def skip_in_while(A, B):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((1,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        i = T.alloc_var(T.int32)
        s = T.alloc_var(T.int32, 5)
        T.fill(i, -1)
        while i < n - 1:
            i += 1
            if A[i] < 0:
                continue
            s += A[i]
            if s > 30:
                break
        B[0] = s


def some_ways(numbers: list[int]) -> int:
    s = 0
    for v in numbers:
        if v > 0:
            if v == 3:
                continue
            s += 100
            if v == 9:
                break
            s += 1
        s += v
    return s


def in_while(numbers: list[int]) -> int:
    s = 5
    for v in numbers:
        s += max(v, 0)
        if s > 30:
            break
    return s


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (leave_at_negative, lambda numbers: 12),
        (skip_negative, lambda numbers: sum(v for v in numbers if v > 0)),
        (some_ways_go_on, some_ways),
        (skip_in_while, in_while),
    ],
)
def test_rounds_are_left(kernel: Callable[..., None], expected: Callable[[list[int]], int]) -> None:
    found = torch.zeros(1, dtype=torch.int32)
    kernel(NUMBERS, found)
    assert found.item() == expected(NUMBERS.tolist())


@jit
def host_break(A, B, stop: int):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((1,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        s = T.alloc_var(T.int32)
        for i in range(n):
            s += A[i]
            if stop > 3:
                break
        B[0] = s


def test_a_condition_of_the_host_leaves_a_loop() -> None:
    found = torch.zeros(1, dtype=torch.int32)
    host_break(NUMBERS, found, 5)
    assert found.item() == 3
    host_break(NUMBERS, found, 2)
    assert found.item() == NUMBERS.sum().item()


@jit
def some_tiles(A, L, B):
    n = T.const("n")
    A: T.Tensor((n, 8, 32), T.float32)
    L: T.Tensor((4,), T.int32)
    B: T.Tensor((4, 8, 32), T.float32)
    with T.Kernel(4, threads=128) as bx:
        a = T.alloc_shared((8, 32), T.float32)
        c = T.alloc_fragment((8, 32), T.float32)
        T.clear(c)
        for i in T.serial(n):
            if i >= L[bx]:
                break
            if i == 1:
                continue
            T.copy(A[i, 0, 0], a)
            for p, q in T.Parallel(8, 32):
                c[p, q] += a[p, q]
        T.copy(c, B[bx, 0, 0])


def test_tiles_of_the_rounds_that_are_left() -> None:
    x, found = torch.randn(6, 8, 32), torch.zeros(4, 8, 32)
    lengths = torch.tensor([0, 3, 6, 4], dtype=torch.int32)
    some_tiles(x, lengths, found)
    for block, length in enumerate(lengths.tolist()):
        rounds = [i for i in range(length) if i != 1]
        torch.testing.assert_close(found[block], x[rounds].sum(0), rtol=1e-6, atol=1e-5)


def test_break_outside_a_loop() -> None:
    with pytest.raises(KernelError, match="in no loop"):

        @T.prim_func
        def k(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=128) as bx:
                if A[0] > 0:
                    T.loop_break()


@T.macro
def square(x):
    y = x * x
    return y


@T.macro
def sum_and_difference(a, b):
    return a + b, a - b


@T.macro
def increase(v: T.Ref, by):
    v = v + by
    by = 0


@jit
def macros(A, B):
    n = T.const("n")
    A: T.Tensor((n,), T.int32)
    B: T.Tensor((8,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        s = T.alloc_var(T.int32, 1)
        w = T.alloc_var(T.int32, 5)
        B[0] = square(A[0])
        p, q = sum_and_difference(A[1], A[2])
        B[1] = p
        B[2] = q
        increase(s, A[3])
        B[3] = s
        increase(B[4], 7)
        B[5] = square(square(A[0]))
        increase(s, w)
        B[6] = w
        B[7] = s


def test_macros_return_values_and_assign_references() -> None:
    found = torch.zeros(8, dtype=torch.int32)
    macros(NUMBERS, found)
    assert found.tolist() == [9, 9, -1, 0, 7, 81, 5, 5]


@T.macro
def row_maxima(x, m):
    T.reduce_max(x, m, dim=1)
    for i in T.Parallel(16):
        m[i] = T.max(m[i], 0)
    return m


@jit
def doubled_maxima(A):
    A: T.Tensor((16, 32), T.float32)
    B = T.empty((16,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_fragment((16, 32), T.float32)
        m = T.alloc_fragment((16,), T.float32)
        T.copy(A, a)
        r = row_maxima(a, m)
        for i in T.Parallel(16):
            r[i] = r[i] * 2
        T.copy(r, B)
    return B


def test_a_macro_returns_a_tile() -> None:
    x = torch.randn(16, 32)
    assert torch.equal(doubled_maxima(x), x.max(1).values.clamp(min=0) * 2)


def test_return_from_inside_a_branch() -> None:
    @T.macro
    def early(x):
        if x > 0:
            return x

    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((8,), "int32")):
            with T.Kernel(1, threads=128) as bx:
                A[0] = early(A[1])

    assert caught.value.slug == "unsupported-syntax"


@jit
def variables(A, B):
    A: T.Tensor((4, 8), T.int32)
    B: T.Tensor((8,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_var(T.int32, 1)
        c = T.alloc_var(T.int32, 3, "local.var")
        d = T.alloc_var(T.int32, init=4)
        T.fill(a, 9)
        T.clear(c)
        B[4] = a
        B[5] = c
        a, d = d, a
        B[6] = a
        B[7] = d
        B[0] = A[-1, -1]
        B[-7] = A[-2, 0]
        B[2] = A[2, -3]


def test_variables_are_filled_and_indices_count_from_the_end() -> None:
    found = torch.zeros(8, dtype=torch.int32)
    variables(torch.arange(32, dtype=torch.int32).reshape(4, 8), found)
    assert found.tolist() == [31, 16, 21, 0, 9, 0, 4, 9]


def test_a_prim_func_takes_them_too() -> None:
    @T.prim_func
    def k(A: T.Tensor((8,), "int32"), B: T.Tensor((1,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            s = T.alloc_var("int32")
            for i in range(8):
                if A[i] < 0:
                    continue
                if s > 10:
                    break
                s += A[i]
            B[0] = s

    assert compile(k, out_idx=-1)(NUMBERS).item() == 12


def doubled_blocks(threads: int, sides: bool) -> T.PrimFunc:
    """Blocks from `limit` on leave early; `sides` says that the others do so in a branch too."""

    @T.prim_func
    def k(X: T.Tensor((5, 24), "float32"), Y: T.Tensor((5, 24), "float32"), limit: T.int32):
        with T.Kernel(5, threads=threads) as b:
            if b >= limit:
                return
            x = T.alloc_shared((2, 12), "float32")
            for _ in T.serial(1):
                for r, c in T.Parallel(2, 12):
                    x[r, c] = X[b, 12 * r + c] * 2
            if sides and b == 1:
                for r, c in T.Parallel(2, 12):
                    Y[b, 12 * r + c] = x[r, c] + 1
                return
            for r, c in T.Parallel(2, 12):
                Y[b, 12 * r + c] = x[r, c]

    return k


@pytest.mark.parametrize("threads", [1, 2, 128])
@pytest.mark.parametrize("sides", [False, True], ids=["guard", "both sides"])
def test_a_return_ends_its_block(threads: int, sides: bool) -> None:
    kernel = compile(doubled_blocks(threads, sides))
    x = torch.arange(120, dtype=torch.float32).reshape(5, 24)
    for limit in (0, 1, 4, 5):
        found, expected = torch.full((5, 24), -1.0), torch.full((5, 24), -1.0)
        expected[:limit] = 2 * x[:limit]
        expected[1:2] += 1.0 * (sides and limit > 1)
        kernel(x, found, limit)
        assert torch.equal(found, expected), limit


@jit
def copied_up_to(X, Y, rows: int = 2):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    Y: T.Tensor((M, N), "float32")
    with T.Kernel(4, threads=2) as b:
        if b * rows >= M:
            return
        x = T.alloc_shared((rows, N), "float32")
        T.copy(X[b * rows, 0], x)
        T.copy(x, Y[b * rows, 0])


def test_a_return_in_an_eager_kernel() -> None:
    for rows in (1, 3, 8):
        x, y = torch.randn(rows, 16), torch.zeros(rows, 16)
        copied_up_to(x, y)
        assert torch.equal(x, y)
