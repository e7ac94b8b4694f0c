"""Updates of tensors as text for GPUs has them: maxima and minima, several elements at once, tiles
on chip, conversions. Each runs at `strict` against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


UPDATED = {"add": torch.add, "max": torch.maximum, "min": torch.minimum}


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int16", "int8"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_tiles_of_many_blocks(kind: str, dtype: str) -> None:
    """A tile that hangs over the edge, from each block of two."""
    update = getattr(T, f"atomic_{kind}")

    @T.prim_func
    def k(A: T.Tensor((64, 64), dtype), C: T.Tensor((30, 64), dtype)):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), dtype)
            T.copy(A[by * 32, bx * 32], a)
            update(C[0, bx * 32], a, memory_order="relaxed")

    x = torch.randint(-99, 99, (64, 64)).to(getattr(torch, dtype))
    c = torch.randint(-99, 99, (30, 64)).to(getattr(torch, dtype))
    expected = UPDATED[kind](UPDATED[kind](c, x[:30]), x[32:62])
    compile(k)(x, c)
    assert torch.equal(c, expected)


@jit
def greatest(A, R, C, D, E, F):
    A: T.Tensor((16, 64), T.float32)
    R: T.Tensor((16,), T.int32)
    C: T.Tensor((20, 64), T.float32)
    D: T.Tensor((20, 64), T.float32)
    E: T.Tensor((64,), T.float32)
    F: T.Tensor((1,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_shared((16, 64), T.float32)
        most = T.alloc_fragment((1,), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(16, 64):
            row = R[i]
            T.atomic_max(C[i + 2, j], a[i, j])
            T.atomic_min(D[row, j], a[i, j] * 2)
            T.atomic_max(E[j], a[i, j])
        T.reduce_max(T.reshape(a, (1024,)), most)
        T.atomic_max(F[0], most[0])
        T.atomic_max(F, 1.5)


def test_elements_rows_and_single_values() -> None:
    a, rows = torch.randn(16, 64), torch.randint(0, 20, (16,)).int()
    c, d, e, f = torch.randn(20, 64), torch.randn(20, 64), torch.randn(64), torch.zeros(1)
    expected = [c.clone(), d.clone(), torch.maximum(e, a.amax(0))]
    expected[0][2:18] = torch.maximum(c[2:18], a)
    expected[1].index_reduce_(0, rows.long(), a * 2, "amin")
    expected.append(torch.maximum(a.max().reshape(1), torch.tensor([1.5])))
    greatest(a, rows, c, d, e, f)
    for found, wanted in zip((c, d, e, f), expected, strict=True):
        assert torch.equal(found, wanted)


@jit
def neighbours(A, R, C, D, E):
    A: T.Tensor((16, 64), T.float32)
    R: T.Tensor((16,), T.int32)
    C: T.Tensor((2, 16, 64), T.float32)
    D: T.Tensor((20, 64), T.float32)
    E: T.Tensor((64,), T.float32)
    with T.Kernel(2, threads=128) as bx:
        a = T.alloc_shared((16, 64), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(16, 16):
            T.atomic_addx4(C[bx, i, j * 4], a[i, j * 4])
        for i, j in T.Parallel(16, 32):
            T.atomic_addx2(D[R[i], j * 2], a[i, j * 2])
        for i in T.serial(16):
            T.atomic_addx4(E[i * 4 : i * 4 + 4], a[i, 8:12])


def test_several_elements_at_once() -> None:
    a, rows = torch.randn(16, 64), torch.randint(0, 20, (16,)).int()
    c, d, e = torch.randn(2, 16, 64), torch.randn(20, 64), torch.randn(64)
    expected = [c + a, d.index_add(0, rows.long(), 2 * a), e + 2 * a[:, 8:12].reshape(-1)]
    neighbours(a, rows, c, d, e)
    for found, wanted in zip((c, d, e), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


@jit
def on_chip(A, P, H, S, M):
    A: T.Tensor((16, 32), T.float32)
    P: T.Tensor((64,), T.int32)
    H: T.Tensor((8,), T.int32)
    S: T.Tensor((16, 32), T.float16)
    M: T.Tensor((32,), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_fragment((16, 32), T.float32)
        s = T.alloc_shared((16, 32), T.float16)
        i = T.alloc_shared((64,), T.int32)
        h = T.alloc_shared((8,), T.int32)
        m = T.alloc_shared((32,), T.float32)
        T.copy(A, a)
        T.copy(P, i)
        T.copy(S, s)
        T.copy(M, m)
        T.clear(h)
        for n in T.Parallel(64):
            T.atomic_add(h[i[n]], 1)
        for x, y in T.Parallel(16, 32):
            T.atomic_max(m[y], a[x, y])
        T.atomic_add(s, a)
        T.copy(h, H)
        T.copy(s, S)
        T.copy(m, M)


def test_tiles_on_chip_are_updated_in_place() -> None:
    a, i = torch.randn(16, 32), torch.randint(0, 8, (64,)).int()
    s, m, h = torch.randn(16, 32).half(), torch.randn(32), torch.zeros(8).int()
    expected = (a.half() + s, torch.maximum(m, a.amax(0)))
    on_chip(a, i, h, s, m)
    assert torch.equal(h, torch.bincount(i, minlength=8).int())
    torch.testing.assert_close(s, expected[0], rtol=1e-2, atol=1e-2)
    assert torch.equal(m, expected[1])


@pytest.mark.parametrize("computed", [False, True])
def test_what_is_added_takes_the_type_of_the_tensor(computed: bool) -> None:
    @T.prim_func
    def k(A: T.Tensor((32, 64), "float16"), B: T.Tensor((64, 32), "float16"),
          C: T.Tensor((32, 32), "float16")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float16")
            b = T.alloc_shared((64, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            if computed:
                for i, j in T.Parallel(32, 32):
                    c[i, j] = c[i, j] * 2
            T.atomic_add(C, c)

    a, b, c = torch.randn(32, 64).half(), torch.randn(64, 32).half(), torch.ones(32, 32).half()
    expected = 1 + (1 + computed) * (a.float() @ b.float())
    compile(k)(a, b, c)
    torch.testing.assert_close(c.float(), expected, rtol=2e-2, atol=2e-2)


def failing(statement: Any) -> KernelError:
    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((16,), "float32"), B: T.Tensor((16,), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((16,), "float32")
                T.copy(A, a)
                statement(a, B)

    return caught.value


def test_what_the_chip_has_not() -> None:
    @T.macro
    def previous(a, B):
        x = T.atomic_max(B[0], 1.0, return_prev=True)

    @T.macro
    def joined(a, B):
        T.atomic_or(B[0], 1)

    @T.macro
    def mixed(a, B):
        T.atomic_add(B, a)
        T.atomic_max(B[0], 1.0)

    @T.macro
    def too_long(a, B):
        T.atomic_addx2(B[0], a[0:4])

    found = [failing(f) for f in (previous, joined, mixed, too_long)]
    assert [e.slug for e in found] == [
        "attribute-value",
        "gpu-name",
        "mixed-updates",
        "copy-extent",
    ]
    assert all(e.hint for e in found[:3])
