"""Reductions and running values as text for GPUs has them: of any dimension of any number of them,
of absolute values and of bits, and whether elements are set. Each runs at `strict` against torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import compile

pytestmark = pytest.mark.usefixtures("strict")

COMBINE: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "sum": torch.add, "abssum": torch.add, "max": torch.maximum, "absmax": torch.maximum,
    "min": torch.minimum, "bitand": torch.bitwise_and, "bitor": torch.bitwise_or,
    "bitxor": torch.bitwise_xor,
}  # fmt: skip


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILE_CHECK", "strict")


def values(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    if dtype == "bool":
        return torch.rand(shape) < 0.8
    return torch.randint(-9, 9, shape).to(getattr(torch, dtype))


def check_reduction(
    kind: str, shape: tuple[int, ...], dim: int, dtype: str, to: str = "", keep: bool = False
) -> None:
    """The reduction of a shared tile into a fragment, and of a fragment added to a shared tile."""
    to = to or dtype
    axis = dim % len(shape)
    out = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1 :] or (1,)

    @T.prim_func
    def k(A: T.Tensor(shape, dtype), P: T.Tensor(out, to), B: T.Tensor(out, to),
          C: T.Tensor(out, to)):  # fmt: skip
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(shape, dtype)
            f = T.alloc_fragment(shape, dtype)
            b = T.alloc_fragment(out, to)
            c = T.alloc_shared(out, to)
            T.copy(A, a)
            T.copy(A, f)
            T.copy(P, c)
            T.reduce(a, b, kind, dim, True)
            if kind == "abssum":
                T.reduce_abssum(f, c, dim)
            else:
                getattr(T, f"reduce_{kind}")(f, c, dim=dim, clear=False, batch=1)
            T.copy(b, B)
            T.copy(c, C)

    x, before = values(shape, dtype), values(out, to)
    parts = x.to(before.dtype).unbind(axis)
    parts = [p.abs() for p in parts] if kind.startswith("abs") else list(parts)
    expected = reduce(COMBINE[kind], parts).reshape(out)
    b, c = compile(k, out_idx=[2, 3])(x, before)
    assert torch.equal(b, expected)
    added = expected if kind == "abssum" else COMBINE[kind](before, expected)
    assert torch.equal(c, added)


@pytest.mark.parametrize(
    ("kind", "shape", "dim", "dtype", "to"),
    [
        ("sum", (32, 4, 4), -1, "float16", "float32"),
        ("max", (3, 5, 16), 1, "float32", ""),
        ("sum", (3, 5, 4), 1, "float16", ""),
        ("min", (4, 3, 8), 0, "bfloat16", ""),
        ("sum", (2, 3, 4, 5), 2, "int32", ""),
        ("max", (2, 2, 3, 2, 4), -4, "float32", ""),
        ("max", (1, 16, 16), 1, "float32", ""),
        ("max", (1, 16, 16), 0, "float32", ""),
        ("sum", (8, 32), 1, "bool", "int32"),
    ],
)
@pytest.mark.parametrize("keep", [False, True])
def test_any_dimension(
    kind: str, shape: tuple[int, ...], dim: int, dtype: str, to: str, keep: bool
) -> None:
    check_reduction(kind, shape, dim, dtype, to, keep)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "bfloat16"])
@pytest.mark.parametrize("kind", ["abssum", "absmax"])
def test_absolute_values(kind: str, dtype: str) -> None:
    check_reduction(kind, (8, 16), 1, dtype)
    check_reduction(kind, (2, 3, 8), 1, dtype, "float32")


@pytest.mark.parametrize("dtype", ["int32", "int16", "int8", "bool"])
@pytest.mark.parametrize("kind", ["bitand", "bitor", "bitxor"])
def test_bits(kind: str, dtype: str) -> None:
    check_reduction(kind, (8, 32), 0, dtype)
    check_reduction(kind, (8, 16), 1, dtype)


def test_bits_of_one_and_three_dimensions() -> None:
    check_reduction("bitxor", (64,), 0, "int32")
    check_reduction("bitor", (4, 3, 8), 1, "int32", keep=True)


def test_a_part_of_a_buffer() -> None:
    @T.prim_func
    def k(A: T.Tensor((3, 4, 2, 16), "float32"), B: T.Tensor((4, 16), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((3, 4, 2, 16), "float32")
            b = T.alloc_shared((2, 4, 16), "float32")
            T.copy(A, a)
            T.reduce_sum(a[1, :, :, :], b[1, :, :], dim=1)
            T.copy(b[1, :, :], B)

    x = torch.randn(3, 4, 2, 16)
    torch.testing.assert_close(compile(k, out_idx=-1)(x), x[1].sum(1))


@pytest.mark.parametrize(
    ("shape", "dim", "out"),
    [
        ((3, 5, 16), -1, (3, 5)),
        ((3, 5, 16), 2, (3, 5, 1)),
        ((4, 1, 32), -1, (4, 1)),
        ((3, 5, 16), 1, (3, 16)),
        ((3, 5, 16), 0, (5, 16)),
    ],
)
def test_all_matrices_where_out_has_room(
    shape: tuple[int, ...], dim: int, out: tuple[int, ...]
) -> None:
    """In a kernel for Ascend an `out` for one matrix means the first one alone."""

    @T.prim_func
    def k(A: T.Tensor(shape, "float32"), B: T.Tensor(out, "float32")):
        with T.Kernel(1, is_npu=True):
            a = T.alloc_shared(shape, "float32")
            b = T.alloc_shared(out, "float32")
            T.copy(A, a)
            T.reduce_max(a, b, dim=dim)
            T.copy(b, B)

    x = torch.randn(shape)
    assert torch.equal(compile(k, out_idx=-1)(x), x.amax(dim).reshape(out))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cummax"])
@pytest.mark.parametrize(
    ("shape", "dim", "dtype", "to"),
    [
        ((64,), 0, "float32", "float32"),
        ((8, 16), 0, "float16", "float16"),
        ((8, 16), 1, "int32", "int32"),
        ((5, 6), -1, "float16", "float16"),
        ((8, 32), 0, "float16", "float32"),
        ((2, 5, 8), 1, "int16", "int16"),
        ((8, 32), 1, "int8", "int8"),
        ((8, 16), 1, "bfloat16", "bfloat16"),
    ],
)
def test_running_values(
    name: str, shape: tuple[int, ...], dim: int, dtype: str, to: str, reverse: bool
) -> None:
    """Into another tile, and the other way in place."""

    @T.prim_func
    def k(A: T.Tensor(shape, dtype), B: T.Tensor(shape, to), C: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared(shape, dtype)
            f = T.alloc_fragment(shape, dtype)
            b = T.alloc_fragment(shape, to)
            T.copy(A, a)
            T.copy(A, f)
            getattr(T, name)(f, b, dim, reverse)
            getattr(T, name)(src=a, dim=dim, reverse=not reverse)
            T.copy(b, B)
            T.copy(a, C)

    def running(t: torch.Tensor, reverse: bool) -> torch.Tensor:
        t = t.flip(dim) if reverse else t
        values = t.cumsum(dim).to(t.dtype) if name == "cumsum" else t.cummax(dim)[0]
        return values.flip(dim) if reverse else values

    x = values(shape, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        b, c = compile(k, out_idx=[1, 2])(x)
    assert not [w for w in caught if "[partly-written]" in str(w.message)]
    assert torch.equal(b, running(x.to(b.dtype), reverse))
    assert torch.equal(c, running(x, not reverse))


def test_the_default_of_a_running_sum_is_the_first_dimension() -> None:
    @T.prim_func
    def k(A: T.Tensor((8, 16), "float32"), B: T.Tensor((8, 16), "float32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_shared((8, 16), "float32")
            T.copy(A, a)
            T.cumsum(a)
            T.copy(a, B)

    x = torch.randn(8, 16)
    torch.testing.assert_close(compile(k, out_idx=-1)(x), x.cumsum(0))


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
def test_whether_elements_are_set(dtype: str) -> None:
    @T.prim_func
    def k(A: T.Tensor((8, 32), dtype), B: T.Tensor((4,), "int32")):
        with T.Kernel(1, threads=128) as bx:
            a = T.alloc_fragment((8, 32), dtype)
            T.copy(A, a)
            every = T.all_of(a)
            if T.any_of(a):
                B[0] = 1
            else:
                B[0] = 0
            B[1] = T.if_then_else(every, 1, 0)
            B[2] = T.if_then_else(T.any_of(a[1, 8:24]), 1, 0)
            B[3] = T.if_then_else(T.all_of(a[1, 8:24]) and T.any_of(a), 1, 0)

    run = compile(k, out_idx=-1)
    for count in (0, 1, 41, 56, 256):
        x = torch.zeros(8, 32)
        x.reshape(-1)[:count] = 1
        part = x[1, 8:24] != 0
        wanted = [bool(x.any()), bool(x.all()), bool(part.any()), bool(part.all())]
        assert run(x.to(getattr(torch, dtype))).tolist() == [int(w) for w in wanted]


@pytest.mark.parametrize(
    ("line", "slug"),
    [
        ("T.reduce_sum(a, b, dim=3)", "reduce-axis"),
        ("T.reduce_sum(a, b, dim=0)", "shape-mismatch"),
        ("T.reduce_bitor(a, b)", "dtype-mismatch"),
        ("T.reduce_absmax(A, b)", "operand-memory"),
        ("T.reduce(a, b, 'product', -1, True)", "attribute-value"),
        ("T.cummax(A)", "operand-memory"),
        ("T.cummax(a, b)", "shape-mismatch"),
        ("T.any_of(A)", "operand-memory"),
        ("T.any_of(1)", "operand-kind"),
    ],
)
def test_what_is_no_reduction(line: str, slug: str) -> None:
    scope: dict[str, Any] = {"T": T}

    @T.macro
    def statement(a, b, A):
        eval_line(a, b, A)

    def eval_line(a: Any, b: Any, A: Any) -> Any:
        return eval(line, scope, {"a": a, "b": b, "A": A})

    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(A: T.Tensor((2, 4, 8), "float32")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((2, 4, 8), "float32")
                b = T.alloc_shared((2, 4), "float32")
                T.copy(A, a)
                statement(a, b, A)

    assert caught.value.slug == slug
