"""`T.view` and `T.reshape`, and reductions that return their result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from structural_equality import structurally_equal

import tile_frontend as T
import tile_ir
from tile_ir import KernelError
from tile_ir.interpreter import interpret
from tile_runtime import PassConfigKey, compile

pytestmark = pytest.mark.usefixtures("strict")

M_SYMBOL = T.symbolic("m")
AUTOMATIC = {
    PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    PassConfigKey.TL_ASCEND_MEMORY_PLANNING: True,
}


def run(kernel: Any, *arguments: Any, **options: Any) -> Any:
    return compile(kernel, pass_configs=AUTOMATIC, **options)(*arguments)


@pytest.mark.parametrize("alloc", [T.alloc_ub, T.alloc_shared])
def test_another_shape_and_another_type(alloc: Any) -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((8, 16), "float32"),
          Z: T.Tensor((256,), "uint16")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            x = alloc((4, 32), "float32")
            T.copy(X, x)
            y = T.reshape(x, (8, 16))
            T.tile.add(y, y, 1.0)
            z = T.view(y, 256, "uint16")
            T.copy(y, Y)
            T.copy(z, Z)

    x = torch.randn(4, 32)
    y, z = run(k, x, out_idx=[1, 2])
    np.testing.assert_array_equal(y.numpy(), x.numpy().reshape(8, 16) + 1)
    np.testing.assert_array_equal(z.numpy(), y.numpy().view(np.uint16).reshape(-1))


def test_only_another_type() -> None:
    @T.prim_func
    def k(X: T.Tensor((2, 32), "float32"), Y: T.Tensor((2, 32), "int32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((2, 32), "float32")
            T.copy(X, x)
            y = T.view(x, dtype="int32")
            T.copy(y, Y)

    x = torch.randn(2, 32)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy().view(np.int32))


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        (lambda x, g, l1: T.view(x, (63,)), "reinterpret-size"),
        (lambda x, g, l1: T.view(x, dtype="float16"), "reinterpret-size"),
        (lambda x, g, l1: T.view(x, (-1, 32)), "shape"),
        (lambda x, g, l1: T.view(x[0:32], (32,)), "operand-kind"),
        (lambda x, g, l1: T.view(g, (63,)), "reinterpret-size"),
        (lambda x, g, l1: T.view(g, (64,), "float16"), "reinterpret-size"),
        (lambda x, g, l1: T.view(g[0:1, :], (32,)), "operand-kind"),
        (lambda x, g, l1: T.view(l1, (64,)), "reinterpret-size"),
        (lambda x, g, l1: T.view(T.alloc_L1((16, 32), "float16"), (512,)), "operand-memory"),
        (lambda x, g, l1: T.view(l1, (32, 8)), "operand-memory"),
        (lambda x, g, l1: T.view(T.alloc_L1((32, 32), "float16"), (64, 16)), "operand-memory"),
        (lambda x, g, l1: T.view(T.alloc_L0C((16, 16), "float32"), (256,)), "operand-memory"),
        (lambda x, g, l1: T.reduce_max(x, dim=2), "reduce-axis"),
    ],
)
def test_what_is_no_view(call: Any, slug: str) -> None:
    def k(X: T.Tensor((2, 32), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            l1 = T.alloc_L1((16, 16), "float16")
            y = call(x, X, l1)

    with pytest.raises(KernelError) as caught:
        T.prim_func(k)
    assert caught.value.slug == slug and caught.value.loc is not None


@pytest.mark.parametrize(("name", "numpy"), [("max", np.max), ("min", np.min), ("sum", np.sum)])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_a_reduction_returns_its_result(name: str, numpy: Any, dim: int) -> None:
    rows, columns = 8, 32
    kept = columns if dim in (0, -2) else rows
    reduction = getattr(T, f"reduce_{name}")

    @T.prim_func
    def k(X: T.Tensor((2, rows, columns), "float32"), Y: T.Tensor((2, kept), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((rows, columns), "float32")
            for i in T.serial(2):
                T.copy(X[i, :, :], x)
                y = reduction(x, dim=dim)
                T.copy(y, Y[i, :])

    x = torch.randn(2, rows, columns)
    want = numpy(x.numpy(), axis=1 if dim in (0, -2) else 2)
    np.testing.assert_allclose(run(k, x, out_idx=[-1]).numpy(), want, rtol=1e-5, atol=1e-5)


def test_the_result_of_a_row_is_a_number() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            most = T.reduce_max(x)
            T.tile.sub(x, x, most[0])
            T.copy(x, Y)

    x = torch.randn(64)
    np.testing.assert_array_equal(run(k, x, out_idx=[-1]), x.numpy() - x.numpy().max())


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_tensor_in_another_shape_and_type(by_hand: bool) -> None:
    """Read under two names; the result written under one that is not its own."""

    @T.prim_func
    def k(X: T.Tensor((M_SYMBOL, 64), "float32"), Y: T.Tensor((M_SYMBOL, 64), "int32")):
        with T.Kernel(2, threads=1) as cid:
            rows = T.view(X, (M_SYMBOL * 4, 16))
            bits = T.view(X, dtype="int32")
            flat = T.reshape(Y, (M_SYMBOL * 64,))
            x = T.alloc_ub((4, 16), "float32")
            y = T.alloc_ub((64,), "int32")
            z = T.view(x, (64,), "int32")
            for i in T.serial(M_SYMBOL // 2):
                row = i * 2 + cid
                T.copy(rows[row * 4, 0], x)
                T.copy(bits[row, :], y)
                if by_hand:
                    T.barrier_all()
                T.tile.add(y, y, z)
                if by_hand:
                    T.barrier_all()
                T.copy(y, flat[row * 64])
                if by_hand:
                    T.barrier_all()

    x = torch.randn(6, 64)
    options = {} if by_hand else AUTOMATIC
    got = compile(k, out_idx=[1], pass_configs=options)(x)
    bits = x.numpy().view(np.int32)
    np.testing.assert_array_equal(got, bits + bits)


def test_a_tensor_under_two_names_is_not_written() -> None:
    def k(X: T.Tensor((8, 64), "float32")):  # type: ignore[no-untyped-def]
        with T.Kernel(1, threads=1) as cid:
            flat = T.view(X, (512,))
            x = T.alloc_ub((64,), "float32")
            T.copy(flat[0:64], x)
            T.copy(x, X[1, :])

    with pytest.raises(KernelError, match="the same tensor, which is written") as caught:
        T.prim_func(k)
    assert caught.value.slug == "operand-memory" and caught.value.loc is not None


@pytest.mark.parametrize("by_hand", [True, False])
def test_matrices_of_l1(by_hand: bool) -> None:
    """Slots of whole matrices, and bits of the same width: every fractal stays where it is."""

    @T.prim_func
    def k(X: T.Tensor((2, 32, 32), "float16"), Y: T.Tensor((2, 32, 32), "float32")):
        with T.Kernel(1, threads=1) as cid:
            bits = T.alloc_L1((2, 1, 32, 32), "int16")
            x = T.view(bits, (2, 32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            given = T.view(X, (2, 1, 32, 32), "int16")
            with T.Scope("C"):
                T.copy(given[0, 0, :, :], bits[0, 0, :, :])
                T.copy(given[1, 0, :, :], bits[1, 0, :, :])
                for i in T.serial(2):
                    if by_hand:
                        T.barrier_all()
                    T.gemm_v0(x[0, :, :], x[i, :, :], c, transpose_B=True, init=True)
                    if by_hand:
                        T.barrier_all()
                    T.copy(c, Y[i, :, :])

    x = torch.randint(-4, 5, (2, 32, 32)).half()
    got = compile(k, out_idx=[1], pass_configs={} if by_hand else AUTOMATIC)(x)
    for i in range(2):
        np.testing.assert_array_equal(got[i].double(), x[0].double() @ x[i].double().T)


def test_column_blocks_of_32_bytes() -> None:
    """Rows of 32 bytes lie one after another: slots of them are rows."""

    @T.prim_func
    def k(X: T.Tensor((4, 16, 16), "float16"), Y: T.Tensor((64, 16), "float32")):
        with T.Kernel(1, threads=1) as cid:
            slots = T.alloc_L1((4, 16, 16), "float16")
            rows = T.reshape(slots, (64, 16))
            c = T.alloc_L0C((64, 16), "float32")
            for i in T.serial(4):
                T.copy(X[i, :, :], slots[i, :, :])
            T.gemm_v0(rows, slots[0, :, :], c, init=True)
            T.copy(c, Y)

    x = torch.randint(-4, 5, (4, 16, 16)).half()
    got = run(k, x, out_idx=[1])
    np.testing.assert_array_equal(got.double(), x.reshape(64, 16).double() @ x[0].double())


def test_bytes_as_elements_of_four_bits() -> None:
    """Weights packed in an int8 tensor, without torch.int4."""

    @T.prim_func
    def k(A: T.Tensor((16, 64), "int8"), B: T.Tensor((32, 64), "int8"),
          C: T.Tensor((16, 32), "int32")):  # fmt: skip
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_L1((16, 128), "int4")
            b = T.alloc_L1((32, 128), "int4")
            c = T.alloc_L0C((16, 32), "int32")
            T.copy(T.view(A, (16, 128), "int4"), a)
            T.copy(T.view(B, (32, 128), "int4"), b)
            T.gemm_v0(a, b, c, transpose_B=True, init=True)
            T.copy(c, C)

    def numbers(raw: Any) -> Any:
        low, high = raw << 4 >> 4, raw >> 4
        return torch.stack((low, high), -1).reshape(raw.shape[0], -1).int()

    a, b = (torch.randint(-128, 128, (rows, 64), dtype=torch.int8) for rows in (16, 32))
    np.testing.assert_array_equal(run(k, a, b, out_idx=[2]), numbers(a) @ numbers(b).T)


@pytest.mark.parametrize("threads", [1, 2])
def test_views_in_developer_style(threads: int) -> None:
    """Tiles that only fit by sharing bytes, both lanes at work."""
    n = 64

    @T.prim_func
    def k(X: T.Tensor((n * 128 * 4,), "float32"), Y: T.Tensor((4, n, 128), "float32")):
        with T.Kernel(2, threads=threads) as cid:
            x = T.view(X, (4, n, 128))
            y = T.view(Y, (4 * n, 128))
            a = T.alloc_shared((n, 128), "float32")
            b = T.alloc_shared((n, 128), "float32")
            c = T.alloc_shared((n, 128), "float32")
            d = T.alloc_shared((n, 128), "float32")
            for i in T.serial(2):
                T.copy(x[cid * 2 + i, :, :], a)
                T.tile.exp(b, a)
                T.tile.add(c, b, a)
                for r, q in T.Parallel(n, 128):
                    d[r, q] = c[r, q] * 2.0
                T.copy(d, y[(cid * 2 + i) * n, 0])

    x = torch.randn(4, n, 128)
    options = {**AUTOMATIC, PassConfigKey.TL_ASCEND_AUTO_CV_COMBINE: True}
    options[PassConfigKey.TL_ASCEND_AUTO_CV_SYNC] = True
    got = compile(k, out_idx=[1], pass_configs=options)(x.reshape(-1))
    np.testing.assert_allclose(got, (x.exp() + x) * 2, rtol=1e-5, atol=1e-5)


def test_the_interpreter_knows_views() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 32), "float32"), Y: T.Tensor((8, 32), "int16")):
        with T.Kernel(1, threads=1) as cid:
            words = T.view(X, (128,), "int32")
            pairs = T.view(Y, (128,), "int32")
            x = T.alloc_ub((128,), "int32")
            with T.Scope("V"):
                T.copy(words, x)
                T.copy(x, pairs)

    assert structurally_equal(k, tile_ir.parse(tile_ir.print_func(k)))
    x, y = np.random.rand(4, 32).astype(np.float32), np.zeros((8, 32), np.int16)
    interpret(k, [x, y])
    np.testing.assert_array_equal(y.reshape(-1), x.view(np.int16).reshape(-1))


def test_a_fragment_by_another_name_lies_in_ub() -> None:
    @T.prim_func
    def k(A: T.Tensor((16, 32), "float32"), B: T.Tensor((512,), "int32"),
          C: T.Tensor((4, 4), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((16, 32), "float32")
            c = T.alloc_fragment((4, 4), "float32")
            T.copy(A, a)
            b = T.reshape(a, (512,))
            d = T.view(b, (4, 4, 32))
            e = T.view(a, (512,), "int32")
            for i in T.Parallel(512):
                b[i] = b[i] + 1
            T.reduce_max(d, c, dim=2)
            T.copy(c, C)
            T.copy(e, B)

    x = torch.randn(16, 32)
    b, c = compile(k, out_idx=[1, 2])(x)
    assert torch.equal(b.view(torch.float32), (x + 1).reshape(-1))
    assert torch.equal(c, (x + 1).reshape(4, 4, 32).amax(2))
