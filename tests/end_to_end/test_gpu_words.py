"""Small words of text for GPUs: indices and sizes of the grid, parts with names, counts of bits,
single elements copied, numbers and functions as modules of a compiler have them. Each runs at
`strict`."""

from __future__ import annotations

import pytest
import torch

import tile_frontend as T
from tile_frontend._language import tir_expressions as tir
from tile_ir import KernelError, KernelWarning
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def test_the_grid_is_asked_for() -> None:
    @T.prim_func
    def k(A: T.Tensor((4, 8, 16), "int32")):
        T.func_attr({"tir.noalias": True})
        with T.Kernel(8, 4, threads=128), T.sblock("root"):
            T.reads(A)
            T.writes(A[0:4, 0:8, 0:16])
            a = T.alloc_shared((16,), "int32")
            x, y = T.get_block_bindings()
            sizes = T.get_block_extents()
            T.fill(a, x + 10 * T.get_block_binding(1) + 100 * sizes[0])
            T.copy(a, A[y, T.get_block_binding(), :])

    found = torch.zeros(4, 8, 16, dtype=torch.int32)
    compile(k)(found)
    expected = torch.arange(8) + 10 * torch.arange(4)[:, None] + 800
    assert torch.equal(found[:, :, 0], expected.int())


def test_the_size_of_a_grid_may_be_of_the_call() -> None:
    n = T.symbolic("n")

    @T.prim_func
    def k(A: T.Tensor((n, 16), "int32")):
        with T.Kernel(n, threads=128) as bx:
            a = T.alloc_shared((16,), "int32")
            T.fill(a, T.get_block_extent(0) * 100 + T.get_block_binding(0))
            T.copy(a, A[bx, :])

    found = torch.zeros(5, 16, dtype=torch.int32)
    compile(k)(found)
    assert torch.equal(found[:, 3], torch.arange(500, 505, dtype=torch.int32))


def test_there_is_no_grid_outside_a_launch() -> None:
    def dimension() -> None:
        @T.prim_func
        def k(A: T.Tensor((16,), "int32")):
            with T.Kernel(2, threads=128) as bx:
                A[0] = T.get_block_extent(1)

    def outside() -> None:
        @T.prim_func
        def k(A: T.Tensor((16,), "int32")):
            x = T.get_block_binding(0)
            with T.Kernel(2, threads=128) as bx:
                A[0] = x

    for kernel, slug in ((dimension, "attribute-value"), (outside, "outside-launch")):
        with pytest.raises(KernelError) as caught:
            kernel()
        assert caught.value.slug == slug


def test_counts_of_bits() -> None:
    @T.prim_func
    def k(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), C: T.Tensor((64,), "int32"),
          D: T.Tensor((64,), "int32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(64):
                B[i] = T.popcount(A[i])
                C[i] = T.clz(A[i])
                D[i] = T.__ffs(A[i])

    x = torch.randint(-(2**31), 2**31 - 1, (64,)).int()
    x[:34] = torch.tensor([0, -1, -(2**31), *(1 << n for n in range(31))]).int()
    bits = [value & 0xFFFFFFFF for value in x.tolist()]
    b, c, d = compile(k, out_idx=[1, 2, 3])(x)
    assert b.tolist() == [value.bit_count() for value in bits]
    assert c.tolist() == [32 - value.bit_length() for value in bits]
    assert d.tolist() == [(value & -value).bit_length() for value in bits]


def test_a_copy_of_one_element_is_an_assignment() -> None:
    @T.prim_func
    def k(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float16"),
          C: T.Tensor((16,), "float16")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16,), "float16")
            for i in T.serial(16):
                T.copy(A[i], B[i])
            for i in T.Parallel(16):
                T.copy(A[i], a[i])
            T.copy(a, C)

    x = torch.randn(16)
    b, c = compile(k, out_idx=[1, 2])(x)
    assert torch.equal(b, x.half()) and torch.equal(c, x.half())


def unpacked(value: tir.PrimExpr, position: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
    """Four bits of a byte as a signed number, as helpers of scripts write it."""
    mask, shift = tir.const(15, T.int32), tir.const(28, "int32")
    field = (tir.Cast(T.int32, value) >> (position.astype(T.int32) * tir.const(4))) & mask
    known = tir.all(field >= 0, tir.any(field < 16, field == 99))
    return tir.Cast(dtype, tir.Select(known, (field << shift) >> shift, tir.const(0, "int32")))


def test_elements_of_tensors_are_filled() -> None:
    m, n = T.symbolic("m, n")

    @T.prim_func
    def k(
        A: T.Tensor((m, n), "float16"), B: T.Tensor((m, 3, n), "int8"), C: T.Tensor((9,), "bool")
    ):
        with T.Kernel(T.ceildiv(m, 4), threads=128) as bx:
            T.fill(A[bx * 4 : bx * 4 + 4, :], -1.5)
            T.fill(B[bx * 4 : bx * 4 + 4, 1, 0 : n - 2], 7)
            if bx == 0:
                T.clear(A[0, 0:2])
                T.fill(A[1, 3], 2)
                T.fill(C, True)
            else:
                for i in T.Parallel(n):
                    T.fill(A[5, i], 4)

    a, b, c = torch.zeros(6, 37).half(), torch.zeros(6, 3, 37).char(), torch.zeros(9).bool()
    compile(k)(a, b, c)
    halves, bytes_ = torch.full_like(a, -1.5), torch.zeros_like(b)
    halves[0, :2], halves[1, 3], halves[5], bytes_[:, 1, :35] = 0, 2, 4, 7
    assert torch.equal(a, halves) and torch.equal(b, bytes_) and bool(c.all())


def test_a_tensor_larger_than_ub_is_cleared_in_pieces() -> None:
    @T.prim_func
    def k(A: T.Tensor((300, 700), "float32")):
        with T.Kernel(1, threads=128):
            T.clear(A)

    with pytest.warns(KernelWarning, match="left in ub beside tiles of the compiler;"):
        kernel = compile(k)
    a = torch.ones(300, 700)
    kernel(a)
    assert not a.any()


def test_expressions_of_a_module_of_a_compiler() -> None:
    @T.prim_func
    def k(A: T.Tensor((32,), "int8"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32,), "int8")
            b = T.alloc_shared((64,), "float32")
            T.copy(A, a)
            for i in T.Parallel(64):
                b[i] = unpacked(a[i // 2], i % 2, "float32")
            T.copy(b, B)

    x = torch.randint(-128, 128, (32,)).to(torch.int8)
    low, high = x.int() << 28 >> 28, x.int() << 24 >> 28
    assert torch.equal(compile(k, out_idx=-1)(x), torch.stack([low, high], 1).reshape(-1).float())


def test_numbers_of_a_type() -> None:
    assert not isinstance(3, T.IntImm) and isinstance(T.ceildiv(7, 2), T.IntImm)
    assert T.ceildiv(7, 2).value == 4 and not isinstance(2.5, T.FloatImm)
    assert tir.as_const_int(T.IntImm("int32", 3)) == 3
    assert tir.as_const_int(T.symbolic("n")) is None
    assert [tir.min(3, 4), tir.max(3, 4), tir.const(2.5)] == [3, 4, 2.5]
