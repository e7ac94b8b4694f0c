"""Copies of kernels for GPUs: between all memories and types, of regions of any form, from gm to gm."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")

TYPES = ["float16", "bfloat16", "float32", "int32", "int8"]


def values(dtype: str, to: str) -> torch.Tensor:
    """Of the first type, with halves between numbers of the second and what lies beside them."""
    kind = getattr(torch, dtype)
    if not kind.is_floating_point:
        low, high = (-128, 127) if "int8" in (dtype, to) else (-(2**31), 2**31 - 1)
        found = torch.randint(low, high, (20, 48), dtype=torch.int64)
        found[:4] = found[:4] % 200 - 100
        return found.clamp(low, high).to(kind)
    wide = torch.randn(20, 48) * 30
    wide[0] = torch.arange(48) / 4 - 6
    if not getattr(torch, to).is_floating_point:
        return wide.to(kind)
    exact = (torch.randn(48) * 8).to(getattr(torch, to)).float()
    after = (exact.abs() * (1 + torch.finfo(getattr(torch, to)).eps)).to(getattr(torch, to)).float()
    wide[1] = (exact.abs() + after) / 2  # to the even one of two
    wide[2] = wide[1] * (1 + 2**-20)
    wide[3] = wide[1] * (1 - 2**-20)
    wide[4, :8] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), 7e4, -7e4, 1e-7, 65519.0])
    return wide.to(kind)


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_values_through_all_memories(dtype: str, to: str) -> None:
    """Converted on each of the ways from gm to a shared tile, a fragment, and gm."""

    @T.prim_func
    def k(X: T.Tensor((20, 48), dtype), A: T.Tensor((20, 48), to), B: T.Tensor((20, 48), to),
          C: T.Tensor((20, 48), to), D: T.Tensor((20, 48), to)):  # fmt: skip
        with T.Kernel(2, threads=128) as bx:
            shared = T.alloc_shared((10, 48), dtype)
            fragment = T.alloc_fragment((10, 48), dtype)
            other_shared = T.alloc_shared((10, 48), to)
            other_fragment = T.alloc_fragment((10, 48), to)
            T.copy(X[bx * 10, 0], other_shared)
            T.copy(other_shared, other_fragment)
            T.copy(other_fragment, A[bx * 10, 0])
            T.copy(X[bx * 10, 0], shared)
            T.copy(shared, other_fragment)
            T.copy(other_fragment, B[bx * 10, 0])
            T.copy(shared, fragment)
            T.copy(fragment, C[bx * 10, 0])
            T.copy(fragment, other_shared)
            T.copy(other_shared, D[bx * 10, 0])

    x = values(dtype, to)
    expected = x.to(getattr(torch, to))
    for found in compile(k, out_idx=[1, 2, 3, 4])(x):
        assert torch.equal(found, expected)
        assert torch.equal(torch.signbit(found.float()), torch.signbit(expected.float()))


@pytest.mark.parametrize(("dtype", "to"), [("float32", "float32"), ("float32", "float16"),
                                           ("bfloat16", "float32"), ("int32", "int8")])  # fmt: skip
def test_tensors_are_copied_to_tensors(dtype: str, to: str) -> None:
    """Whole, in part, of more bytes than ub has, with other ranks and beyond an edge."""

    @T.prim_func
    def k(X: T.Tensor((3, 130, 200), dtype), A: T.Tensor((3, 130, 200), to),
          B: T.Tensor((2, 40, 64), to), C: T.Tensor((130, 200), to), D: T.Tensor((64,), to),
          E: T.Tensor((3, 130, 200), to)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            T.copy(X, A)
            T.copy(X[1:3, 50:90, 8:72], B)
            T.copy(X[2, 0:130, 0:200], C)
            T.copy(X[0, 129, 100:164], D)
            T.copy(X[1, 100:150, 100:200], E[0, 100:150, 0:100])

    x = (torch.randn(3, 130, 200) * 20).to(getattr(torch, dtype))
    outs = [torch.full(s, 3).to(getattr(torch, to))
            for s in ((3, 130, 200), (2, 40, 64), (130, 200), (64,), (3, 130, 200))]  # fmt: skip
    compile(k)(x, *outs)
    y = x.to(getattr(torch, to))
    expected = [y, y[1:3, 50:90, 8:72], y[2], y[0, 129, 100:164], torch.full_like(y, 3)]
    expected[4][0, 100:, 0:100] = y[1, 100:, 100:]
    for found, wanted in zip(outs, expected, strict=True):
        assert torch.equal(found, wanted)


def test_each_block_copies_its_part() -> None:
    @jit
    def k(X, to: str):
        M, N = T.const("M, N")
        X: T.Tensor((M, N), T.float32)
        Y = T.empty((M, N), to)
        with T.Kernel(T.ceildiv(M, 8), T.ceildiv(N, 32), threads=128) as (bx, by):
            T.copy(X[bx * 8 : bx * 8 + 8, by * 32 : by * 32 + 32],
                   Y[bx * 8 : bx * 8 + 8, by * 32 : by * 32 + 32])  # fmt: skip
        return Y

    x = torch.randn(21, 70)
    assert torch.equal(k(x, "float32"), x) and torch.equal(k(x, "float16"), x.half())


@dataclass(frozen=True)
class Form:
    """A copy between a tensor X of 4 x 12 x 3 x 32 elements and a tile, and what it means."""

    tile: tuple[int, ...]
    region: Callable[[Any], Any]
    same: Callable[[torch.Tensor], torch.Tensor]
    part: Callable[[Any], Any] = lambda tile: tile


FORMS = {
    "a start": Form((8, 32), lambda X: X[1, 2, 1, 0], lambda x: x[1, 2, 1:2, :]),
    "rows of a dimension": Form((8, 32), lambda X: X[1, 2:10, 1, :], lambda x: x[1, 2:10, 1]),
    "rows and a start": Form((8, 32), lambda X: X[1, 2:10, 1, 0:32], lambda x: x[1, 2:10, 1]),
    "planes": Form((2, 8, 32), lambda X: X[1:3, 4:12, 2, :], lambda x: x[1:3, 4:12, 2]),
    "a dimension of 1": Form((8, 1, 32), lambda X: X[3, 4:12, 0, :], lambda x: x[3, 4:12, :1]),
    "a vector": Form((32,), lambda X: X[3, 11, 2, :], lambda x: x[3, 11, 2]),
    "a vector of a tile": Form(
        (4, 32), lambda X: X[3, 11, 2, :], lambda x: x[3, 11, 2], lambda t: t[2, :]
    ),
    "part of a vector": Form((40,), lambda X: X[0, 5, 1, 4:20], lambda x: x[0, 5, 1, 4:20],
                             lambda t: t[8:24]),
    "rows of a tile": Form((16, 32), lambda X: X[0, 0:6, 1, :], lambda x: x[0, :6, 1],
                           lambda t: t[8:14, :]),
    "a column": Form((12,), lambda X: X[2, :, 1, 7], lambda x: x[2, :, 1, 7]),
    "all of it": Form((4, 12, 3, 32), lambda X: X, lambda x: x),
    "a tile of a row": Form((1, 32), lambda X: X[2, 7, 0, :], lambda x: x[2, 7, 0:1]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("form", [f for f in FORMS if f != "a start"])
def test_regions_of_other_ranks(form: str, dtype: str) -> None:
    """Read, and written back to the same place of another tensor; the rest of both is kept."""
    given = FORMS[form]

    @T.prim_func
    def k(X: T.Tensor((4, 12, 3, 32), dtype), Y: T.Tensor((4, 12, 3, 32), dtype),
          Z: T.Tensor(given.tile, dtype)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(given.tile, dtype)
            f = T.alloc_fragment(given.tile, dtype)
            T.fill(a, 5)
            T.copy(given.region(X), given.part(a))
            T.copy(a, f)
            T.copy(f, Z)
            T.copy(given.part(f), given.region(Y))

    kind = getattr(torch, dtype)
    x, y, z = torch.randn(4, 12, 3, 32).to(kind), torch.ones(4, 12, 3, 32).to(kind), None
    z = torch.zeros(given.tile, dtype=kind)
    compile(k)(x, y, z)
    wanted = torch.full(given.tile, 5, dtype=kind)
    part = given.part(wanted)
    part[...] = given.same(x).reshape(part.shape)
    assert torch.equal(z, wanted)
    untouched = torch.ones(4, 12, 3, 32, dtype=kind)
    place = given.same(untouched)
    place[...] = given.same(x)
    assert torch.equal(y, untouched)


def test_a_start_takes_the_extents_of_the_other_side() -> None:
    """Aligned from the right: rows of the last two dimensions."""

    @T.prim_func
    def k(X: T.Tensor((4, 12, 40), "float32"), Y: T.Tensor((4, 12, 40), "float32"),
          Z: T.Tensor((16, 48), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 32), "float32")
            T.copy(X[2, 3, 4], a)
            T.copy(a, Y[1, 4, 8])
            T.copy(a[0:3, 0:16], Z[5, 20])
            T.copy(X[3, 0:2, 0:8], Z[14, 0])

    x = torch.randn(4, 12, 40)
    y, z = torch.zeros(4, 12, 40), torch.zeros(16, 48)
    compile(k)(x, y, z)
    want_y, want_z = torch.zeros(4, 12, 40), torch.zeros(16, 48)
    tile = x[2, 3:11, 4:36]
    want_y[1, 4:12, 8:40] = tile
    want_z[5:8, 20:36] = tile[:3, :16]
    want_z[14:16, 0:8] = x[3, 0:2, 0:8]
    assert torch.equal(y, want_y) and torch.equal(z, want_z)


def test_rows_are_not_repeated() -> None:
    """Where one side has more dimensions of several elements than the other."""
    with pytest.raises(KernelError) as raised:

        @T.prim_func
        def k(X: T.Tensor((8, 32), "float32")):
            with T.Kernel(1, threads=128) as bx:
                b = T.alloc_shared((1, 32), "float32")
                c = T.alloc_fragment((8, 32), "float32")
                T.copy(X[2, 0], b)
                T.copy(b[0:1, 0:32], c[0:8, 0:32])
                T.copy(c, X)

    assert raised.value.slug == "shape-mismatch"


@pytest.mark.parametrize("number", [0, 1, 5, 8])
def test_extents_of_the_run_leave_the_rest_of_a_tile(number: int) -> None:
    @T.prim_func
    def k(X: T.Tensor((20, 32), "float32"), L: T.Tensor((2,), "int32"),
          Y: T.Tensor((8, 32), "float32"), Z: T.Tensor((20, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 32), "float32")
            n = L[0]
            start = L[1]
            T.fill(a, 7)
            T.copy(X[start : start + n, 0:32], a[0:n, 0:32])
            T.copy(a, Y)
            T.copy(a[0:n, 0:32], Z[start : start + n, 0:32])

    x, y, z = torch.randn(20, 32), torch.zeros(8, 32), torch.zeros(20, 32)
    compile(k)(x, torch.tensor([number, 4], dtype=torch.int32), y, z)
    want_y, want_z = torch.full((8, 32), 7.0), torch.zeros(20, 32)
    want_y[:number] = x[4 : 4 + number]
    want_z[4 : 4 + number] = x[4 : 4 + number]
    assert torch.equal(y, want_y) and torch.equal(z, want_z)


def test_two_elements_are_one_store() -> None:
    @T.prim_func
    def k(X: T.Tensor((4, 16), "float32"), Y: T.Tensor((4, 16), "float16"),
          Z: T.Tensor((16,), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((4, 16), "float32")
            v = T.alloc_var("float32", 2.5)
            T.copy(X, a)
            T.copy(X[1, 3], Y[2, 5])
            T.copy(a[3, 3], Z[4])
            T.copy(X[0, 0], a[0, 1])
            T.copy(a[0, 1], Z[5])
            T.copy(v, Z[6])
            for i in T.serial(3):
                T.copy(X[i, i], Z[i + 8])
            for i in T.Parallel(4):
                T.copy(X[i, 2], Z[i])

    x, y, z = torch.randn(4, 16), torch.zeros(4, 16).half(), torch.zeros(16)
    compile(k)(x, y, z)
    want = torch.zeros(4, 16).half()
    want[2, 5] = x[1, 3]
    assert torch.equal(y, want)
    found = torch.cat((x[:4, 2], x[3, 3:4], x[0, :1], torch.tensor([2.5, 0.0]), x.diagonal()[:3]))
    assert torch.equal(z[:11], found)


VIEWED = list(itertools.product(["parameter", "tile"], ["view", "reshape", "data"]))[:5]


@pytest.mark.parametrize(("what", "how"), VIEWED)
def test_views_are_read_and_stored_through(what: str, how: str) -> None:
    @T.prim_func
    def k(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((8, 32), "float32"),
          Z: T.Tensor((16, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 32), "float32")
            b = T.alloc_fragment((16, 16), "float32")
            if what == "parameter":
                if how == "data":
                    x = T.Tensor((16, 16), "float32", X.data)
                    y = T.Tensor((256,), "float32", Y.data)
                elif how == "view":
                    x, y = T.view(X, (16, 16)), T.view(Y, (256,))
                else:
                    x, y = T.reshape(X, (16, 16)), T.reshape(Y, (256,))
                T.copy(x, b)
                for i, j in T.Parallel(16, 16):
                    b[i, j] = b[i, j] + x[i, j]
                T.copy(b, Z)
                for i in T.Parallel(256):
                    y[i] = i
            else:
                T.copy(X, a)
                s = T.view(a, (16, 16)) if how == "view" else T.reshape(a, [16, 16])
                for i, j in T.Parallel(16, 16):
                    b[i, j] = s[i, j] * 2
                T.copy(b, Z)
                for i, j in T.Parallel(16, 16):
                    s[i, j] = i * 16 + j
                T.copy(a, Y)

    x = torch.randn(8, 32)
    y, z = torch.zeros(8, 32), torch.zeros(16, 16)
    compile(k)(x, y, z)
    assert torch.equal(z, x.reshape(16, 16) * 2)
    assert torch.equal(y, torch.arange(256.0).reshape(8, 32))


@pytest.mark.parametrize("what", ["parameter", "tile"])
def test_views_of_another_type(what: str) -> None:
    @T.prim_func
    def k(X: T.Tensor((8, 32), "float32"), Y: T.Tensor((8, 32), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 32), "float32")
            if what == "tile":
                T.copy(X, a)
                bits = T.view(a, dtype="int32")
                for i, j in T.Parallel(8, 32):
                    bits[i, j] = bits[i, j] & 0x7FFFFFFF
                T.copy(a, Y)
            else:
                bits = T.view(X, (8, 32), "int32")
                out = T.view(Y, dtype="int32")
                for i, j in T.Parallel(8, 32):
                    out[i, j] = bits[i, j] & 0x7FFFFFFF

    x = torch.randn(8, 32)
    assert torch.equal(compile(k, out_idx=1)(x), x.abs())


@pytest.mark.parametrize("shape", [(16, 16), (32, 48), (8, 24), (2, 16, 32)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32", "int8"])
def test_tiles_are_transposed(shape: tuple[int, ...], dtype: str) -> None:
    *planes, m, n = shape
    turned = (*planes, n, m)

    @T.prim_func
    def k(X: T.Tensor(shape, dtype), Y: T.Tensor(turned, dtype)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(shape, dtype)
            b = T.alloc_shared(turned, dtype)
            T.copy(X, a)
            T.transpose(a, b)
            T.copy(b, Y)

    x = (torch.randn(shape) * 20).to(getattr(torch, dtype))
    assert torch.equal(compile(k, out_idx=1)(x), x.transpose(-1, -2).contiguous())


@pytest.mark.parametrize(("stride", "dilation", "pad"), [(1, 1, 0), (1, 1, 1), (2, 1, 1), (1, 2, 2),
                                                         (2, 2, 3)])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_windows_of_images(dtype: str, stride: int, dilation: int, pad: int) -> None:
    """Rows of `T.im2col`, which has an older name too, are what torch unfolds."""
    of_pixels = T.im2col if pad else T.c2d_im2col
    N, H, W, C, KS, P = 2, 7, 9, 16, 3, 16
    oh = (H + 2 * pad - dilation * (KS - 1) - 1) // stride + 1
    ow = (W + 2 * pad - dilation * (KS - 1) - 1) // stride + 1
    rows = N * oh * ow

    @T.prim_func
    def k(X: T.Tensor((N, H, W, C), dtype), Y: T.Tensor((rows, KS * KS * C), dtype)):
        with T.Kernel(T.ceildiv(rows, P), threads=128) as bx:
            a = T.alloc_shared((P, C), dtype)
            for c in T.serial(KS * KS):
                of_pixels(X, a, bx, c, KS, stride, dilation, pad)
                T.copy(a, Y[bx * P, c * C])

    x = torch.randn(N, H, W, C).to(getattr(torch, dtype))
    unfolded = torch.nn.functional.unfold(
        x.float().permute(0, 3, 1, 2), KS, dilation=dilation, padding=pad, stride=stride
    )
    expected = unfolded.view(N, C, KS * KS, oh * ow).permute(0, 3, 2, 1).reshape(rows, -1)
    assert torch.equal(compile(k, out_idx=1)(x), expected.to(x.dtype))
