"""Tiles added to global memory by many cores: types, tails, slices, results of the cube."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_ir import DTYPES, Func, KernelError
from tile_ir.dtypes import from_bytes, to_bytes

from .flat_op_kernels import STRICT
from .kernel_batch import KernelBatch, interpreted

RNG = np.random.default_rng(3)
TYPES = ("int8", "int16", "float16", "bfloat16", "int32", "float32")


def whole_numbers(shape: tuple[int, ...], dtype: str) -> Any:
    """Sums of these are exact in every type, whatever the order."""
    values = RNG.integers(-3, 4, shape).astype(DTYPES[dtype].compute)
    return to_bytes(values, DTYPES[dtype])


def shared_vector(dtype: str, blocks: int) -> Func:
    """All cores add to the same elements, from a start index."""

    @T.prim_func
    def k(X: T.Tensor((64,), dtype), Y: T.Tensor((64,), dtype)):
        with T.Kernel(blocks, is_npu=True) as (cid, vid):
            u = T.alloc_ub((64,), dtype)
            with T.Scope("V"):
                T.copy(X, u)
                T.barrier_all()
                T.tile.atomic_add(Y[0], u)

    return k


def tail_tile(dtype: str) -> Func:
    """A tile that hangs over both edges; the next block adds to what overlaps."""
    M = T.symbolic("M")
    N = T.symbolic("N")

    @T.prim_func
    def k(X: T.Tensor((16, 64), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, 8), is_npu=True) as (cid, vid):
            u = T.alloc_ub((16, 64), dtype)
            with T.Scope("V"):
                T.copy(X, u)
                T.barrier_all()
                if vid == 0:
                    T.tile.atomic_add(Y[cid * 8, 32], u)

    return k


def slices(dtype: str, n: int) -> Func:
    """Parts on both sides, with extents of run time, and a middle dimension fixed."""

    @T.prim_func
    def k(X: T.Tensor((4, 64), dtype), s: T.int32, Y: T.Tensor((6, 3, 64), dtype)):
        with T.Kernel(2, threads=1, is_npu=True) as (cid):
            u = T.alloc_ub((4, 64), dtype)
            with T.Scope("V"):
                T.copy(X, u)
                T.barrier_all()
                T.tile.atomic_add(Y[1:5, 1, 0:32], u[:, 32:64])
                T.pipe_barrier("mte3")
                T.tile.atomic_add(Y[0, 2, 0:s], u[cid, 0:s])
                T.pipe_barrier("mte3")
                T.tile.atomic_add(dst=Y[5, 0:3, n:64], src=u[0:3, 0 : 64 - n])

    return k


def cube_result(out: str) -> Func:
    """Products of several blocks are added up in gm."""

    @T.prim_func
    def k(A: T.Tensor((32, 64), "float16"), B: T.Tensor((64, 48), "float16"),
          Y: T.Tensor((20, 40), out)):  # fmt: skip
        with T.Kernel(4, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 16), "float16")
            b = T.alloc_L1((16, 48), "float16")
            c = T.alloc_L0C((32, 48), "float32")
            with T.Scope("C"):
                T.copy(A[0, cid * 16], a)
                T.copy(B[cid * 16, 0], b)
                T.barrier_all()
                T.gemm_v0(a, b, c, init=True)
                T.barrier_all()
                T.tile.atomic_add(Y[0, 0], c)

    return k


def kernels() -> list[tuple[Func, list[Any]]]:
    result: list[tuple[Func, list[Any]]] = []
    for dtype in TYPES:
        vector = [whole_numbers((64,), dtype), whole_numbers((64,), dtype)]
        result += [(shared_vector(dtype, 4), vector)]
        for m, n in ((16, 96), (21, 70), (3, 33), (9, 20)):
            given = [whole_numbers((16, 64), dtype), whole_numbers((m, n), dtype)]
            result.append((tail_tile(dtype), given))
        for count in (0, 1, 17, 64):
            given = [whole_numbers((4, 64), dtype), count, whole_numbers((6, 3, 64), dtype)]
            result.append((slices(dtype, 32), given))
    for out in ("float32", "float16", "bfloat16"):
        given = [whole_numbers((32, 64), "float16"), whole_numbers((64, 48), "float16")]
        result.append((cube_result(out), [*given, whole_numbers((20, 40), out)]))
    return result


def test_sums(tmp_path: Path) -> None:
    """Simulator and interpreter leave the same bytes, and nothing is reported."""
    batch = KernelBatch(tmp_path)
    listed = [(batch.add(func), func, given) for func, given in kernels()]
    batch.build()
    wrong = []
    for number, func, given in listed:
        outcome = batch.run(number, given, checks=STRICT)
        if outcome.error is not None:
            wrong.append(f"{func.name} {number}: {outcome.error.kind}: {outcome.error.text}")
        elif outcome.arrays[-1].tobytes() != interpreted(func, given)[-1].tobytes():
            wrong.append(f"{func.name} {number}: differs")
    assert not wrong, "\n".join(wrong)


def test_what_is_added(tmp_path: Path) -> None:
    """NumPy's own words for two of the kernels."""
    batch = KernelBatch(tmp_path)
    batch.add(shared_vector("bfloat16", 3))
    batch.add(cube_result("float32"))
    batch.build()
    kind = DTYPES["bfloat16"]
    x, y = whole_numbers((64,), "bfloat16"), whole_numbers((64,), "bfloat16")
    got = batch.run(0, [x, y], checks=STRICT).arrays[1]
    assert (from_bytes(got, kind) == from_bytes(y, kind) + 6 * from_bytes(x, kind)).all()
    a, b = whole_numbers((32, 64), "float16"), whole_numbers((64, 48), "float16")
    c = whole_numbers((20, 40), "float32")
    got = batch.run(1, [a, b, c], checks=STRICT).arrays[2]
    assert (got == c + (a.astype(np.float32) @ b.astype(np.float32))[:20, :40]).all()


def refuse(source: str, target: str, shape: tuple[int, ...], memory: str = "ub") -> str:
    alloc = T.alloc_ub if memory == "ub" else T.alloc_L0C

    with pytest.raises(KernelError) as caught:

        @T.prim_func
        def k(Y: T.Tensor((16, 64), target)):
            with T.Kernel(1, is_npu=True) as (cid, vid):
                u = alloc(shape, source)
                T.tile.atomic_add(Y[0:16, 0:64], u)

    assert caught.value.loc is not None and caught.value.loc.line > 100
    return caught.value.slug


def test_refused() -> None:
    assert refuse("float32", "float16", (16, 64)) == "dtype-mismatch"
    assert refuse("uint16", "uint16", (16, 64)) == "operand-dtype"
    assert refuse("float32", "float32", (8, 64)) == "shape-mismatch"
    assert refuse("float32", "int32", (16, 64), "l0c") == "dtype-mismatch"
