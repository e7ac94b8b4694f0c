"""Integers that are made for kernels which take them for places, lengths or begins of parts."""

from __future__ import annotations

import pytest
import torch
from example_kernels import load

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime.jit_kernels.index_values import IndexUse, IndexValues, index_values
from tile_runtime.jit_kernels.tensor_supply import supply_arguments


@T.jit(out_idx=[-1])
def rows_taken(V=500, N=40, tokens=96, factor=1, dtype="int64"):
    @T.prim_func
    def main(
        W: T.Tensor((V, N), "float32"),
        idx: T.Tensor((tokens,), dtype),
        Y: T.Tensor((tokens, N), "float32"),
    ):
        with T.Kernel(tokens // 8, threads=2) as b:
            for i, j in T.Parallel(8, N):
                Y[b * 8 + i, j] = W[idx[b * 8 + i] * factor, j]

    return main


@T.jit(out_idx=[-1])
def segments(total=1000, N=64, B=8, block=32):
    @T.prim_func
    def main(
        X: T.Tensor((total, N), "float32"),
        begins: T.Tensor((B + 1,), "int32"),
        Y: T.Tensor((B, N), "float32"),
    ):
        with T.Kernel(B, threads=2) as b:
            x = T.alloc_shared((block, N), "float32")
            part = T.alloc_shared((1, N), "float32")
            whole = T.alloc_shared((1, N), "float32")
            T.tile.fill(whole, 0.0)
            start, end = begins[b], begins[b + 1]
            for k in T.serial(T.ceildiv(end - start, block)):
                at = start + k * block
                for i, j in T.Parallel(block, N):
                    x[i, j] = T.if_then_else(at + i < end, X[at + i, j], 0.0)
                T.reduce_sum(x, part, dim=0)
                for i, j in T.Parallel(1, N):
                    whole[i, j] = whole[i, j] + part[i, j]
            T.copy(whole, Y[b, 0])

    return main


@T.jit(out_idx=[-1])
def chosen(rows=64, N=48, doubled=False):
    """An index that goes through a tile, and one through a variable."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, N), "float32"),
        label: T.Tensor((rows,), "int32"),
        first: T.Tensor((1,), "int32"),
        Y: T.Tensor((8,), "float32"),
    ):
        with T.Kernel(1, threads=1):
            labels = T.alloc_shared((8,), "int32")
            at = T.alloc_var("int32")
            out = T.alloc_shared((8,), "float32")
            at = first[0] * 2 if doubled else first[0]
            T.copy(label[0:8], labels)
            for i in T.serial(8):
                out[i] = X[at, labels[i]]
            T.copy(out, Y)

    return main


@T.jit(out_idx=[-1])
def one_hot(M=64, N=64):
    @T.prim_func
    def main(label: T.Tensor((M,), "int32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M // 8, threads=2) as b:
            for i, j in T.Parallel(8, N):
                Y[b * 8 + i, j] = T.if_then_else(label[b * 8 + i] == j, 1.0, 0.0)

    return main


@T.jit(out_idx=[-1])
def neighbours_added(M=64, N=64):
    @T.prim_func
    def main(X: T.Tensor((M, N + 1), "int32"), Y: T.Tensor((M, N), "int32")):
        with T.Kernel(M // 8, threads=2) as b:
            for i, j in T.Parallel(8, N):
                Y[b * 8 + i, j] = X[b * 8 + i, j] + X[b * 8 + i, j + 1]

    return main


S = T.symbolic("S")


@T.jit(out_idx=[-1])
def symbolic_rows(N=64):
    @T.prim_func
    def main(
        X: T.Tensor((S, N), "float32"), idx: T.Tensor((8,), "int32"), Y: T.Tensor((8, N), "float32")
    ):
        with T.Kernel(8, threads=1) as b:
            x = T.alloc_shared((1, N), "float32")
            T.copy(X[idx[b], 0], x)
            T.copy(x, Y[b, 0])

    return main


PLACES, LENGTHS, BEGINS = IndexUse.PLACES, IndexUse.LENGTHS, IndexUse.BEGINS


@pytest.mark.parametrize(
    ("kernel", "sizes", "expected"),
    [
        (rows_taken(), {}, {"idx": IndexValues(499, PLACES)}),
        (rows_taken(factor=4), {}, {"idx": IndexValues(124, PLACES)}),
        (rows_taken(dtype="int8"), {}, {"idx": IndexValues(127, PLACES)}),
        (segments(), {}, {"begins": IndexValues(968, BEGINS)}),
        (chosen(), {},
         {"label": IndexValues(47, PLACES), "first": IndexValues(63, PLACES)}),
        (symbolic_rows(), {"S": 20}, {"idx": IndexValues(19, PLACES)}),
        (one_hot(), {}, {}),
        (neighbours_added(), {}, {}),
    ],
    ids=["rows", "every_fourth", "narrow", "parts", "copied", "symbolic", "data", "added"],
)  # fmt: skip
def test_bounds_keep_accesses_inside(kernel, sizes, expected) -> None:
    assert index_values(kernel.prim_func, sizes) == expected
    with override(check="strict"):
        kernel(*supply_arguments(kernel, {}, sizes))


def test_pages_and_lengths_are_as_large_as_the_tensors() -> None:
    paged = load("developer/paged_attention").paged_attention
    kernel = paged(B=3, H=16, groups=16, D=64, pages=24, page=32, most=8)
    found = index_values(kernel.prim_func, {})
    assert found == {"table": IndexValues(23, PLACES), "lengths": IndexValues(256, LENGTHS)}
    table, lengths = (t for t in supply_arguments(kernel, {}, {}) if t.dtype is torch.int32)
    assert table.min() >= 0 and 16 < table.max() <= 23
    assert 128 <= lengths.min() <= lengths.max() <= 256


def test_parts_cover_everything_in_order() -> None:
    _, begins = supply_arguments(segments(), {}, {})
    assert begins[0] == 0 and begins[-1] == 968 and (begins.diff() >= 0).all()
