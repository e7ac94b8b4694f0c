"""Language features from Python to the simulator: the interpreter and the expectation agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func

from .kernel_batch import KernelBatch, interpreted


def symbolic_rows() -> Func:
    """Symbolic dimensions, a scalar parameter, launch size from a shape, a ragged last tile."""
    M = T.symbolic("M")

    @T.prim_func
    def k(X: T.Tensor((M, 64), "float32"), s: T.float32, Y: T.Tensor((M, 64), "float32")):
        with T.Kernel(T.ceildiv(M, 16), is_npu=True) as (cid, vid):
            u = T.alloc_ub((8, 64), "float32")
            with T.Scope("V"):
                row = cid * 16 + vid * 8
                T.copy(X[row, 0], u)
                T.barrier_all()
                T.tile.mul(u, u, s)
                T.tile.add(u, u, 1.0)
                T.barrier_all()
                T.copy(u, Y[row, 0])

    return k


def scalar_work() -> Func:
    """alloc_var, while, if, element loads and stores, an immutable let in a loop."""

    @T.prim_func
    def k(X: T.Tensor((16,), "int32"), Y: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((16,), "int32")
            y = T.alloc_ub((16,), "int32")
            total = T.alloc_var("int32", init=0)
            steps = T.alloc_var("int32", init=0)
            with T.Scope("V"):
                T.copy(X[0:16], x)
                T.tile.fill(y, -1)
                T.barrier_all()
                for i in T.serial(n):
                    v = x[i]
                    if v % 2 == 0:
                        total += v
                    elif v > 50:
                        total += 1000
                    else:
                        total = total - 1
                    y[i] = total * 2 + v // 3
                while total > 10:
                    total = total // 2
                    steps += 1
                y[15] = steps
                T.barrier_all()
                T.copy(y, Y[0:16])

    return k


def scalar_operand() -> Func:
    """An element of one buffer scales another, row by row."""

    @T.prim_func
    def k(X: T.Tensor((8, 64), "float16"), S: T.Tensor((16,), "float16"),
          Y: T.Tensor((8, 64), "float16")):  # fmt: skip
        with T.Kernel(1, threads=1, is_npu=True) as (_):
            x = T.alloc_ub((8, 64), "float16")
            s = T.alloc_ub((16,), "float16")
            with T.Scope("V"):
                T.copy(X[0:8, :], x)
                T.copy(S[0:16], s)
                T.barrier_all()
                for i in T.serial(8):
                    T.tile.mul(x[i, :], x[i, :], s[i])
                T.barrier_all()
                T.copy(x, Y[0:8, :])

    return k


def without_scopes() -> Func:
    """A vector kernel without a scope, and a buffer that shares bytes with another."""

    @T.prim_func
    def k(X: T.Tensor((2, 64), "float32"), Y: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((64,), "float32")
            b = T.alloc_ub((64,), "float32")
            T.annotate_address({a: 1024, b: 1024})
            T.copy(X[vid, :], a)
            T.barrier_all()
            T.tile.add(b, b, 2.0)
            T.barrier_all()
            T.copy(b, Y[vid, :])

    return k


def grid_barrier() -> Func:
    """Every block reads what all blocks wrote before the barrier."""

    @T.prim_func
    def k(W: T.Tensor((8, 16), "float32"), Y: T.Tensor((8, 16), "float32")):
        with T.Kernel(4, is_npu=True) as (cid, vid):
            u = T.alloc_ub((16,), "float32")
            total = T.alloc_ub((16,), "float32")
            with T.Scope("V"):
                T.tile.fill(u, T.float32(cid * 2 + vid + 1))
                T.tile.fill(total, 0.0)
                T.barrier_all()
                T.copy(u, W[cid * 2 + vid, :])
                T.sync_all()
                for i in T.serial(8):
                    T.copy(W[i, :], u)
                    T.barrier_all()
                    T.tile.add(total, total, u)
                    T.barrier_all()
                T.copy(total, Y[cid * 2 + vid, :])

    return k


def lanes_and_cores() -> Func:
    """Cube and vector cores pass a tile back and forth; flags in both directions."""

    @T.prim_func
    def k(A: T.Tensor((32, 32), "float16"), W: T.Tensor((32, 32), "float32"),
          Y: T.Tensor((32, 32), "float16")):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_L1((32, 32), "float16")
            c = T.alloc_L0C((32, 32), "float32")
            u = T.alloc_ub((16, 32), "float32")
            h = T.alloc_ub((16, 32), "float16")
            with T.Scope("V"):
                for _ in T.serial(3):
                    T.wait_cross_flag(0)
                    T.copy(W[vid * 16 : vid * 16 + 16, :], u)
                    T.barrier_all()
                    T.copy(u, h)
                    T.pipe_barrier("v")
                    T.tile.relu(h, h)
                    T.barrier_all()
                    T.copy(h, Y[vid * 16, 0])
                    T.barrier_all()
                    T.set_cross_flag("mte3", 1)
            with T.Scope("C"):
                T.copy(A[0:32, :], a)
                for i in T.serial(3):
                    T.gemm_v0(a, a, c, transpose_B=True, init=(i == 0))
                    T.copy(c, W[0:32, 0:32])
                    T.barrier_all()
                    T.set_cross_flag("fix", 0)
                    T.wait_cross_flag(1)

    return k


def persistent_tiles() -> Func:
    """Tiles dealt out to a fixed number of blocks; every tile is visited once."""

    @T.prim_func
    def k(X: T.Tensor((6, 5, 16), "int32"), Y: T.Tensor((6, 5, 16), "int32")):
        with T.Kernel(4, threads=1, is_npu=True) as (cid):
            u = T.alloc_ub((16,), "int32")
            with T.Scope("V"):
                for i, j in T.Persistent([6, 5], 4, cid, group_size=2):
                    T.copy(X[i, j, :], u)
                    T.barrier_all()
                    T.tile.add(u, u, 1)
                    T.barrier_all()
                    T.copy(u, Y[i, j, :])
                    T.barrier_all()

    return k


def relu_on_the_way_out() -> Func:
    @T.prim_func
    def k(A: T.Tensor((16, 32), "float16"), Y: T.Tensor((16, 16), "bfloat16")):
        with T.Kernel(1, is_npu=True) as (cid, _):
            a = T.alloc_L1((16, 32), "float16")
            c = T.alloc_L0C((16, 16), "float32")
            with T.Scope("C"):
                T.copy(A[0:16, :], a)
                T.gemm_v0(a, a, c, transpose_B=True, init=True)
                T.copy(c, Y[0:16, :], enable_relu=True)

    return k


def test_features_agree(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    ints = rng.integers(0, 100, 16).astype(np.int32)
    quarters = (rng.integers(-8, 9, (32, 32)) / 4).astype(np.float16)
    x37 = rng.standard_normal((37, 64)).astype(np.float32)
    h = rng.standard_normal((8, 64)).astype(np.float16)
    s = rng.standard_normal(16).astype(np.float16)
    x2 = rng.standard_normal((2, 64)).astype(np.float32)
    tiles = rng.integers(0, 99, (6, 5, 16)).astype(np.int32)
    thirds = quarters[:16].astype(np.float32)
    sums = (quarters.astype(np.float32) @ quarters.astype(np.float32).T) * 3
    cases: list[tuple[Func, list[Any], int, Any]] = [
        (symbolic_rows(), [x37, 0.5, np.zeros_like(x37)], 2, x37 * np.float32(0.5) + 1),
        (symbolic_rows(), [x37[:1].copy(), -2.0, np.zeros((1, 64), "f4")], 2, x37[:1] * -2 + 1),
        *((scalar_work(), [ints, np.zeros(16, "i4"), n], 1, None) for n in (0, 1, 2, 15)),
        (scalar_operand(), [h, s, np.zeros_like(h)], 2, h * s[:8, None]),
        (without_scopes(), [x2, np.zeros_like(x2)], 1, x2 + 2),
        (grid_barrier(), [np.zeros((8, 16), "f4"), np.zeros((8, 16), "f4")], 1, np.full((8, 16), 36.0)),
        (
            lanes_and_cores(), [quarters, np.zeros((32, 32), "f4"), np.zeros((32, 32), "f2")], 2,
            np.maximum(sums, 0).astype(np.float16),
        ),
        (persistent_tiles(), [tiles, np.zeros_like(tiles)], 1, tiles + 1),
        (relu_on_the_way_out(), [quarters[:16], np.zeros((16, 16), "u2")], 1, None),
    ]  # fmt: skip
    assert thirds.any()
    batch = KernelBatch(tmp_path)
    numbers = [batch.add(func) for func, *_ in cases]
    batch.build()
    for number, (func, arguments, output, want) in zip(numbers, cases, strict=True):
        outcome = batch.run(number, arguments)
        assert outcome.error is None, f"{func.name} {func.loc}: {outcome.error.text}"
        simulated, reference = outcome.arrays[output], interpreted(func, arguments)[output]
        assert np.array_equal(simulated, reference), func.loc
        if want is not None:
            assert np.array_equal(simulated, want.astype(simulated.dtype)), func.loc


def test_scalar_work_is_what_python_says(tmp_path: Path) -> None:
    values = np.arange(40, 56, dtype=np.int32)
    arrays = [values, np.zeros(16, np.int32), 12]
    total, steps, want = 0, 0, np.full(16, -1, np.int32)
    for i, v in enumerate(values[:12].tolist()):
        total = total + v if v % 2 == 0 else total + 1000 if v > 50 else total - 1
        want[i] = total * 2 + v // 3
    while total > 10:
        total, steps = total // 2, steps + 1
    want[15] = steps
    assert np.array_equal(interpreted(scalar_work(), arrays)[1], want)


def test_printing(tmp_path: Path) -> None:
    @T.prim_func
    def k(X: T.Tensor((16,), "int32"), n: T.int32):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            u = T.alloc_ub((16,), "int32")
            with T.Scope("V"):
                T.copy(X[0:16], u)
                T.barrier_all()
                T.printf("block %d lane %d of %d: %d\n", cid, vid, n, u[3])
                if cid + vid == 0:
                    T.dump_tensor(u, 7, 4)

    batch = KernelBatch(tmp_path)
    number = batch.add(k)
    batch.build()
    outcome = batch.run(number, [np.arange(16, dtype=np.int32), 5])
    assert outcome.error is None
    for block in (0, 1):
        for lane in (0, 1):
            assert f"block {block} lane {lane} of 5: 3\n" in outcome.printed
    assert "7" in outcome.printed and "0, 1, 2, 3" in outcome.printed.replace(",  ", ", ")


def test_a_buffer_of_one_element_is_a_number(tmp_path: Path) -> None:
    """Scripts reduce to one element and hand the buffer on as a scalar."""

    @T.prim_func
    def k(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1) as cid:
            a = T.alloc_ub((64,), "float32")
            total = T.alloc_ub([1], "float32")
            with T.Scope("V"):
                T.copy(X, a)
                T.barrier_all()
                T.reduce_sum(a, total, dim=-1)
                T.barrier_all()
                T.tile.fill(a, total)
                T.barrier_all()
                T.copy(a, Y)

    batch = KernelBatch(tmp_path)
    batch.add(k)
    batch.build()
    x = np.arange(64, dtype=np.float32)
    outcome = batch.run(0, [x, np.zeros(64, np.float32)])
    assert outcome.error is None and (outcome.arrays[1] == x.sum()).all()
