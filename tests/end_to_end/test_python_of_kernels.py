"""Python that kernels for GPUs are written in: conditions of the host and of the run, variables, macros
with a closure, tensors that launches share or do not use."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")

NUMBERS = torch.tensor([3, -4, 5, 0, 9, 7, 7, 2], dtype=torch.int32)


@jit
def conditions(A, low: int = 2, wide: bool = True, name: Any = None):
    A: T.Tensor((8,), T.int32)
    B = T.empty((16,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        B[0] = 1 if wide and low < 3 else 2
        B[1] = 1 if not wide or low > 3 else 2
        B[2] = 1 if 1 < low < 3 <= 4 else 2
        B[3] = A[0] if A[0] > low and A[1] < 0 else 0
        B[4] = A[0] if A[0] > 100 or A[1] < 0 else 0
        B[5] = 1 if not A[3] > 0 else 0
        B[6] = 1 if 0 < A[0] < A[2] < 6 else 0
        B[7] = 1 if wide and A[0] > 0 else 0
        B[8] = 1 if not wide or A[1] > 0 else 0
        B[9] = 1 if name is None else 2
        if A[0] > 0 and (A[1] > 0 or A[2] == 5):
            B[10] = 1
        elif A[4] > 0:
            B[10] = 2
        else:
            B[10] = 3
        if A[5] != A[6]:
            B[11] = 1
        elif not A[5] > 8 and wide:
            B[11] = 2
        else:
            B[11] = 3
        limit = low if low > 1 else 1
        found = T.alloc_var(T.int32)
        while found * found < A[4] and found < 100:
            found += limit
        B[12] = found
        total = T.alloc_var(T.int32, 0)
        for i in range(7, -1, -2):
            if A[i] == 0:
                break
            total += A[i]
        B[13] = total
        rest = T.alloc_var(T.int32, 0)
        for i in T.serial(0, 8, 3):
            if A[i] == 7:
                continue
            rest += A[i] * i
        B[14] = rest
        B[15] = [4, 5, 6][low] + sum(n for n in range(3)) + len(f"{low}")
    return B


def test_conditions_of_the_host_and_of_the_run() -> None:
    found = conditions(NUMBERS).tolist()
    assert found == [1, 2, 1, 3, 3, 1, 1, 1, 0, 1, 1, 2, 4, 9, 0, 10]


@jit
def elements(A, wide: bool):
    """The same of elements, where both sides are computed."""
    A: T.Tensor((4, 16), T.float32)
    B = T.empty((4, 16), T.float32)
    if wide:
        factor, shift = 2.0, 1.0
    else:
        factor, shift = 3.0, 0.0
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((4, 16), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(4, 16):
            a[i, j] = a[i, j] * factor if -1 < a[i, j] <= 1 and i != 2 else a[i, j] + shift
        T.copy(a, B)
    return B


@pytest.mark.parametrize("wide", [True, False])
def test_conditions_of_elements(wide: bool) -> None:
    a = torch.randn(4, 16)
    factor, shift = (2.0, 1.0) if wide else (3.0, 0.0)
    near = (a > -1) & (a <= 1)
    near[2] = False
    assert torch.equal(elements(a, wide), torch.where(near, a * factor, a + shift))


VARIABLES = {
    "type": lambda: T.alloc_var(T.int32),
    "value": lambda: T.alloc_var(T.int32, 5),
    "scope": lambda: T.alloc_var(T.int32, "local.var"),
    "value and scope": lambda: T.alloc_var("int32", 5, "local.var"),
    "scope and value": lambda: T.alloc_var("int32", "local.var", 5),
    "init": lambda: T.alloc_var("int32", init=5),
    "init and scope": lambda: T.alloc_var(T.int32, scope="local.var", init=5),
    "all names": lambda: T.alloc_var(dtype="int32", init=5, scope="local.var"),
}


@pytest.mark.parametrize("form", VARIABLES)
def test_forms_of_variables(form: str) -> None:
    make = VARIABLES[form]

    @jit
    def k(A):
        A: T.Tensor((8,), T.int32)
        with T.Kernel(1, threads=128) as bx:
            v = make()
            A[0] = v
            v += 2
            A[1] = v
            w = v
            T.clear(v)
            A[2] = v
            A[3] = w
            T.fill(v, 9)
            A[4] = v

    a = torch.zeros(8, dtype=torch.int32)
    k(a)
    first = 0 if form in ("type", "scope") else 5
    assert a.tolist()[:5] == [first, first + 2, 0, first + 2, 9]


@jit
def swapped(A):
    A: T.Tensor((8,), T.int32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_var(T.int32, 1)
        b = T.alloc_var(T.int32, 1)
        for _ in T.serial(6):
            a, b = b, a + b
        A[0] = a
        A[1] = b
        A[2], A[3] = A[3], A[2]
        x = y = A[4] + 1
        A[4] = x
        A[5] = y


def test_values_are_swapped_and_chained() -> None:
    a = NUMBERS.clone()
    swapped(a)
    assert a.tolist() == [13, 21, 0, 5, 10, 10, 7, 2]


def scaling(factor: int, shift: float) -> Any:
    @T.macro
    def change(x, rows: int, columns: int):
        for i, j in T.Parallel(rows, columns):
            x[i, j] = x[i, j] * factor + shift

    @T.macro
    def counted(n: T.Ref, limit):
        n = n + factor
        return limit + factor, n

    @T.prim_func
    def main(A: T.Tensor((4, 16), "float32"), B: T.Tensor((4, 16), "float32"),
             C: T.Tensor((8,), "int32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((4, 16), "float32")
            n = T.alloc_var("int32", 1)
            T.copy(A, a)
            change(a, 4, 16)
            T.copy(a, B)
            first, second = counted(n, 10)
            C[0] = first
            C[1] = second
            C[2] = n
            counted(C[3], 0)

    return main


def test_a_macro_of_a_factory_sees_what_is_around_it() -> None:
    a = torch.randn(4, 16)
    for factor, shift in ((2, 1.0), (5, -0.5)):
        counts = torch.zeros(8, dtype=torch.int32)
        b = torch.zeros(4, 16)
        compile(scaling(factor, shift))(a, b, counts)
        assert torch.equal(b, a * factor + shift)
        assert counts.tolist()[:4] == [10 + factor, 1 + factor, 1 + factor, factor]


@pytest.mark.parametrize("make", ["alloc_global", "alloc_buffer", "allocate"])
def test_launches_share_what_the_function_allocates(make: str) -> None:
    allocate = getattr(T, make)

    @jit
    def k(A):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), T.float32)
        B = T.empty((M,), T.float32)
        kept, later = allocate((M, N), T.float32), allocate((M, N), T.float32)
        with T.Kernel(M, threads=128) as bx:
            for j in T.Parallel(N):
                kept[bx, j] = A[bx, j] * 2
        with T.Kernel(M, threads=128) as bx:
            for j in T.Parallel(N):
                later[M - 1 - bx, j] = kept[bx, j] + 1
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((M, N), T.float32)
            s = T.alloc_fragment((M,), T.float32)
            T.copy(later, a)
            T.reduce_sum(a, s, dim=1)
            T.copy(s, B)
        return B

    a = torch.randn(4, 16)
    torch.testing.assert_close(k(a), (a * 2 + 1).sum(1).flip(0))


@jit
def with_bias(A, Bias, has_bias: bool):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    Bias: T.Tensor((N,), T.float32)
    B = T.empty((N,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        for i in T.Parallel(N):
            B[i] = A[i] + Bias[i] if has_bias else A[i]
    return B


def test_a_tensor_that_is_not_used_may_be_none() -> None:
    a, bias = torch.randn(16), torch.randn(16)
    assert torch.equal(with_bias(a, bias, True), a + bias)
    assert torch.equal(with_bias(a, None, False), a)

    @T.prim_func
    def main(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"),
             C: T.Tensor((16,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            T.copy(A, C)

    assert torch.equal(compile(main, out_idx=-1)(a, None), a)
    with pytest.raises(KernelError):
        compile(main, out_idx=-1)(None, a)


@jit
def of_a_shape(A, leading: Any):
    M, N = T.const("M, N")
    shape = [M, N]
    A: T.Tensor((*shape,), T.float32)
    B = T.empty((*leading, *shape), T.float32)
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared([*shape], T.float32)
        T.copy(A, tile)
        T.copy(tile, B[(*[0 for _ in leading], 0, 0)])
    return B


def test_shapes_are_put_together_of_others() -> None:
    a = torch.randn(4, 8)
    assert torch.equal(of_a_shape(a, (1,)), a[None])
    with pytest.raises(KernelError, match=r"`\*` does not take the Python number 3"):
        of_a_shape(a, 3)


@jit
def with_functions(A, more: int):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)

    def scaled(value, by=2):
        return value * by + more

    @T.macro
    def greatest(tile, out, *, keep=False):
        T.reduce_max(tile, out, dim=1, clear=not keep)

    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((M, N), T.float32)
        most = T.alloc_fragment((M,), T.float32)
        T.copy(A, tile)
        T.fill(most, 0)
        greatest(tile, most, keep=True)
        for i, j in T.Parallel(M, N):
            tile[i, j] = scaled(tile[i, j], by=3) - most[i]
        T.copy(tile, B)
    return B


@jit
def called_with_too_few(A):
    A: T.Tensor((8,), T.float32)
    B = T.empty((8,), T.float32)

    def scaled(value, by):
        return value * by

    with T.Kernel(1, threads=128):
        for i in T.Parallel(8):
            B[i] = scaled(A[i])
    return B


def test_a_kernel_defines_functions() -> None:
    a = torch.randn(4, 8)
    for more in (1, 5):
        expected = a * 3 + more - a.amax(1, keepdim=True).clamp(min=0)
        torch.testing.assert_close(with_functions(a, more), expected)
    with pytest.raises(KernelError, match="missing a required argument: 'by'"):
        called_with_too_few(a[0])
