"""Elements as kernels for GPUs compute them: loops of every rank, in tiles and in tensors, types and
their roundings, guards of accesses, loops inside. Each at `strict` against torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_runtime import compile, jit

pytestmark = pytest.mark.usefixtures("strict")

SHAPES = [(40,), (6, 24), (3, 5, 16), (2, 3, 4, 8)]


@T.macro
def one(src, dst, at):
    """Names, branches of each kind, values chosen by elements and by places."""
    x = src[at]
    y = x * 2
    if x > 0.5:
        dst[at] = y + 1
    elif x < -0.5:
        dst[at] = -y
    else:
        z = y if at[0] % 2 == 0 else x
        dst[at] = T.if_then_else(at[-1] > 3, z, x - 3)


@T.macro
def over_1(src, dst, shape):
    for i in T.Parallel(*shape):
        one(src, dst, (i,))


@T.macro
def over_2(src, dst, shape):
    for i, j in T.Parallel(*shape):
        one(src, dst, (i, j))


@T.macro
def over_3(src, dst, shape):
    for i, j, p in T.Parallel(*shape):
        one(src, dst, (i, j, p))


@T.macro
def over_4(src, dst, shape):
    for i, j, p, q in T.Parallel(*shape):
        one(src, dst, (i, j, p, q))


@pytest.mark.parametrize("where", ["tiles", "tensors", "in place", "tensor in place"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loops_of_every_rank(shape: tuple[int, ...], where: str) -> None:
    loop = (over_1, over_2, over_3, over_4)[len(shape) - 1]

    @T.prim_func
    def k(A: T.Tensor(shape, "float32"), B: T.Tensor(shape, "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(shape, "float32")
            b = T.alloc_fragment(shape, "float32")
            if where in ("tiles", "in place"):
                T.copy(A, a)
            src, dst = PLACES[where](a, b, A, B)
            loop(src, dst, shape)
            if where in ("tiles", "in place"):
                T.copy(dst, B)

    x = torch.randn(shape)
    found = x.clone() if where == "tensor in place" else torch.zeros(shape)
    compile(k)(x, found)
    places = torch.meshgrid(*(torch.arange(n) for n in shape), indexing="ij")
    y = x * 2
    middle = torch.where(places[-1] > 3, torch.where(places[0] % 2 == 0, y, x), x - 3)
    expected = torch.where(x > 0.5, y + 1, torch.where(x < -0.5, -y, middle))
    assert torch.equal(found, expected)


PLACES: dict[str, Callable[..., Any]] = {
    "tiles": lambda a, b, A, B: (a, b),
    "tensors": lambda a, b, A, B: (A, B),
    "in place": lambda a, b, A, B: (a, a),
    "tensor in place": lambda a, b, A, B: (B, B),
}


def test_a_tensor_is_used_by_elements_and_by_tiles() -> None:
    """What elements store is what tile copies read, and the other way round."""

    @T.prim_func
    def k(A: T.Tensor((32, 48), "float32"), B: T.Tensor((32, 48), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((16, 48), "float32")
            T.copy(A[bx * 16, 0], a)
            for i, j in T.Parallel(16, 48):
                B[bx * 16 + i, j] = a[i, j] + 1
            T.copy(B[bx * 16, 0], a)
            for i, j in T.Parallel(16, 48):
                a[i, j] = a[i, j] * 2
            T.copy(a, B[bx * 16, 0])
            for i, j in T.Parallel(16, 48):
                B[bx * 16 + i, j] = B[bx * 16 + i, j] - a[i, 0]
            T.copy(B[bx * 16, 0], a)
            T.copy(a, A[bx * 16, 0])

    x = torch.randn(32, 48)
    a, b = x.clone(), torch.zeros(32, 48)
    compile(k)(a, b)
    twice = (x + 1) * 2
    assert torch.equal(b, twice - twice[:, :1]) and torch.equal(a, b)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, y: (x + y) - y * 3,
    "products": lambda x, y: x * y * x + y,
    "quotients": lambda x, y: x / (y * y + 1) - x,
}


@pytest.mark.parametrize("form", ARITHMETIC)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_arithmetic_rounds_in_its_type(dtype: str, form: str) -> None:
    """Half: each operation. bfloat16: within one rounding of the exact value of its operands."""
    formula = ARITHMETIC[form]

    @T.prim_func
    def k(A: T.Tensor((16, 64), dtype), B: T.Tensor((16, 64), dtype), C: T.Tensor((16, 64), dtype)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 64), dtype)
            b = T.alloc_fragment((16, 64), dtype)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(16, 64):
                b[i, j] = formula(a[i, j], b[i, j])
            T.copy(b, C)

    kind = getattr(torch, dtype)
    a, b = torch.randn(16, 64).to(kind), torch.randn(16, 64).to(kind)
    found = compile(k, out_idx=2)(a, b)
    if dtype == "bfloat16":
        exact = formula(a.double(), b.double())
        scale = a.double().abs() + b.double().abs() * 4 + (a.double() ** 2 * b.double()).abs() + 1
        assert ((found.double() - exact).abs() / scale).max() < 2**-7
    else:
        assert torch.equal(found, formula(a, b))


@pytest.mark.parametrize("dtype", ["int32", "int16", "int8", "uint8"])
def test_integers_wrap_and_shift(dtype: str) -> None:
    @T.prim_func
    def k(A: T.Tensor((8, 64), dtype), B: T.Tensor((8, 64), dtype), C: T.Tensor((6, 8, 64), dtype)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 64), dtype)
            b = T.alloc_shared((8, 64), dtype)
            c = T.alloc_fragment((8, 64), dtype)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(8, 64):
                c[i, j] = a[i, j] + b[i, j]
            T.copy(c, C[0, :, :])
            for i, j in T.Parallel(8, 64):
                c[i, j] = a[i, j] * b[i, j]
            T.copy(c, C[1, :, :])
            for i, j in T.Parallel(8, 64):
                c[i, j] = a[i, j] >> 2
            T.copy(c, C[2, :, :])
            for i, j in T.Parallel(8, 64):
                c[i, j] = a[i, j] << 3
            T.copy(c, C[3, :, :])
            for i, j in T.Parallel(8, 64):
                c[i, j] = (a[i, j] & b[i, j]) ^ (a[i, j] | 5)
            T.copy(c, C[4, :, :])
            for i, j in T.Parallel(8, 64):
                c[i, j] = a[i, j] - b[i, j] * 3
            T.copy(c, C[5, :, :])

    kind = getattr(torch, dtype)
    info = torch.iinfo(kind)
    a, b = (torch.randint(info.min, info.max, (8, 64), dtype=torch.int64).to(kind) for _ in "ab")
    c = compile(k, out_idx=2)(a, b)
    expected = [a + b, a * b, a >> 2, a << 3, (a & b) ^ (a | 5), a - b * 3]
    for n, wanted in enumerate(expected):
        assert torch.equal(c[n], wanted), n


@pytest.mark.parametrize("to", ["float16", "bfloat16", "float32", "int32", "int16", "int8"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "int16", "int8"])
def test_stored_elements_take_the_type_of_the_tile(dtype: str, to: str) -> None:
    """By an assignment, by T.cast, by astype, and in a tensor."""

    @T.prim_func
    def k(A: T.Tensor((8, 32), dtype), B: T.Tensor((4, 8, 32), to)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 32), dtype)
            b = T.alloc_fragment((8, 32), to)
            c = T.alloc_fragment((8, 32), to)
            d = T.alloc_shared((8, 32), to)
            T.copy(A, a)
            for i, j in T.Parallel(8, 32):
                b[i, j] = a[i, j]
                c[i, j] = T.cast(a[i, j], to)
                d[i, j] = a[i, j].astype(to)
            T.copy(b, B[0, :, :])
            T.copy(c, B[1, :, :])
            T.copy(d, B[2, :, :])
            for i, j in T.Parallel(8, 32):
                B[3, i, j] = A[i, j]

    # Beyond int8, torch and the chip convert differently.
    x = (torch.randn(8, 32) * 40).clamp(-120, 120).to(getattr(torch, dtype))
    found = compile(k, out_idx=1)(x)
    assert torch.equal(found, x.to(found.dtype).expand(4, 8, 32))


@jit
def powers_of_two(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B = T.empty((M, N), T.float32)
    C = T.empty((M, N), T.float32)
    D = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_fragment((M, N), T.float32)
        b = T.alloc_fragment((M, N), T.float32)
        T.copy(A, a)
        for i, j in T.Parallel(M, N):
            b[i, j] = T.exp2(a[i, j])
        T.copy(b, B)
        for i, j in T.Parallel(M, N):
            b[i, j] = T.log2(T.abs(a[i, j]))
        T.copy(b, C)
        for i, j in T.Parallel(M, N):
            b[i, j] = T.exp2(a[i, j] * 0.5 - a[i, 0] * 0.5)
        T.copy(b, D)
    return B, C, D


def test_powers_and_logarithms_of_two() -> None:
    a = torch.linspace(-80, 80, 16 * 64).reshape(16, 64)
    a[3, :4] = torch.tensor([-float("inf"), float("inf"), 0.0, 1.0])
    b, c, d = powers_of_two(a)
    for found, exact in ((b, a.double().exp2()), (c, a.double().abs().log2())):
        finite = exact.isfinite() & (exact.abs() > 0.01)
        error = ((found.double() - exact) / exact).abs()
        assert error[finite & (a.abs() <= 32)].max() < 1e-6
        assert error[finite & (a.abs() <= 80)].max() < 2.5e-6
        assert torch.equal(found[~exact.isfinite()].double(), exact[~exact.isfinite()])
    assert b[3, 0] == 0 and b[3, 1] == float("inf")
    rest = (a.double() * 0.5 - a[:, :1].double() * 0.5).exp2()[4:]
    assert ((d[4:].double() - rest) / rest).abs().max() < 1e-5


@jit
def chosen(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), T.float32)
    B: T.Tensor((M, N), T.float32)
    C = T.empty((M, N), T.float32)
    with T.Kernel(1, threads=128) as bx:
        a = T.alloc_fragment((M, N), T.float32)
        b = T.alloc_fragment((M, N), T.float32)
        T.copy(A, a)
        T.copy(B, b)
        for i, j in T.Parallel(M, N):
            a[i, j] = T.if_then_else(
                a[i, j] == -T.infinity("float32"), 0.0, T.exp(a[i, j] - b[i, j])
            )
        T.copy(a, C)
    return C


def test_the_branch_that_is_not_taken_may_be_no_number() -> None:
    inf = float("inf")
    a, b = torch.randn(4, 32), torch.randn(4, 32)
    a[0], a[1, ::2], b[0], b[2, 3] = -inf, -inf, -inf, float("nan")
    found = chosen(a, b)
    expected = torch.where(a == -inf, 0.0, (a - b).exp())
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0, equal_nan=True)


@pytest.mark.parametrize("length", [0, 3, 16, 21])
def test_guarded_elements_are_not_loaded(length: int) -> None:
    """(i) a test of bounds, (ii) of one loop variable, (iii) of anything else, whose other side may
    lie outside of the tensor; with indices that are negative and too large."""

    @T.prim_func
    def k(A: T.Tensor((20, 32), "float32"), R: T.Tensor((16,), "int32"), L: T.Tensor((1,), "int32"),
          B: T.Tensor((5, 16, 32), "float32"), S: T.Tensor((20, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((16, 32), "float32")
            rows = T.alloc_shared((16,), "int32")
            n = L[0]
            T.copy(R, rows)
            for i, j in T.Parallel(16, 32):
                a[i, j] = T.if_then_else(i + 10 < 20, A[i + 10, j], -1.0)
            T.copy(a, B[0, :, :])
            for i, j in T.Parallel(16, 32):
                a[i, j] = T.if_then_else(i < n, A[i, j], -2.0)
            T.copy(a, B[1, :, :])
            for i, j in T.Parallel(16, 32):
                a[i, j] = T.if_then_else(rows[i] >= 0 and j % 3 == 0, A[rows[i], j], -3.0)
            T.copy(a, B[2, :, :])
            for i, j in T.Parallel(16, 32):
                a[i, j] = A[rows[i], j]
            T.copy(a, B[3, :, :])
            for i, j in T.Parallel(16, 32):
                a[i, j] = A[i - 3, j + 5]
            T.copy(a, B[4, :, :])
            for i, j in T.Parallel(16, 32):
                if i < n:
                    S[i + 6, j] = a[i, j]

    a, s = torch.randn(20, 32), torch.zeros(20, 32)
    rows = torch.randint(-2, 23, (16,)).int()
    rows[0], rows[1] = -1, 20
    b = torch.zeros(5, 16, 32)
    compile(k)(a, rows, torch.tensor([length], dtype=torch.int32), b, s)
    wide = torch.zeros(60, 96)
    wide[20:40, 32:64] = a
    at, columns = torch.arange(16), torch.arange(32)
    gathered = wide[rows.long() + 20, 32:64]
    expected = [
        torch.where((at < 10)[:, None], wide[30:46, 32:64], -1.0),
        torch.where((at < length)[:, None], a[:16], -2.0),
        torch.where((rows >= 0)[:, None] & (columns % 3 == 0), gathered, -3.0),
        gathered,
        wide[17:33, 37:69],
    ]
    for n, wanted in enumerate(expected):
        assert torch.equal(b[n], wanted), n
    stored = torch.zeros(20, 32)
    count = min(length, 14)
    stored[6 : 6 + count] = expected[4][:count]
    assert torch.equal(s, stored)


@pytest.mark.parametrize("way", ["variable", "array", "in place"])
def test_loops_inside_are_the_loop_written_out(way: str) -> None:
    """With the same rounds for all elements, and rounds by the element, by a tensor, with an end."""

    @T.prim_func
    def k(A: T.Tensor((16, 32), "float32"), L: T.Tensor((16,), "int32"),
          B: T.Tensor((16, 32), "float32"), C: T.Tensor((16, 32), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 32), "float32")
            n = T.alloc_shared((16,), "int32")
            b = T.alloc_fragment((16, 32), "float32")
            c = T.alloc_fragment((16, 32), "float32")
            T.copy(A, a)
            T.copy(L, n)
            for i, j in T.Parallel(16, 32):
                if way == "variable":
                    s = T.alloc_var("float32", 1.0)
                    for q in T.serial(6):
                        s = s * 0.5 + a[q, j]
                    b[i, j] = s * a[i, j]
                    t = T.alloc_var("float32")
                    for q in range(n[i]):
                        t += a[q, j]
                    c[i, j] = t
                elif way == "array":
                    s = T.alloc_local((2,), "float32")
                    s[0] = 1.0
                    for q in T.serial(6):
                        s[0] = s[0] * 0.5 + a[q, j]
                    b[i, j] = s[0] * a[i, j]
                    s[1] = 0.0
                    for q in range(n[i]):
                        s[1] += a[q, j]
                    c[i, j] = s[1]
                else:
                    b[i, j] = 1.0
                    for q in T.serial(6):
                        b[i, j] = b[i, j] * 0.5 + a[q, j]
                    b[i, j] = b[i, j] * a[i, j]
                    c[i, j] = 0.0
                    for q in range(n[i]):
                        c[i, j] += a[q, j]
            T.copy(b, B)
            T.copy(c, C)

    a = torch.randn(16, 32)
    lengths = torch.randint(0, 17, (16,)).int()
    lengths[3], lengths[7] = 0, 16
    b, c = compile(k, out_idx=[2, 3])(a, lengths)
    s = torch.ones(32)
    for q in range(6):
        s = s * 0.5 + a[q]
    torch.testing.assert_close(b, s * a, rtol=1e-5, atol=1e-5)
    sums = torch.stack([a[: int(m)].sum(0) for m in lengths])
    torch.testing.assert_close(c, sums, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_number_from_gm_decides_on_both_cores(count: int) -> None:
    """Rounds, a branch and the place of products and of vector code."""

    @T.prim_func
    def k(A: T.Tensor((4, 16, 16), "float16"), P: T.Tensor((8,), "int32"),
          B: T.Tensor((16, 16), "float32"), C: T.Tensor((8, 16), "float32")):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            total = T.alloc_fragment((16, 16), "float32")
            T.clear(total)
            for n in T.serial(P[0]):
                if P[n + 1] >= 0:
                    T.copy(A[P[n + 1], 0, 0], a)
                    T.gemm(a, a, c, clear_accum=True)
                    for i, j in T.Parallel(16, 16):
                        total[i, j] += c[i, j] * (n + 1)
            T.copy(total, B)
            T.copy(total[P[5] : P[5] + 1, 0:16], C[P[6], 0])

    a = torch.randint(-2, 3, (4, 16, 16)).half()
    p = torch.tensor([count, 3, -1, 1, 0, 7, 5, 0], dtype=torch.int32)
    b, c = torch.zeros(16, 16), torch.zeros(8, 16)
    compile(k)(a, p, b, c)
    expected = torch.zeros(16, 16)
    for n in range(count):
        at = int(p[n + 1])
        if at >= 0:
            expected += (a[at].float() @ a[at].float()) * (n + 1)
    assert torch.equal(b, expected)
    row = torch.zeros(8, 16)
    row[5] = expected[7]
    assert torch.equal(c, row)


def test_every_exponent_of_two_is_a_normal_number() -> None:
    a = torch.arange(-126.0, 2.0).reshape(2, 64)
    assert torch.allclose(powers_of_two(a)[0].double(), a.double().exp2(), rtol=4e-6, atol=0)
    assert math.isclose(
        powers_of_two(torch.full((2, 64), 10.0))[0][0, 0].item(), 1024.0, rel_tol=1e-6
    )


def test_conditions_in_rounds_inside_a_nest_hold() -> None:
    """What a branch leaves alone keeps the value it has from before the rounds."""

    @T.prim_func
    def k(A: T.Tensor((16, 35), "int32"), B: T.Tensor((16, 32), "int32")):
        with T.Kernel(1, threads=128) as bx:
            b = T.alloc_shared((16, 32), "int32")
            for i, j in T.Parallel(16, 32):
                m = T.alloc_var("int32")
                m = 5
                for n in T.serial(3):
                    if A[i, j] < 0:
                        m = m + A[i, j + n]
                b[i, j] = m
            T.copy(b, B)

    a = torch.randint(-3, 4, (16, 35), dtype=torch.int32)
    sums = a[:, :32] + a[:, 1:33] + a[:, 2:34]
    assert torch.equal(compile(k, out_idx=[1])(a), torch.where(a[:, :32] < 0, sums + 5, 5))
