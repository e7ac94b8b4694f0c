"""Matrix products on the simulator: transposes, types, odd sizes, several k tiles, accumulation."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept

import tile_frontend as T
import tile_ir
from tile_ir import DTYPES, Automatic, Func
from tile_ir.dtypes import from_bytes, to_bytes
from tile_runtime import compile

from .kernel_batch import KernelBatch, interpreted


def gemm(
    M: int, N: int, K: int, BK: int, dtype: str, out: str, ta: bool, tb: bool, tm: int, tn: int
) -> Func:
    accum = "int32" if dtype == "int8" else "float32"
    a_shape, b_shape = ((K, M) if ta else (M, K)), ((N, K) if tb else (K, N))
    a_tile, b_tile = ((BK, tm) if ta else (tm, BK)), ((tn, BK) if tb else (BK, tn))

    @T.prim_func
    def product(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((M, N), out)):
        with T.Kernel(T.ceildiv(M, tm) * T.ceildiv(N, tn), is_npu=True) as (cid, _):
            i = cid // T.ceildiv(N, tn) * tm
            j = cid % T.ceildiv(N, tn) * tn
            a = T.alloc_L1(a_tile, dtype)
            b = T.alloc_L1(b_tile, dtype)
            c = T.alloc_L0C((tm, tn), accum)
            with T.Scope("C"):
                for k in T.serial(T.ceildiv(K, BK)):
                    if ta:
                        T.copy(A[k * BK, i], a)
                    else:
                        T.copy(A[i, k * BK], a)
                    if tb:
                        T.copy(B[j, k * BK], b)
                    else:
                        T.copy(B[k * BK, j], b)
                    T.barrier_all()
                    T.gemm_v0(a, b, c, transpose_A=ta, transpose_B=tb, init=(k == 0))
                    T.barrier_all()
                T.copy(c, C[i, j])

    return product


def numbers(rng: np.random.Generator, shape: tuple[int, int], dtype: str) -> Any:
    if dtype == "int8":
        return rng.integers(-128, 127, shape, dtype=np.int8)
    return to_bytes(rng.integers(-8, 9, shape).astype(np.float32) / 4, DTYPES[dtype])


@pytest.mark.parametrize("automatic", [(), (Automatic.SYNC,)], ids=["own-order", "automatic"])
def test_products_agree(automatic: tuple[Automatic, ...], tmp_path: Path) -> None:
    """Inputs are small multiples of 1/4, so every sum is exact and every order gives the same."""
    rng = np.random.default_rng(0)
    batch, cases = KernelBatch(tmp_path), []
    shapes = [
        (16, 16, 16, 16, 16, 16),
        (64, 48, 96, 64, 64, 32),
        (33, 70, 45, 48, 32, 80),
        (1, 17, 130, 64, 16, 32),
        (130, 64, 300, 256, 144, 64),
    ]
    types = (
        ("float16", "float32"),
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
        ("int8", "int32"),
    )
    matrix = itertools.product(types, (False, True), (False, True), shapes)
    for (dtype, out), ta, tb, (M, N, K, BK, tm, tn) in kept(matrix):
        if dtype in ("float32", "int8") and BK > 64:
            continue
        func = gemm(M, N, K, BK, dtype, out, ta, tb, tm, tn)
        a = numbers(rng, (K, M) if ta else (M, K), dtype)
        b = numbers(rng, (N, K) if tb else (K, N), dtype)
        c = np.zeros((M, N), DTYPES[out].storage)
        label = f"{dtype} to {out} {M}x{N}x{K} by {tm}x{tn}x{BK} ta={ta} tb={tb}"
        number = batch.add(func, automatic)
        cases.append((number, label, func, [a, b, c], (ta, tb)))
    batch.build()
    wrong = []
    for number, label, func, arrays, (ta, tb) in cases:
        outcome = batch.run(number, arrays)
        if outcome.error is not None:
            wrong.append(f"{label}: {outcome.error.kind}: {outcome.error.text}")
            continue
        a, b = (
            from_bytes(x, p.dtype).astype(np.float64)
            for x, p in zip(arrays[:2], func.tensors, strict=False)
        )
        exact = (a.T if ta else a) @ (b.T if tb else b)
        want = to_bytes(exact, func.tensors[2].dtype)
        if not np.array_equal(outcome.arrays[2], want):
            bad = int((outcome.arrays[2] != want).sum())
            wrong.append(f"{label}: simulator differs from NumPy in {bad} of {want.size}")
        if not np.array_equal(interpreted(func, arrays)[2], want):
            wrong.append(f"{label}: interpreter differs from NumPy")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:40])


def test_layout_annotations_keep_the_result(tmp_path: Path) -> None:
    """zN and nZ are both accepted; a splice fills an annotated matrix from two copies."""

    @T.prim_func
    def scores(
        Q: T.Tensor((64, 96), "float16"),
        K: T.Tensor((80, 96), "float16"),
        S: T.Tensor((64, 80), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            q = T.alloc_L1((64, 96), "float16")
            k = T.alloc_L1((80, 96), "float16")
            s = T.alloc_L0C((64, 80), "float32")
            T.annotate_layout({q: T.make_zn_layout(q), k: T.make_nz_layout(k)})
            with T.Scope("C"):
                T.copy(Q[0:64, :], q)
                T.copy(K[0:48, :], k[0:48, :])
                T.copy(K[48:80, :], k[48:80, :])
                T.gemm_v0(q, k, s, transpose_B=True, init=True)
                T.copy(s, S[0:64, 0:80])

    rng = np.random.default_rng(4)
    q, k = numbers(rng, (64, 96), "float16"), numbers(rng, (80, 96), "float16")
    arrays = [q, k, np.zeros((64, 80), np.float32)]
    batch = KernelBatch(tmp_path)
    number = batch.add(scores)
    batch.build()
    outcome = batch.run(number, arrays)
    assert outcome.error is None, outcome.error.text
    want = q.astype(np.float32) @ k.astype(np.float32).T
    assert np.array_equal(outcome.arrays[2], want)
    assert np.array_equal(interpreted(scores, arrays)[2], want)
    assert " layout nz " in tile_ir.print_func(scores)


def product_of_parts(ta: bool, tb: bool) -> Func:
    @T.prim_func
    def parts(
        A: T.Tensor((96, 96), "float16"),
        B: T.Tensor((96, 96), "float16"),
        C: T.Tensor((48, 32), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((2, 96, 96), "float16")
            b = T.alloc_L1((96, 96), "float16")
            c = T.alloc_L0C((64, 48), "float32")
            with T.Scope("C"):
                T.copy(A[0:96, :], a[1, :, :])
                T.copy(B[0:96, :], b)
                if ta:
                    T.gemm_v0(a[1, 32:96, 16:80], b[16:80, 48:96] if not tb else b[48:96, 16:80],
                              c, transpose_A=True, transpose_B=tb, init=True)  # fmt: skip
                else:
                    T.gemm_v0(a[1, 16:80, 32:96], b[16:80, 48:96] if not tb else b[48:96, 16:80],
                              c, transpose_B=tb, init=True)  # fmt: skip
                T.copy(c[16:64, 16:48], C[0:48, :])

    return parts


def test_products_of_parts(tmp_path: Path) -> None:
    """Slots and parts of l1 matrices, all four transposes; parts of the accumulator leave l0c."""
    rng = np.random.default_rng(6)
    batch, cases = KernelBatch(tmp_path), []
    for ta, tb in itertools.product((False, True), repeat=2):
        parts = product_of_parts(ta, tb)
        a, b = numbers(rng, (96, 96), "float16"), numbers(rng, (96, 96), "float16")
        left = a[32:96, 16:80].T if ta else a[16:80, 32:96]
        right = b[48:96, 16:80].T if tb else b[16:80, 48:96]
        want = (left.astype(np.float32) @ right.astype(np.float32))[16:64, 16:48]
        cases.append((batch.add(parts), parts, [a, b, np.zeros((48, 32), np.float32)], want))
    batch.build()
    for number, func, arrays, want in cases:
        outcome = batch.run(number, arrays)
        assert outcome.error is None, outcome.error.text
        assert np.array_equal(outcome.arrays[2], want)
        assert np.array_equal(interpreted(func, arrays)[2], want)


def cleared_then_added(m: int, n: int, slots: int, dtype: str) -> Func:
    """C is zero, plus the product of A and B as often as asked: never, once or more."""
    accum = "int32" if dtype == "int8" else "float32"

    @T.prim_func
    def sums(
        A: T.Tensor((m, 64), dtype),
        B: T.Tensor((64, n), dtype),
        C: T.Tensor((3, m, n), accum),
        times: T.Tensor((3,), "int32"),
    ):
        with T.Kernel(3, is_npu=True) as (cid, _):
            a = T.alloc_L1((m, 64), dtype)
            b = T.alloc_L1((64, n), dtype)
            c = T.alloc_L0C((slots, m, n), accum)
            with T.Scope("C"):
                T.copy(A, a)
                T.copy(B, b)
                T.barrier_all()
                T.gemm_v0(a, b, c[slots - 1, :, :], init=True)
                T.barrier_all()
                for i, j in T.Parallel(m, n):
                    c[slots - 1, i, j] = 0
                for _ in T.serial(times[cid]):
                    T.gemm_v0(a, b, c[slots - 1, :, :])
                    T.barrier_all()
                T.copy(c[slots - 1, :, :], C[cid, :, :])

    return sums


def test_an_accumulator_is_zeroed(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    batch, cases = KernelBatch(tmp_path), []
    forms = ((128, 128, 1), (16, 48, 2), (21, 32, 1), (1, 64, 2))
    types = ("float16", "float32", "int8")
    for dtype, (m, n, slots) in kept(itertools.product(types, forms), least=4):
        func = cleared_then_added(m, n, slots, dtype)
        cases.append((batch.add(func), func, m, n, dtype))
    batch.build()
    for number, func, m, n, dtype in cases:
        a, b = numbers(rng, (m, 64), dtype), numbers(rng, (64, n), dtype)
        times = np.array([0, 1, 3], np.int32)
        out = np.ones((3, m, n), "i4" if dtype == "int8" else "f4")
        outcome = batch.run(number, [a, b, out, times])
        assert outcome.error is None, outcome.error.text
        x, y = (from_bytes(v, DTYPES[dtype]).astype("f8") for v in (a, b))
        want = times[:, None, None] * (x @ y)
        assert np.array_equal(outcome.arrays[2], want), (m, n, dtype)
        assert np.array_equal(interpreted(func, [a, b, out, times])[2], want)


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize(("m", "n"), [(40, 1), (1, 20), (1, 1)])
def test_a_column_is_a_matrix_whose_rows_begin_fractals(m: int, n: int) -> None:
    """Not one run of elements, as in gm."""

    @T.prim_func
    def product(A: T.Tensor((m, 64), "float16"), B: T.Tensor((64, n), "float16"),
                C: T.Tensor((m, n), "float32")):  # fmt: skip
        with T.Kernel(1, threads=2, is_npu=True) as cid:
            a, b = T.alloc_shared((m, 64), "float16"), T.alloc_shared((64, n), "float16")
            c = T.alloc_fragment((m, n), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C)

    a, b = (torch.randint(-4, 5, shape).half() for shape in ((m, 64), (64, n)))
    automatic = {"tl.ascend_auto_sync": True}
    got = compile(product, out_idx=[2], pass_configs=automatic)(a, b)
    assert torch.equal(got, a.float() @ b.float())
