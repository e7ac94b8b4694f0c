"""Places of temporaries that a task reads and no task writes: found in the text, without a run."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from end_to_end.test_megakernels import refused
from tile_passes import run_pipeline

pytestmark = pytest.mark.usefixtures("strict")

F32 = "float32"
ROWS, WIDTH = 32, 64


def part(first: int, rows: int, left: int = 0, width: int = WIDTH, tile: int = 4) -> T.Task:
    """Y = X + 1 in some rows and columns."""

    @T.prim_func
    def fill_part(X: T.Tensor((ROWS, WIDTH), F32), Y: T.Tensor((ROWS, WIDTH), F32)):
        with T.Kernel(rows // tile, threads=2) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[first + cid * tile, left], a)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] + 1.0
            T.copy(a, Y[first + cid * tile, left])

    return T.Task(fill_part)


def checked(*calls: Any, **more: Any) -> T.PrimFunc:
    """The kernel, which goes through all passes."""
    func = T.megakernel(calls, inputs=["x"], outputs=["y"], **more)
    run_pipeline(func, tile_ir.DEFAULT_TARGET)
    return func


WHOLE = part(0, ROWS)
HOLES = [
    ([part(0, 28)], "h[28:32, 0:64]"),
    ([part(4, 28)], "h[0:4, 0:64]"),
    ([part(0, 16), part(20, 12)], "h[16:20, 0:64]"),
    ([part(0, 32, 0, 32)], "h[0:4, 32:64]"),
    ([part(0, 32, 0, 24), part(0, 32, 32, 32)], "h[0:4, 24:32]"),
    ([part(0, 16), part(16, 16, 8, 56)], "h[16:20, 0:8]"),
]


@pytest.mark.parametrize(("writers", "where"), HOLES)
def test_parts_that_no_task_writes(writers: list[T.Task], where: str) -> None:
    with refused("task-region") as error:
        checked(*(task("x", "h") for task in writers), WHOLE("h", "y"))
    first, _, columns = where[2:-1].partition(", ")
    assert "`fill_part_" in str(error.value) and columns in str(error.value)
    assert error.value.loc.file.endswith("test_task_regions.py")
    low, high = map(int, first.split(":"))
    found = str(error.value).split("reads h[")[1].split(",")[0]
    assert all(low <= int(n) <= high for n in found.split(":"))


@pytest.mark.parametrize(
    "writers",
    [
        [part(0, 16), part(16, 16)], [part(16, 16), part(0, 16)],
        [part(0, 32, 0, 32), part(0, 32, 32, 32)], [part(0, 32, 0, 64, 8)],
        [part(0, 20), part(12, 20)],
    ],
)  # fmt: skip
def test_parts_of_several_tasks_are_enough(writers: list[T.Task]) -> None:
    checked(*(task("x", "h") for task in writers), WHOLE("h", "y"))


def test_tasks_that_read_only_the_rows_that_are_there() -> None:
    kernel = T.compile(checked(part(0, 28)("x", "h"), part(0, 28)("h", "g"), part(4, 24)("g", "y")))
    x, y = torch.randn(ROWS, WIDTH), torch.zeros(ROWS, WIDTH)
    kernel(x, y)
    torch.testing.assert_close(y[4:28], x[4:28] + 3)


def test_a_temporary_of_later_tasks_does_not_count() -> None:
    """The task reads what only a task behind it writes; memory is shared, or not."""
    for buffers in ("planned", "apart"):
        with refused("task-region"):
            checked(
                part(0, 16)("x", "h"), WHOLE("h", "g"), part(16, 16)("g", "h"), WHOLE("h", "y"),
                buffers=buffers,
            )  # fmt: skip


def chosen(first: int) -> T.Task:
    """Y = X in the rows behind the one that an element says."""

    @T.prim_func
    def choose(
        X: T.Tensor((ROWS, WIDTH), F32), at: T.Tensor((8,), "int32"),
        Y: T.Tensor((ROWS, WIDTH), F32),
    ):  # fmt: skip
        with T.Kernel(1, threads=1):
            a = T.alloc_shared((8, WIDTH), F32)
            for n in T.serial(at[first]):
                T.copy(X[n * 8, 0], a)
                T.copy(a, Y[n * 8, 0])

    return T.Task(choose)


def test_places_that_data_decide_are_left_to_the_run() -> None:
    func = T.megakernel(
        [chosen(0)("x", "at", "h"), chosen(1)("h", "at", "y")], inputs=["x", "at", "y"],
        outputs=["y"],
    )  # fmt: skip
    kernel = T.compile(func)
    x, y = torch.randn(ROWS, WIDTH), torch.zeros(ROWS, WIDTH)
    kernel(x, torch.tensor([3, 2] + [0] * 6, dtype=torch.int32), y)
    torch.testing.assert_close(y[:16], x[:16])


def test_sizes_of_calls_are_left_to_the_run() -> None:
    shift = T.Task(kernels.shifted(64))
    checked(shift("x", 2, "h"), shift("h", 1, "y"))


def test_tasks_in_turns() -> None:
    checked(WHOLE("x", "h"), WHOLE("h", "y"), turns=3)
    with refused("task-region"):
        checked(part(0, 28)("x", "h"), WHOLE("h", "y"), turns=3)
