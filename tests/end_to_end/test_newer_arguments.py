"""Arguments and pass configs that newer versions of the language add
(docs/use/coming_from_tilelang.md)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.diagnostics.errors import KernelWarning
from tile_runtime import PassConfigKey, compile
from tile_runtime.jit_kernels.kernel_artifact import lower

pytestmark = pytest.mark.usefixtures("strict")

AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True,
    PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}


def test_products_on_registers_with_everything_said() -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 64), "float16"), B: T.Tensor((64, 32), "float16"),
          C: T.Tensor((16, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 64), "float16")
            b = T.alloc_L1((64, 32), "float16")
            a0 = T.alloc_L0A((16, 64), "float16")
            b0 = T.alloc_L0B((64, 32), "float16")
            c = T.alloc_L0C((16, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, a0, real_k=64)
            T.copy(b, b0, real_k=64, real_n=32)
            T.mma(a0, b0, c, init=True, n_actual=32, unit_flag=0b11, k_actual=64)
            T.copy(c, C, unit_flag=0b11)

    a, b = torch.randn(16, 64).half(), torch.randn(64, 32).half()
    got = compile(k, out_idx=[-1], pass_configs=AUTOMATIC)(a, b)
    np.testing.assert_allclose(got, a.float() @ b.float(), atol=1e-3)


def part_of_registers(dtype: str, n: int, k: int, real_n: Any, real_k: Any, turned: bool) -> Any:
    b_shape = (64, 128) if turned else (128, 64)

    @T.prim_func
    def kernel(A: T.Tensor((32, 128), dtype), B: T.Tensor(b_shape, dtype),
               C: T.Tensor((32, 64), "int32" if dtype == "int8" else "float32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 128), dtype)
            b = T.alloc_L1(b_shape, dtype)
            a0 = T.alloc_L0A((32, 128), dtype)
            b0 = T.alloc_L0B((128, 64), dtype)
            c = T.alloc_L0C((32, 64), "int32" if dtype == "int8" else "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.copy(a, a0, real_k=real_k)
            T.copy(b, b0, transpose=turned, real_k=real_k, real_n=real_n)
            T.mma(a0, b0, c, init=True, n_actual=n, k_actual=k)
            T.copy(c[:, :n], C[:, :n])

    return kernel


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize(("n", "k"), [(32, 96), (16, 32), (64, 64), (48, 128)])
def test_a_product_of_a_part_of_registers(dtype: str, turned: bool, n: int, k: int) -> None:
    kernel = part_of_registers(dtype, n, k, n, k, turned)
    a = torch.randint(-4, 5, (32, 128)).to(getattr(torch, dtype))
    b = torch.randint(-4, 5, (128, 64)).to(getattr(torch, dtype))
    want = torch.zeros(32, 64, dtype=torch.float64)
    want[:, :n] = a[:, :k].double() @ b[:k, :n].double()
    got = torch.zeros(32, 64, dtype=torch.int32 if dtype == "int8" else torch.float32)
    compile(kernel, pass_configs=AUTOMATIC)(a, b.T.contiguous() if turned else b, got)
    np.testing.assert_array_equal(got.double(), want)


@pytest.mark.parametrize(("real_n", "real_k"), [(None, None), (16, None), (None, 96), (48, 96)])
def test_registers_are_loaded_as_large_as_they_are_multiplied(real_n: Any, real_k: Any) -> None:
    kernel = part_of_registers("float16", 16, 96, real_n, real_k, False)
    with pytest.raises(KernelError, match="is sliced, but matrices in l0. are used whole"):
        lower(kernel, pass_configs=AUTOMATIC)


def some_columns(dtype: str, turned: bool, blocks: int, size: int, number: int | None) -> Any:
    """A product of which the first columns are replaced by another; `number` None is a value known
    when the kernel runs. The second product starts anew in the first round of a loop."""
    result = "int32" if dtype == "int8" else "float32"
    b_shape = (size, 64) if turned else (64, size)

    @T.prim_func
    def k(A: T.Tensor((32, 64), dtype), B: T.Tensor(b_shape, dtype),
          C: T.Tensor((32, size), result), n: T.int32):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 64), dtype)
            b = T.alloc_L1(b_shape, dtype)
            c = T.alloc_L0C((32, size), result)
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, transpose_B=turned, init=True)
            for i in T.serial(blocks):
                T.gemm_v0(
                    a, b, c, transpose_B=turned, init=i == 0, kL0Size=64,
                    n_actual=n if number is None else number,
                )  # fmt: skip
            T.copy(c, C)

    return k


def check_some_columns(
    dtype: str, turned: bool, blocks: int, size: int, columns: int, known: bool
) -> None:
    k = some_columns(dtype, turned, blocks, size, columns if known else None)
    a = torch.randint(-4, 5, (32, 64)).to(getattr(torch, dtype))
    b = torch.randint(-4, 5, (size, 64)).to(getattr(torch, dtype))
    product = a.double() @ b.double().T
    want = product.clone()
    want[:, :columns] = product[:, :columns] * max(blocks, 1)
    got = torch.zeros(32, size, dtype=torch.int32 if dtype == "int8" else torch.float32)
    given = b if turned else b.T.contiguous()
    compile(k, pass_configs=AUTOMATIC)(a, given, got, columns)
    np.testing.assert_array_equal(got.double(), want)


@pytest.mark.parametrize("dtype", ["float16", "int8", "float32"])
@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_a_product_of_some_columns(dtype: str, turned: bool, known: bool) -> None:
    check_some_columns(dtype, turned, 3, 64, 48, known)


@pytest.mark.parametrize("columns", [0, 16, 32, 64])
@pytest.mark.parametrize("known", [True, False])
def test_a_product_of_no_columns_and_of_all(columns: int, known: bool) -> None:
    check_some_columns("float16", True, 2, 64, columns, known)


@pytest.mark.parametrize(("size", "columns"), [(24, 24), (24, 16), (16, 16)])
def test_a_product_of_columns_in_odd_matrices(size: int, columns: int) -> None:
    check_some_columns("float16", True, 1, size, columns, True)


def test_working_memory_of_a_copy_to_the_cube_core() -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 16), "float16"), C: T.Tensor((16, 16), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((16, 16), "float16")
            l1 = T.alloc_L1((16, 16), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            tmp = T.alloc_ub((16, 16), "float16")
            T.copy(A, a)
            T.copy(a, l1, tmp=tmp)
            T.gemm_v0(l1, l1, c, init=True)
            T.copy(c, C)

    a = torch.randn(16, 16).half()
    with pytest.warns(KernelWarning, match="`tmp` is working memory"):
        got = compile(k, out_idx=[-1], pass_configs=AUTOMATIC)(a)
    np.testing.assert_allclose(got, a.float() @ a.float(), atol=1e-2)


WRONG = [
    (lambda a, a0, b0, c, u: T.mma(a0, b0, c, n_actual=8), "attribute-value", "multiple of 16"),
    (lambda a, a0, b0, c, u: T.mma(a0, b0, c, k_actual=48), "attribute-value", "there are 32"),
    (lambda a, a0, b0, c, u: T.mma(a0, b0, c, k_actual=u), "operand-kind", "the buffer"),
    (lambda a, a0, b0, c, u: T.copy(a, a0, real_k=48), "attribute-value", "has 32"),
    (lambda a, a0, b0, c, u: T.mma(a0, b0, c, bias=u), "operand-memory", "expected bt"),
    (lambda a, a0, b0, c, u: T.gemm_v0(a, a, c, kL0Size=7), "attribute-value", "multiple of 16"),
    (lambda a, a0, b0, c, u: T.gemm_v0(a, a, c, n_actual=99), "attribute-value", "32 columns"),
    (lambda a, a0, b0, c, u: T.gemm_v0(a, a, c, n_actual=8), "attribute-value", "multiple of 16"),
    (lambda a, a0, b0, c, u: T.gemm_v0(a, a, c, n_actual=1.5), "operand-kind", "n_actual"),
    (lambda a, a0, b0, c, u: T.gemm_v0(a, a, c, n_actul=16), "unknown-argument", "n_actul"),
    (lambda a, a0, b0, c, u: T.copy(u, a, stride=64), "copy-option", "stride"),
]


@pytest.mark.parametrize(("call", "slug", "text"), WRONG)
def test_what_is_not_supported_is_said(call: Any, slug: str, text: str) -> None:
    def k(A: T.Tensor((32, 32), "float16")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((32, 32), "float16")
            a0 = T.alloc_L0A((32, 32), "float16")
            b0 = T.alloc_L0B((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((32, 32), "float16")
            call(a, a0, b0, c, u)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and text in caught.value.message


A5_AND_OTHERS = {
    "gemm_mx": "need an A5 chip",
    "alloc_L1_scale_a": "need an A5 chip",
    "_src_code": "can not be checked",
}


@pytest.mark.parametrize("name", A5_AND_OTHERS)
def test_names_of_newer_versions_say_what_they_need(name: str) -> None:
    with pytest.raises(AttributeError, match=A5_AND_OTHERS[name]):
        getattr(T, name)


@pytest.mark.parametrize("name", ["fill_experiment"])
def test_tile_operations_of_newer_versions_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=r"T\.(copy|tile\.)"):
        getattr(T.tile, name)


def test_the_exponential_of_some_columns() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((32, 256), "float32"), Y: T.Tensor((32, 256), "float32")):
        with T.Kernel(1) as (cid, vid):
            a = T.alloc_ub((16, 256), "float32")
            with T.Scope("V"):
                T.copy(X[vid * 16, 0], a)
                for k in T.serial(2):
                    part = a[:, k * 64 : k * 64 + 64]
                    T.tile.exp_experiment(part, part)
                T.copy(a, Y[vid * 16, 0])

    x = torch.randn(32, 256)
    want = torch.cat([x[:, :128].exp(), x[:, 128:]], 1)
    configs = {"tl.ascend_auto_sync": True}
    got = compile(kernel, out_idx=[-1], pass_configs=configs)(x)
    torch.testing.assert_close(got, want)


@T.prim_func
def add_one(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1) as cid:
        a = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, a)
            T.tile.add(a, a, 1.0)
            T.copy(a, Y)


@pytest.mark.parametrize(
    "name",
    ["TAIL_MASK", "PTO_USE_PIPE_IN_CV_COPY", "EXCEPTION_DUMP", "VECTOR_MASK_REUSE"],
)
def test_pass_configs_that_change_nothing(name: str) -> None:
    key = PassConfigKey[f"TL_ASCEND_{name}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            lower(add_one, pass_configs={key: True}).kernel_source
            == lower(add_one, pass_configs={key.value: False}).kernel_source
        )


def test_the_order_of_the_vector_core_comes_with_that_of_all() -> None:
    asked = lower(add_one, pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC_VS: True})
    every = lower(add_one, pass_configs={PassConfigKey.TL_ASCEND_AUTO_SYNC: True})
    assert asked.kernel_source == every.kernel_source
    assert asked.kernel_source != lower(add_one).kernel_source


@pytest.mark.parametrize("dim", [0, 1])
def test_each_vector_core_has_half_of_a_tile_of_the_cube_core(dim: int) -> None:
    m, n = (16, 64) if dim == 0 else (32, 32)

    @T.prim_func
    def k(A: T.Tensor((32, 48), "float16"), B: T.Tensor((48, 64), "float16"),
          C: T.Tensor((32, 64), "float16")):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            half = T.alloc_ub((16, 48), "float16")
            a = T.alloc_L1((32, 48), "float16")
            b = T.alloc_L1((48, 64), "float16")
            c = T.alloc_L0C((32, 64), "float32")
            f = T.alloc_ub((m, n), "float32")
            h = T.alloc_ub((m, n), "float16")
            T.copy(A[vid * 16, 0], half)
            T.tile.relu(half, half)
            T.copy(half, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, f)
            T.tile.mul(f, f, 2.0)
            T.copy(f, h)
            T.copy(h, C[vid * 16, 0] if dim == 0 else C[0, vid * 32])

    a, b = torch.randn(32, 48).half(), torch.randn(48, 64).half()
    got = compile(k, out_idx=[-1], pass_configs=AUTOMATIC)(a, b)
    np.testing.assert_allclose(got, (a.float().relu() @ b.float() * 2).half(), rtol=2e-3, atol=2e-3)
