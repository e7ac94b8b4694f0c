"""Products that start from a bias: `T.alloc_BT`, copies l1 to bt, `T.mma(..., bias=)`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import SimulationError, compile
from tile_runtime.jit_kernels.kernel_artifact import lower

from .automatic import AUTOMATIC, ORDERED

pytestmark = pytest.mark.usefixtures("strict")


def with_bias(dtype: str, bias_dtype: str, m: int, n: int, given: Any = "left out") -> Any:
    """A @ B + bias over k = 128 in two tiles."""
    result = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def kernel(A: T.Tensor((m, 128), dtype), B: T.Tensor((128, n), dtype),
               Bias: T.Tensor((n,), bias_dtype), C: T.Tensor((m, n), result)):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((m, 64), dtype)
            b = T.alloc_L1((64, n), dtype)
            bias = T.alloc_L1((n,), bias_dtype)
            a0 = T.alloc_L0A((m, 64), dtype)
            b0 = T.alloc_L0B((64, n), dtype)
            bt = T.alloc_BT((n,), result)
            c = T.alloc_L0C((m, n), result)
            T.copy(Bias, bias)
            T.copy(bias, bt)
            for t in T.serial(2):
                T.copy(A[0, t * 64], a)
                T.copy(B[t * 64, 0], b)
                T.copy(a, a0)
                T.copy(b, b0)
                if given == "a condition":
                    T.mma(a0, b0, c, init=t == 0, bias=bt)
                elif t == 0:
                    T.mma(a0, b0, c, bias=bt)
                else:
                    T.mma(a0, b0, c)
            T.copy(c, C)

    return kernel


def inputs(dtype: str, bias_dtype: str, m: int, n: int, k: int = 128) -> tuple[Any, Any, Any]:
    torch.manual_seed(m + n)
    a = torch.randint(-4, 5, (m, k)).to(getattr(torch, dtype))
    b = torch.randint(-4, 5, (k, n)).to(getattr(torch, dtype))
    return a, b, torch.randint(-99, 99, (n,)).to(getattr(torch, bias_dtype))


@pytest.mark.parametrize(
    ("dtype", "bias_dtype"),
    [("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32"), ("int8", "int32")],
)
@pytest.mark.parametrize(("m", "n"), [(32, 64), (16, 16), (1, 20), (17, 33), (64, 128)])
@pytest.mark.parametrize("given", ["left out", "a condition"])
def test_a_product_starts_from_a_bias(
    dtype: str, bias_dtype: str, m: int, n: int, given: str
) -> None:
    a, b, bias = inputs(dtype, bias_dtype, m, n)
    kernel = compile(with_bias(dtype, bias_dtype, m, n, given), out_idx=[3], pass_configs=AUTOMATIC)
    want = a.double() @ b.double() + bias.double()
    np.testing.assert_array_equal(kernel(a, b, bias).double(), want)


@pytest.mark.parametrize("by_hand", [True, False])
def test_tables_in_turn(by_hand: bool) -> None:
    """Two tables of one launch, order and addresses by hand or by the compiler."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), Bias: T.Tensor((4, 64), "float32"),
               C: T.Tensor((4, 16, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 16), "float16")
            bias = T.alloc_L1((64,), "float32")
            a0 = T.alloc_L0A((16, 16), "float16")
            b0 = T.alloc_L0B((16, 64), "float16")
            first = T.alloc_BT((64,), "float32")
            second = T.alloc_BT((1, 64), "float32")
            wide = T.alloc_L1((16, 64), "float16")
            c = T.alloc_L0C((16, 64), "float32")
            if by_hand:
                T.annotate_address({
                    a: 0, bias: 512, wide: 1024, a0: 0, b0: 0, first: 256, second: 512, c: 0,
                })  # fmt: skip
            with T.Scope("C"):
                T.copy(A, a)
                for i in range(4):
                    T.copy(A, wide[:, i * 16 : i * 16 + 16])
                if by_hand:
                    T.barrier_all()
                T.copy(a, a0)
                T.copy(wide, b0)
                for i in T.serial(4):
                    if by_hand:
                        T.barrier_all()
                    T.copy(Bias[i, :], bias)
                    if by_hand:
                        T.barrier_all()
                    if i % 2 == 0:
                        T.copy(bias, first)
                        if by_hand:
                            T.barrier_all()
                        T.mma(a0, b0, c, bias=first)
                    else:
                        T.copy(bias, second[0, :])
                        if by_hand:
                            T.barrier_all()
                        T.mma(a0, b0, c, bias=second[0, :])
                    if by_hand:
                        T.barrier_all()
                    T.copy(c, C[i, :, :])

    a = torch.randint(-4, 5, (16, 16)).half()
    bias = torch.randint(-99, 99, (4, 64)).float()
    options = {} if by_hand else AUTOMATIC
    got = compile(kernel, out_idx=[2], pass_configs=options)(a, bias)
    product = (a.double() @ a.double()).repeat(1, 4)
    for i in range(4):
        np.testing.assert_array_equal(got[i].double(), product + bias[i].double())


def test_memories_are_found() -> None:
    """Developer style: the compiler sees that the bias has to be in l1, and where registers are."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "float16"), B: T.Tensor((32, 64), "float16"),
               Bias: T.Tensor((64,), "float16"), C: T.Tensor((32, 64), "float16")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            bias = T.alloc_shared((64,), "float16")
            a0 = T.alloc_fragment((32, 32), "float16")
            b0 = T.alloc_fragment((32, 64), "float16")
            c = T.alloc_fragment((32, 64), "float32")
            bt = T.alloc_BT((64,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(Bias, bias)
            T.copy(bias, bt)
            T.copy(a, a0)
            T.copy(b, b0)
            T.mma(a0, b0, c, bias=bt)
            T.copy(c, C, enable_relu=True)

    a, b = torch.randint(-4, 5, (32, 32)).half(), torch.randint(-4, 5, (32, 64)).half()
    bias = torch.randint(-99, 99, (64,)).half()
    got = compile(kernel, out_idx=[3], pass_configs=AUTOMATIC)(a, b, bias)
    want = (a.double() @ b.double() + bias.double()).clamp(min=0)
    np.testing.assert_array_equal(got.double(), want)


def test_part_of_a_table_and_of_a_product() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((16, 32), "float16"), B: T.Tensor((32, 64), "float16"),
               Bias: T.Tensor((128,), "float32"), C: T.Tensor((16, 64), "float32"),
               n: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 32), "float16")
            b = T.alloc_L1((32, 64), "float16")
            bias = T.alloc_L1((128,), "float32")
            a0 = T.alloc_L0A((16, 32), "float16")
            b0 = T.alloc_L0B((32, 64), "float16")
            bt = T.alloc_shared((128,), "float32", scope="shared.bt")
            c = T.alloc_L0C((16, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(Bias, bias)
            T.copy(bias, bt)
            T.copy(a, a0)
            T.copy(b, b0, real_n=n)
            T.mma(a0, b0, c, bias=bt[64:128], n_actual=n)
            T.copy(c[:, :n], C[:, :n])

    a = torch.randint(-4, 5, (16, 32)).half()
    b = torch.randint(-4, 5, (32, 64)).half()
    bias = torch.randint(-99, 99, (128,)).float()
    k = compile(kernel, pass_configs=AUTOMATIC)
    for n in (16, 48, 64):
        got = torch.zeros(16, 64)
        k(a, b, bias, got, n)
        want = a.double() @ b[:, :n].double() + bias[64 : 64 + n].double()
        np.testing.assert_array_equal(got[:, :n].double(), want)
        assert not got[:, n:].any()


def test_a_table_filled_too_late_is_a_race() -> None:
    """The checks know the memory: without order the product may read what is not there yet."""
    kernel = compile(with_bias("float16", "float32", 32, 64), out_idx=[3], pass_configs={})
    with pytest.raises((SimulationError, KernelError)):
        kernel(*inputs("float16", "float32", 32, 64))


def test_a_table_nobody_filled() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 16), "float16")
            a0 = T.alloc_L0A((16, 16), "float16")
            b0 = T.alloc_L0B((16, 16), "float16")
            bt = T.alloc_BT((16,), "float32")
            c = T.alloc_L0C((16, 16), "float32")
            T.copy(A, a)
            T.copy(a, a0)
            T.copy(a, b0)
            T.mma(a0, b0, c, bias=bt)
            T.copy(c, C)

    with pytest.raises((SimulationError, KernelError), match="`?'?bt"):
        compile(kernel, out_idx=[1], pass_configs=AUTOMATIC)(torch.randn(16, 16).half())


WRONG = [
    (lambda x, v, m, bt, r: T.copy(x, bt), "copy-direction", "filled from l1"),
    (lambda x, v, m, bt, r: T.copy(m[0, :], bt), "shape-mismatch", "one dimension"),
    (lambda x, v, m, bt, r: T.copy(v[0:16], bt[16:32]), "row-alignment", "multiple of 32"),
    (lambda x, v, m, bt, r: T.copy(bt, x), "copy-direction", "no path"),
    (lambda x, v, m, bt, r: T.mma(*r, bias=v), "operand-memory", "expected bt"),
    (lambda x, v, m, bt, r: T.mma(*r, bias=bt), "shape-mismatch", "32 columns"),
    (lambda x, v, m, bt, r: T.mma(*r, bias=bt[8:40]), "row-alignment", "multiple of 16"),
    (lambda x, v, m, bt, r: T.mma(*r, bias=bt[0:32], init=False), "attribute-value", "starts from"),
    (lambda x, v, m, bt, r: T.alloc_BT((64,), "int4"), "packed-memory", "int4"),
    (lambda x, v, m, bt, r: T.copy(v, T.alloc_BT((64,), "int32")), "dtype-mismatch", "int32"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "slug", "text"), WRONG)
def test_what_is_no_bias(call: Any, slug: str, text: str) -> None:
    def k(X: T.Tensor((64,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            v = T.alloc_L1((64,), "float32")
            m = T.alloc_L1((1, 64), "float32")
            a0 = T.alloc_L0A((16, 16), "float16")
            b0 = T.alloc_L0B((16, 32), "float16")
            c = T.alloc_L0C((16, 32), "float32")
            bt = T.alloc_BT((64,), "float32")
            call(X, v, m, bt, (a0, b0, c))

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug
    assert text in caught.value.message + (caught.value.hint or "")


def test_tables_are_as_large_as_the_chip_has_them() -> None:
    def k(X: T.Tensor((272,), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            v = T.alloc_L1((272,), "float32")
            bt = T.alloc_BT((272,), "float32")
            T.copy(X, v)
            T.copy(v, bt)

    with pytest.raises(KernelError, match="bt") as caught:
        lower(T.prim_func(k), pass_configs=ORDERED)
    assert caught.value.slug == "memory-overflow" and "1024" in caught.value.message


def tiled(
    dtype: str, bias_dtype: str, tile: tuple[int, int, int], turned: bool, table: bool = False
) -> Any:
    """relu(A @ B + bias) by tiles, over k in rounds; the bias from l1, or from a table."""
    m, n, k = tile
    result = "int32" if dtype == "int8" else "float32"
    rows, columns, depth = 2 * m, 2 * n, 3 * k

    @T.prim_func
    def kernel(A: T.Tensor((rows, depth), dtype),
               B: T.Tensor((columns, depth) if turned else (depth, columns), dtype),
               Bias: T.Tensor((columns,), bias_dtype), C: T.Tensor((rows, columns), result)):  # fmt: skip
        with T.Kernel(4, threads=1) as cid:
            x, y = cid // 2 * m, cid % 2 * n
            a = T.alloc_shared((m, k), dtype)
            b = T.alloc_shared((n, k) if turned else (k, n), dtype)
            bias = T.alloc_shared((n,), bias_dtype)
            c = T.alloc_fragment((m, n), result)
            T.copy(Bias[y], bias)
            start = T.alloc_BT((n,), result) if table else bias
            if table:
                T.copy(bias, start)
            for i in T.Pipelined(3, num_stages=2):
                T.copy(A[x, i * k], a)
                if turned:
                    T.copy(B[y, i * k], b)
                else:
                    T.copy(B[i * k, y], b)
                T.gemm_v0(a, b, c, transpose_B=turned, init=i == 0, bias=start)
            T.copy(c, C[x, y], enable_relu=True)

    return kernel


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("dtype", "bias_dtype", "tile"),
    [
        ("float16", "float16", (32, 64, 32)),
        ("bfloat16", "float32", (64, 96, 128)),
        ("float16", "float32", (16, 128, 1168)),
        ("float32", "float32", (32, 32, 32)),
        ("int8", "int32", (32, 128, 64)),
    ],
)
def test_tiles_start_from_a_bias(
    dtype: str, bias_dtype: str, tile: tuple[int, int, int], turned: bool, table: bool
) -> None:
    m, n, k = tile
    a, b, bias = inputs(dtype, bias_dtype, 2 * m, 2 * n, 3 * k)
    kernel = compile(
        tiled(dtype, bias_dtype, tile, turned, table), out_idx=[3], pass_configs=AUTOMATIC
    )
    got = kernel(a, b.T.contiguous() if turned else b, bias)
    want = (a.double() @ b.double() + bias.double()).clamp(min=0)
    np.testing.assert_array_equal(got.double(), want)


def test_a_wide_product_from_a_bias_in_pieces() -> None:
    """Both results at once do not fit l0c: one is made by columns, and so is its bias."""

    @T.prim_func
    def kernel(A: T.Tensor((128, 64), "float16"), B: T.Tensor((64, 256), "float16"),
               Bias: T.Tensor((256,), "float32"), C: T.Tensor((128, 256), "float32"),
               D: T.Tensor((128, 64), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_shared((128, 64), "float16")
            b = T.alloc_shared((64, 256), "float16")
            bias = T.alloc_shared((256,), "float32")
            first = T.alloc_fragment((128, 256), "float32")
            second = T.alloc_fragment((128, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(Bias, bias)
            T.gemm_v0(a, b, first, bias=bias)
            T.gemm_v0(a, b[:, 64:128], second, init=True)
            T.copy(first, C)
            T.copy(second, D)

    a, b, bias = inputs("float16", "float32", 128, 256, 64)
    got = compile(kernel, out_idx=[3, 4], pass_configs=AUTOMATIC)(a, b, bias)
    product = a.double() @ b.double()
    np.testing.assert_array_equal(got[0].double(), product + bias.double())
    np.testing.assert_array_equal(got[1].double(), product[:, 64:128])
