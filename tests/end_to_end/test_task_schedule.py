"""The order of tasks and the blocks that do them: longest path first, beside each other where
nothing orders them, and on the blocks that made their inputs."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from tile_ir.switches import override
from tile_passes import run_pipeline
from tile_passes.tasks.schedule import TaskOrder, block_cycles, planned
from tile_passes.tasks.split import tasks_of
from tile_runtime import task_times

pytestmark = pytest.mark.usefixtures("strict")

F32 = "float32"


def repeated(rows: int, width: int, times: int, tile: int = 8) -> T.PrimFunc:
    """Y = X + 1, so many times: tasks of any cost."""

    @T.prim_func
    def repeat(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(rows // tile, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[cid * tile, 0], a)
            for _ in T.serial(times):
                for i, j in T.Parallel(tile, width):
                    a[i, j] = a[i, j] + 1.0
            T.copy(a, Y[cid * tile, 0])

    return repeat


def repeat(times: int, name: str) -> Any:
    return T.Task(repeated(64, 64, times), name=name)


def plan_of(func: T.PrimFunc) -> tuple[list[str], TaskOrder]:
    tasks = [run_pipeline(task, tile_ir.DEFAULT_TARGET).func for task in tasks_of(func)]
    plan = planned(tasks, tile_ir.DEFAULT_TARGET)
    return [tasks[n].name for n in plan.order], plan


def test_the_cost_of_a_block_grows_with_its_work() -> None:
    cycles = [
        block_cycles(
            run_pipeline(repeated(64, 64, n), tile_ir.DEFAULT_TARGET).func, tile_ir.DEFAULT_TARGET
        )
        for n in (1, 100, 1000)
    ]
    assert cycles[0] < cycles[1] < cycles[2] and cycles[2] > 5 * cycles[1]


def test_the_longest_path_comes_first() -> None:
    """`long` is last in the list; `short` has much behind it; `lone` nothing."""
    func = T.megakernel(
        [
            repeat(50, "lone")("x", "a"), repeat(50, "short")("x", "b"),
            repeat(1000, "behind")("b", "c"), repeat(3000, "long")("x", "d"),
        ]
    )  # fmt: skip
    names, _ = plan_of(func)
    assert names == ["long", "short", "behind", "lone"]
    kernel = T.compile(func, out_idx=[1, 2, 3])
    source = kernel.get_kernel_source()
    assert sorted(names, key=lambda n: source.index(f"// task {n}\n")) == names
    x = torch.randn(64, 64)
    for found, times in zip(kernel(x), (50, 1050, 3000), strict=True):
        torch.testing.assert_close(found, x + times)


def chains(count: int) -> T.PrimFunc:
    """So many chains of two that share their input only."""
    calls = []
    for n in range(count):
        calls += [
            repeat(400, f"first_{n}")("x", f"h{n}"),
            repeat(400, f"second_{n}")(f"h{n}", f"y{n}"),
        ]
    return T.megakernel(calls, outputs=[f"y{n}" for n in range(count)])


def test_independent_chains_run_beside_each_other() -> None:
    names, plan = plan_of(chains(3))
    assert plan.blocks == 24
    firsts = dict(zip(names, plan.firsts, strict=True))
    assert sorted(firsts[f"first_{n}"] for n in range(3)) == [0, 8, 16]
    # Rows stay where they are, and nothing waits.
    assert all(firsts[f"first_{n}"] == firsts[f"second_{n}"] for n in range(3))
    taken = {}
    for count in (1, 3):
        with override(time=True):
            kernel = T.compile(chains(count), out_idx=list(range(-count, 0)))
            x = torch.randn(64, 64)
            found = kernel(x)
            for y in [found] if count == 1 else found:
                torch.testing.assert_close(y, x + 800)
            line = kernel.timeline()
        assert line is not None and "fresh_word" not in kernel.get_kernel_source()
        assert len(task_times(line, kernel.get_kernel_source())) == 2 * count
        taken[count] = line.body_microseconds
    assert taken[3] < 1.2 * taken[1]


def test_a_chain_has_no_more_blocks_than_its_widest_task() -> None:
    back = T.Task(kernels.reversed_rows(64, 64))
    _, plan = plan_of(T.megakernel([back("x", "h"), back("h", "y")]))
    assert plan == TaskOrder((0, 1), (0, 0), 8)


@pytest.mark.parametrize("seed", range(4))
def test_fifty_tasks_of_any_cost(seed: int) -> None:
    """Random graphs: the order is one that their edges allow, and results are those of the list."""
    chance = random.Random(seed)
    calls: list[Any] = []
    steps: list[tuple[tuple[str, ...], str, int]] = []
    known = ["x"]
    for n in range(50):
        sources = [chance.choice(known[-8:]) for _ in range(chance.choice([1, 1, 2]))]
        old = chance.choice(known)
        again = chance.random() < 0.2 and old != "x" and old not in sources
        result = old if again else f"t{n}"
        known += [] if again else [result]
        rows, tile = 64, chance.choice([4, 8, 16, 32])
        if len(sources) == 2:
            calls.append(T.Task(kernels.added(rows, 64, tile))(*sources, result))
            steps.append((tuple(sources), result, 0))
        else:
            times = chance.choice([1, 5, 50, 300])
            calls.append(T.Task(repeated(rows, 64, times, tile))(*sources, result))
            steps.append((tuple(sources), result, times))
    made = list(dict.fromkeys(result for _, result, _ in steps))
    func = T.megakernel(calls, inputs=["x"], outputs=made[-4:])
    kernel = T.compile(func, out_idx=[-4, -3, -2, -1])
    for order in ({}, {"seed": seed}, {"starve": "aiv0"}):
        # Sums of whole numbers are exact.
        values = {"x": torch.randint(-2, 3, (64, 64)).float()}
        for sources_, result, times in steps:
            added = sum((values[s] for s in sources_), torch.zeros(64, 64))
            values[result] = added + times
        with override(**order):
            found = kernel(values["x"])
        for name, tensor in zip(made[-4:], found, strict=True):
            assert torch.equal(tensor, values[name]), name
