"""When functions that are kernels compile anew: sizes of tensors, constants, values of every kind."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import JITKernel, compile, jit
from tile_runtime.jit_kernels.watch_kernels import watch_kernels

pytestmark = pytest.mark.usefixtures("strict")


@jit
def scaled(A, factor: Any = 2, tile: int = 16, extra: Any = None):
    N = T.const("N")
    A: T.Tensor((N,), T.float32)
    B = T.empty((N,), T.float32)
    number = factor
    if isinstance(factor, dict):
        number = factor["by"]
    elif isinstance(factor, (list, tuple)):
        number = factor[0] + factor[1]
    elif factor is None:
        number = 7
    with T.Kernel(T.ceildiv(N, tile), threads=128) as bx:
        a = T.alloc_fragment((tile,), T.float32)
        T.copy(A[bx * tile], a)
        for i in T.Parallel(tile):
            a[i] = a[i] * number
        T.copy(a, B[bx * tile])
    return B


def compiled(*calls: Any) -> int:
    with watch_kernels() as kernels:
        for call in calls:
            call()
    return len(kernels)


def test_shapes_compile_anew_and_equal_shapes_do_not() -> None:
    a, b = torch.randn(32), torch.randn(48)
    assert compiled(lambda: scaled(a, tile=32)) == 1
    assert compiled(lambda: scaled(a + 1, tile=32), lambda: scaled(A=a, factor=2, tile=32)) == 0
    assert compiled(lambda: scaled(b, tile=32)) == 1
    assert torch.equal(scaled(b, tile=32), b * 2)


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "list": ([1, 2], [1, 3], (3, 4)),
    "tuple": ((2, 2), (2, 3), (4, 5)),
    "dict": ({"by": 5}, {"by": 6}, (5, 6)),
    "none": (None, 8, (7, 8)),
    "float": (0.5, 1.5, (0.5, 1.5)),
    "bool": (True, 9, (1, 9)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_part_of_what_a_kernel_is_for(kind: str) -> None:
    first, second, factors = KINDS[kind]
    a = torch.randn(16)
    assert torch.equal(scaled(a, first), a * factors[0])
    assert torch.equal(scaled(a, second), a * factors[1])
    again = type(first)(first) if first is not None else None
    assert compiled(lambda: scaled(a, again), lambda: scaled(a, second)) == 0


@jit
def of_type(A, dtype: T.dtype):
    A: T.Tensor((16,), T.float32)
    B = T.empty((16,), dtype)
    with T.Kernel(1, threads=128) as bx:
        T.copy(A, B)
    return B


def test_element_types_are_part_of_it() -> None:
    a = torch.randn(16)
    assert of_type(a, T.float16).dtype == torch.float16
    assert of_type(a, "bfloat16").dtype == torch.bfloat16
    assert of_type(a, torch.float16).dtype == torch.float16
    assert compiled(lambda: of_type(a, torch.float16), lambda: of_type(a, T.float16)) == 0


def test_what_has_no_hash_is_no_value() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(TypeError):
        scaled(torch.randn(16), extra=Unhashable())


def test_the_declaration_that_gives_no_size_is_the_error() -> None:
    @jit
    def copied(A, dtype: str):
        N = T.const("N")
        A: T.Tensor((N,), dtype)
        B = T.empty((N,), dtype)
        with T.Kernel(1, threads=128):
            T.copy(A, B)
        return B

    a = torch.randn(16)
    assert torch.equal(copied(a, "float32"), a)
    with pytest.raises(KernelError, match="float64 is no type of tensors") as error:
        copied(a.double(), "float64")
    assert "A: T.Tensor((N,), dtype)" in str(error.value)
    with pytest.raises(KernelError, match="missing a required argument") as error:
        copied(a)
    assert error.value.hint == "it is declared as copied(A, dtype)"


@jit(out_idx=[-1])
def added(n: int, block: int = 16):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] + 1

    return main


def test_a_factory_gives_one_kernel_for_equal_arguments() -> None:
    kernel = added(32)
    assert isinstance(kernel, JITKernel)
    assert added(32) is kernel and added(n=32) is kernel and added(32, 16) is kernel
    assert added.compile(n=32) is kernel and added(32, 32) is not kernel
    a = torch.randn(32)
    assert torch.equal(kernel(a), a + 1)


RESULTS: dict[str, tuple[Any, int]] = {
    "one": (-1, 2),
    "one of a list": ([2], 2),
    "several": ([1, 2], 1),
    "counted from the end": ([-2, -1], 1),
    "none": (None, 3),
}


@pytest.mark.parametrize("case", RESULTS)
def test_one_result_is_a_tensor_and_several_are_a_list(case: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32"),
             C: T.Tensor((16,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(16):
                B[i] = A[i] + 1
                C[i] = A[i] + 2

    out_idx, count = RESULTS[case]
    given = [torch.randn(16), torch.zeros(16), torch.zeros(16)][:count]
    found = compile(main, out_idx=out_idx)(*given)
    expected = [given[0] + 1, given[0] + 2]
    if count == 3:
        assert found == [] and all(map(torch.equal, given[1:], expected))
    elif count == 2:
        assert isinstance(found, torch.Tensor) and torch.equal(found, expected[1])
    else:
        assert isinstance(found, list) and all(map(torch.equal, found, expected))


class TestConstants:
    def test_rows_may_lie_apart(self) -> None:
        @jit
        def k(A):
            M, N, S = T.const("M N, S")
            A: T.StridedTensor((M, N), (S, 1), T.float32)
            with T.Kernel(M, threads=128) as bx:
                A[bx, 0] = 0.0

        a = torch.randn(40, 5).T
        expected = a.clone()
        expected[:, 0] = 0
        k(a)
        assert torch.equal(a, expected)

    def test_by_name_in_compile(self) -> None:
        kernel = scaled.compile(N=40, tile=8)
        a = torch.randn(40)
        assert torch.equal(kernel(a), a * 2)

    def test_one_that_stands_in_a_product_and_alone(self) -> None:
        @jit
        def k(A, B):
            N = T.const("N")
            A: T.Tensor((N * 2,), T.float32)
            B: T.Tensor((N,), T.float32)
            C = T.empty((N * 2,), T.float32)
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(N):
                    C[i] = A[i] + B[i]
                    C[N + i] = A[N + i] - B[i]
            return C

        a, b = torch.randn(32), torch.randn(16)
        assert torch.equal(k(a, b), torch.cat((a[:16] + b, a[16:] - b)))


FORMS = {
    "shape and type": lambda m, n: T.empty((m, n), T.float16),
    "list": lambda m, n: T.empty([m, n], "float16"),
    "sizes": lambda m, n: T.empty(m, n, dtype=T.float16),
    "keyword": lambda m, n: T.empty((m, n), dtype=torch.float16),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_empty(form: str) -> None:
    make = FORMS[form]

    @jit
    def k(A):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), T.float32)
        B = make(M, N)
        with T.Kernel(1, threads=128) as bx:
            T.copy(A, B)
        return B

    a = torch.randn(4, 16)
    assert torch.equal(k(a), a.half())


def test_empty_is_of_float32_and_may_have_one_size() -> None:
    @jit
    def k(A):
        N = T.const("N")
        A: T.Tensor((N,), T.float16)
        B = T.empty(N)
        C = T.empty((N,))
        with T.Kernel(1, threads=128) as bx:
            T.copy(A, B)
            T.copy(A, C)
        return B, C

    a = torch.randn(16).half()
    b, c = k(a)
    assert torch.equal(b, a.float()) and torch.equal(c, a.float())


def test_an_output_that_is_returned_twice() -> None:
    @jit
    def k(A):
        A: T.Tensor((16,), T.float32)
        B = T.empty((16,), T.float32)
        with T.Kernel(1, threads=128) as bx:
            T.copy(A, B)
        return B, B

    with pytest.raises(KernelError, match="B"):
        k(torch.randn(16))


def test_text_above_the_launch() -> None:
    """Constants in numbers, branches and shapes; the launch beside another context."""

    @jit
    def k(A, wide: bool = True):
        M, N = T.const("M, N")
        A: T.Tensor((M, N), T.float32)
        half = N // 2
        rows = 2 if M % 2 == 0 else 1
        width = half if wide and N > 16 else N
        factor = 5
        if N > 32:
            factor = 3
        shape = (M, width)
        B = T.empty(shape, T.float32)
        with T.Kernel(M // rows, threads=128) as bx:
            a = T.alloc_fragment((rows, width), T.float32)
            T.copy(A[bx * rows, 0], a)
            for i, j in T.Parallel(rows, width):
                a[i, j] *= factor
            T.copy(a, B[bx * rows, 0])
        return B

    for m, n, width, factor in ((4, 64, 32, 3), (3, 32, 16, 5), (2, 16, 16, 5)):
        a = torch.randn(m, n)
        assert torch.equal(k(a), a[:, :width] * factor)


def test_a_launch_beside_other_frames() -> None:
    @jit
    def k(A):
        A: T.Tensor((16,), T.float32)
        with T.Kernel(1, threads=128) as bx, T.sblock("body"), T.sblock():
            for i in T.Parallel(16):
                A[i] = A[i] + 1

    a = torch.zeros(16)
    k(a)
    assert torch.equal(a, torch.ones(16))


@jit
def weighted(A, B, factor: T.int32, C: T.Tensor((40,), "float32")):
    B: T.Tensor((40,), T.float32)
    A: T.Tensor((40,), T.float32)
    with T.Kernel(1, threads=128):
        for i in T.Parallel(40):
            C[i] = A[i] - B[i] * factor


def test_arguments_are_in_the_order_of_the_signature_wherever_they_are_declared() -> None:
    a, b, c = torch.arange(40.0), torch.randn(40), torch.zeros(40)
    weighted(a, b, 3, c)
    assert torch.allclose(c, a - b * 3)


@jit
def added_if_there(A, bias=None):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    if bias is not None:
        bias: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(N):
            B[i] = A[i] + (0 if bias is None else bias[i])
    return B


def test_a_tensor_is_declared_where_there_is_one() -> None:
    a, bias = torch.randn(40), torch.randn(40)
    assert torch.equal(added_if_there(a), a)
    assert torch.equal(added_if_there(a, bias), a + bias)
    assert torch.equal(added_if_there(a, None), a)
