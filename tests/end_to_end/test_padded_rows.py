"""Tiles whose rows would begin inside blocks of ub: the compiler gives them a longer pitch where
something takes rows. At `strict` against torch, and modelled no slower than packed rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_ir.switches import override

R, B = 16, 3
Form = Callable[[int, str], T.PrimFunc]


def part_of_rows(N: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((B * R, 2 * N), dtype), Y: T.Tensor((B * R, N), dtype)):
        with T.Kernel(B) as b:
            x, z = T.alloc_shared((R, N), dtype), T.alloc_shared((R, N), dtype)
            y = T.alloc_fragment((R, N), dtype)
            T.copy(X[b * R : b * R + R, 0:N], x)
            T.copy(X[b * R : b * R + R, N : 2 * N], z)
            for i, j in T.Parallel(R, N):
                y[i, j] = x[i, j] + z[i, j]
            T.copy(y, Y[b * R : b * R + R, 0:N])

    return kernel


def value_of_a_row(N: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((B * R, N), dtype), Y: T.Tensor((B * R, N), dtype)):
        with T.Kernel(B) as b:
            x, y = T.alloc_shared((R, N), dtype), T.alloc_fragment((R, N), dtype)
            most = T.alloc_fragment((R,), dtype)
            T.copy(X[b * R : b * R + R, 0:N], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(R, N):
                y[i, j] = x[i, j] - most[i]
            T.copy(y, Y[b * R : b * R + R, 0:N])

    return kernel


def rows_in_turn(N: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((B * R, N), dtype), Y: T.Tensor((B * R, N), dtype)):
        with T.Kernel(B) as b:
            x, total = T.alloc_fragment((R, N), dtype), T.alloc_fragment((N,), dtype)
            T.copy(X[b * R : b * R + R, 0:N], x)
            T.clear(total)
            for i in T.serial(R):
                for j in T.Parallel(N):
                    total[j] = total[j] + x[i, j]
                    x[i, j] = total[j]
            T.copy(x, Y[b * R : b * R + R, 0:N])

    return kernel


def copied_rows(N: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((B * R, N), dtype), Y: T.Tensor((B * R, N), dtype)):
        with T.Kernel(B) as b:
            y = T.alloc_shared((R, N), dtype)
            for i in T.serial(R):
                T.copy(X[B * R - 1 - b * R - i, 0:N], y[i, :])
            T.copy(y, Y[b * R : b * R + R, 0:N])

    return kernel


def names_in_a_nest(N: int, dtype: str) -> T.PrimFunc:
    @T.prim_func
    def kernel(X: T.Tensor((B * R, N), dtype), Y: T.Tensor((B * R, N), dtype)):
        with T.Kernel(B) as b:
            x, y = T.alloc_shared((R, N), dtype), T.alloc_fragment((R, N), dtype)
            first = T.alloc_shared((N,), dtype)
            T.copy(X[b * R : b * R + R, 0:N], x)
            T.copy(X[b * R, 0:N], first)
            for i, j in T.Parallel(R, N):
                value = x[i, j] * 2
                y[i, j] = value - first[j]
            T.copy(y, Y[b * R : b * R + R, 0:N])

    return kernel


def of_part_of_rows(x: torch.Tensor) -> torch.Tensor:
    return x[:, : x.shape[1] // 2] + x[:, x.shape[1] // 2 :]


def of_first_rows(x: torch.Tensor) -> torch.Tensor:
    return x * 2 - x.view(B, R, -1)[:, :1].expand(B, R, -1).reshape(x.shape)


FORMS: dict[Form, Callable[[torch.Tensor], torch.Tensor]] = {
    part_of_rows: of_part_of_rows,
    value_of_a_row: lambda x: x - x.amax(1, keepdim=True),
    rows_in_turn: lambda x: x.view(B, R, -1).cumsum(1).view(x.shape).to(x.dtype),
    copied_rows: lambda x: x.flip(0),
    names_in_a_nest: of_first_rows,
}


@pytest.mark.parametrize("size", [17, 58, 100, 129])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "int32"])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_rows_start_at_blocks(form: Form, dtype: str, size: int) -> None:
    width = 2 * size if form is part_of_rows else size
    x = torch.randint(-9, 10, (B * R, width)).to(getattr(torch, dtype))
    kernel = form(size, dtype)
    with override(check="strict"):
        found = T.compile(kernel, out_idx=[-1])(x)
    assert torch.equal(found, FORMS[form](x))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_packed_rows_are_no_faster(form: Form) -> None:
    width = 2 * 58 if form is part_of_rows else 58
    x = torch.randint(-9, 10, (B * R, width)).half()
    times = {skip: _modelled(form(58, "float16"), x, skip) for skip in ("", "pad_rows")}
    assert times[""] <= times["pad_rows"]


def _modelled(kernel: T.PrimFunc, x: torch.Tensor, skip: str) -> float:
    with override(skip=skip, time=True):
        try:
            compiled = T.compile(kernel, out_idx=[-1])
        except KernelError as refused:
            assert skip and refused.slug == "row-alignment"
            return math.inf
        compiled(x)
        return compiled.timeline().microseconds


@pytest.mark.parametrize("size", [58, 100, 1000])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_rows_of_neighbours_start_at_blocks(dtype: str, size: int) -> None:
    """A block has one row, and one core does several blocks: a tile that only converts meets one
    whose rows get longer."""
    blocks = 100

    @T.prim_func
    def kernel(X: T.Tensor((blocks, size), dtype), Y: T.Tensor((blocks, size), dtype)):
        with T.Kernel(blocks) as b:
            x, most = T.alloc_fragment((size,), "float32"), T.alloc_fragment((1,), "float32")
            T.copy(X[b, 0], x)
            T.reduce_max(x, most, dim=0)
            for j in T.Parallel(size):
                x[j] = x[j] - most[0]
            T.copy(x, Y[b, 0])

    x = torch.randint(-9, 10, (blocks, size)).to(getattr(torch, dtype))
    with override(check="strict"):
        found = T.compile(kernel, out_idx=[-1])(x)
    assert torch.equal(found, x - x.amax(1, keepdim=True))


@pytest.mark.parametrize("width", [33, 40])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float16"])
def test_numbers_of_columns_chosen_in_rows_with_gaps(dtype: str, width: int) -> None:
    """The numbers are one run, whose elements are found by row and column, also in a tile that the
    author has made wider."""

    @T.prim_func
    def kernel(X: T.Tensor((8, 33), dtype), M: T.Tensor((8,), dtype), Y: T.Tensor((8, 33), dtype)):
        with T.Kernel(1):
            x, y = T.alloc_fragment((8, 33), dtype), T.alloc_fragment((8, width), dtype)
            m = T.alloc_fragment((8,), dtype)
            T.copy(X, x)
            T.copy(M, m)
            T.fill(y, -1)
            for i, j in T.Parallel(8, 33):
                y[i, j] = T.if_then_else(m[i] == x[i, j], T.cast(j, dtype), y[i, j])
            T.copy(y[:, 0:33], Y)

    x = torch.randint(0, 4, (8, 33)).to(getattr(torch, dtype))
    columns = torch.arange(33).to(x.dtype).expand(8, 33)
    expected = torch.where(x == x[:, :1], columns, torch.full_like(x, -1))
    with override(check="strict"):
        found = T.compile(kernel, out_idx=[-1])(x, x[:, 0].contiguous())
    assert torch.equal(found, expected)
