"""Every loop of the language, from Python to the simulator at strict: trip counts of 0 and 1, bounds
known at run time, and the tiles of T.Persistent visited once each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import running

import tile_frontend as T
from tile_ir import Func

from .kernel_batch import KernelBatch, interpreted

SIZE = 64


def counting(loop: Any, variables: int) -> Func:
    """Counts in Y how often each value of the loop variables (as one number) is met."""
    if variables == 1:

        @T.prim_func
        def one(n: T.int32, Y: T.Tensor((SIZE,), "int32")):
            with T.Kernel(1, threads=1, is_npu=True) as cid:
                u = T.alloc_ub((SIZE,), "int32")
                with T.Scope("V"):
                    T.tile.fill(u, 0)
                    T.barrier_all()
                    for i in loop(n):
                        u[i] += 1
                    T.barrier_all()
                    T.copy(u, Y)

        return one

    @T.prim_func
    def two(n: T.int32, Y: T.Tensor((SIZE,), "int32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            u = T.alloc_ub((SIZE,), "int32")
            with T.Scope("V"):
                T.tile.fill(u, 0)
                T.barrier_all()
                for i, j in loop(n):
                    u[i * 8 + j] += 1
                T.barrier_all()
                T.copy(u, Y)

    return two


def spinning() -> Func:
    """A while loop on a cell, left early from an inner loop."""

    @T.prim_func
    def k(n: T.int32, Y: T.Tensor((SIZE,), "int32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            u = T.alloc_ub((SIZE,), "int32")
            with T.Scope("V"):
                T.tile.fill(u, 0)
                T.barrier_all()
                left = T.alloc_var("int32", init=0)
                left = n
                while left > 0:
                    for i in T.serial(SIZE):
                        if i == left:
                            T.loop_break()
                        u[i] += 1
                    left = left - 1
                T.barrier_all()
                T.copy(u, Y)

    return k


def changing_its_bound() -> Func:
    """A loop that changes the variable its bound was."""

    @T.prim_func
    def k(n: T.int32, Y: T.Tensor((SIZE,), "int32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            u = T.alloc_ub((SIZE,), "int32")
            with T.Scope("V"):
                T.tile.fill(u, 0)
                T.barrier_all()
                bound = T.alloc_var("int32", init=0)
                bound = n
                for i in T.serial(bound):
                    bound = bound + 1
                    if i < SIZE:
                        u[i] += 1
                    if i >= SIZE:
                        T.loop_break()
                T.barrier_all()
                T.copy(u, Y)

    return k


LOOPS = {
    "serial": (counting(lambda n: T.serial(n), 1), lambda n: range(n)),
    "from_to": (counting(lambda n: T.serial(3, n), 1), lambda n: range(3, n)),
    "unroll": (counting(lambda n: T.unroll(n), 1), lambda n: range(n)),
    "grid": (counting(lambda n: T.grid(n, 3), 2), lambda n: [i * 8 + j for i in range(n) for j in range(3)]),
    "parallel": (counting(lambda n: T.Parallel(n), 1), lambda n: range(n)),
    "pipelined": (counting(lambda n: T.Pipelined(n, num_stages=2), 1), lambda n: range(n)),
    "pipelined_from_to": (counting(lambda n: T.Pipelined(1, n, num_stages=3), 1), lambda n: range(1, n)),
    "bound_changes": (changing_its_bound(), lambda n: range(n)),
    "while": (spinning(), lambda n: [i for k in range(1, n + 1) for i in range(k)]),
}  # fmt: skip


def persistent(domain: tuple[int, int], blocks: int, group: int) -> Func:
    """Every block adds one to the tiles it visits."""

    rows, columns = domain

    @T.prim_func
    def k(Y: T.Tensor((rows, columns, 8), "int32")):
        with T.Kernel(blocks, threads=1, is_npu=True) as cid:
            u = T.alloc_ub((8,), "int32")
            with T.Scope("V"):
                for i, j in T.Persistent([rows, columns], blocks, cid, group_size=group):
                    T.copy(Y[i, j, 0:8], u)
                    T.barrier_all()
                    T.tile.add(u, u, 1)
                    T.barrier_all()
                    T.copy(u, Y[i, j, 0:8])
                    T.barrier_all()

    return k


DOMAINS = [
    ((1, 1), 1),
    ((1, 1), 3),
    ((3, 5), 2),
    ((3, 5), 15),
    ((4, 9), 4),
    ((2, 13), 5),
    ((7, 1), 3),
]


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[KernelBatch, dict[Any, int]]:
    """Kernels of the cases that run."""
    batch = KernelBatch(tmp_path_factory.mktemp("loops"))
    names, domains = running(request, "name"), running(request, "domain")
    numbers: dict[Any, int] = {n: batch.add(f) for n, (f, _) in LOOPS.items() if n in names}
    for domain, blocks in (d for d in DOMAINS if d[0] in domains):
        for group in (1, 2, 4, 8):
            numbers[domain, blocks, group] = batch.add(persistent(domain, blocks, group))
    batch.build()
    return batch, numbers


@pytest.mark.parametrize("name", LOOPS)
def test_every_value_is_met_once(name: str, batch: tuple[KernelBatch, dict[Any, int]]) -> None:
    built, numbers = batch
    func, values = LOOPS[name]
    for n in (0, 1, 2, 7):
        want = np.bincount(np.array(list(values(n)), dtype=int), minlength=SIZE).astype(np.int32)
        arguments = [n, np.full(SIZE, -1, np.int32)]
        assert np.array_equal(interpreted(func, arguments)[1], want), n
        outcome = built.run(numbers[name], arguments, checks=2)
        assert outcome.error is None, outcome.error.text
        assert np.array_equal(outcome.arrays[1], want), n


@pytest.mark.parametrize(("domain", "blocks"), DOMAINS)
def test_persistent_visits_every_tile_once(
    domain: tuple[int, int], blocks: int, batch: tuple[KernelBatch, dict[Any, int]]
) -> None:
    built, numbers = batch
    for group in (1, 2, 4, 8):
        arguments = [np.zeros((*domain, 8), np.int32)]
        outcome = built.run(numbers[domain, blocks, group], arguments, checks=2)
        assert outcome.error is None, outcome.error.text
        assert (outcome.arrays[0] == 1).all(), group


def symbolic_tiles() -> Func:
    """Symbolic sizes in shapes, in the launch and in the extents of a parallel loop."""
    M, N = T.symbolic("M"), T.symbolic("N")

    @T.prim_func
    def k(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(M, is_npu=True) as (cid, vid):
            u = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                if vid == 0:
                    for j in T.Parallel(N):
                        u[j] = X[cid, j] * 2.0
                        Y[cid, j] = u[j] + 1.0

    return k


def test_symbolic_sizes(tmp_path: Path) -> None:
    func = symbolic_tiles()
    batch = KernelBatch(tmp_path)
    number = batch.add(func)
    batch.build()
    for rows, columns in ((1, 1), (3, 17), (2, 64)):
        x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
        arguments = [x, np.zeros_like(x)]
        outcome = batch.run(number, arguments, checks=2)
        assert outcome.error is None, outcome.error.text
        assert np.array_equal(outcome.arrays[1], x * 2 + 1)
        assert np.array_equal(interpreted(func, arguments)[1], x * 2 + 1)
