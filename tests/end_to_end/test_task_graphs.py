"""Generated graphs of tasks whose tiles do not match: one launch equals a launch for each, bit by
bit, and every wait is needed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from kept_cases import kept_number

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from end_to_end.test_task_edges import edges_of, noticed
from tile_ir.switches import override

pytestmark = pytest.mark.usefixtures("strict")

F32 = "float32"
ROWS, WIDTH = 96, 64
TILES = (4, 6, 8, 12, 16, 24, 32, 48)
ORDERS: list[dict[str, Any]] = [{}, {"seed": 3}, {"starve": "aic"}, {"starve": "aiv0"}]


def rolled(rows: int, width: int, by: int, tile: int) -> T.PrimFunc:
    """Y = X with tiles of rows moved by so many, around the end."""
    count = rows // tile

    @T.prim_func
    def roll(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(count, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            T.copy(X[(cid + by) % count * tile, 0], a)
            T.copy(a, Y[cid * tile, 0])

    return roll


def squares(rows: int, width: int, tile: int, wide: int) -> T.PrimFunc:
    """Y = X * X, a block for each tile of rows and columns."""
    across = width // wide

    @T.prim_func
    def square(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(rows // tile * across, threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, wide), F32)
            T.copy(X[cid // across * tile, cid % across * wide], a)
            for i, j in T.Parallel(tile, wide):
                a[i, j] = a[i, j] * a[i, j]
            T.copy(a, Y[cid // across * tile, cid % across * wide])

    return square


def centred(rows: int, width: int, tile: int) -> T.PrimFunc:
    """Y = X - mean of its row."""

    @T.prim_func
    def centre(X: T.Tensor((rows, width), F32), Y: T.Tensor((rows, width), F32)):
        with T.Kernel(T.ceildiv(rows, tile), threads=2, is_npu=True) as cid:
            a = T.alloc_shared((tile, width), F32)
            total = T.alloc_shared((tile,), F32)
            T.copy(X[cid * tile, 0], a)
            T.reduce_sum(a, total, dim=-1)
            for i, j in T.Parallel(tile, width):
                a[i, j] = a[i, j] - total[i] * (1.0 / width)
            T.copy(a, Y[cid * tile, 0])

    return centre


@dataclass
class Graph:
    """Tasks, and the same kernels one by one: what each reads and makes."""

    chance: random.Random
    calls: list[Any] = field(default_factory=list)
    steps: list[tuple[T.PrimFunc, Sequence[str], str]] = field(default_factory=list)
    known: list[str] = field(default_factory=lambda: ["x", "z"])
    made: dict[T.PrimFunc, Any] = field(default_factory=dict)

    def add(self, kernel: T.PrimFunc, sources: Sequence[str], result: str) -> None:
        self.calls.append(T.Task(kernel)(*sources, result))
        self.steps.append((kernel, sources, result))

    def grow(self, number: int) -> None:
        chance = self.chance
        source, other = chance.choice(self.known[-4:]), chance.choice(self.known[-4:])
        tile, old = chance.choice(TILES), chance.choice(self.known)
        again = chance.random() < 0.25 and old not in ("x", "z", source, other)
        result = old if again else f"t{number}"
        self.known += [] if again else [result]
        match chance.choice(["add", "reverse", "roll", "square", "centre", "product"]):
            case "add":
                self.add(kernels.added(ROWS, WIDTH, tile), [source, other], result)
            case "reverse":
                self.add(kernels.reversed_rows(ROWS, WIDTH, tile), [source], result)
            case "roll":
                self.add(rolled(ROWS, WIDTH, chance.choice([1, 2]), tile), [source], result)
            case "square":
                wide = chance.choice([16, 32])
                self.add(squares(ROWS, WIDTH, max(8, tile), wide), [source], result)
            case "centre":
                self.add(centred(ROWS, WIDTH, chance.choice([5, 7, 20, 40])), [source], result)
            case "product":
                self.add(kernels.normed(ROWS, WIDTH, tile), [source], f"n{number}")
                gemm = kernels.product(ROWS, WIDTH, WIDTH, chance.choice([16, 32]))
                self.add(gemm, [f"n{number}", "w"], result)

    @property
    def outputs(self) -> list[str]:
        return list(dict.fromkeys(s[2] for s in self.steps if not s[2].startswith("n")))[-3:]

    def launch(self) -> T.PrimFunc:
        read = {s for _, sources, _ in self.steps for s in sources}
        inputs = [n for n in ("x", "z", "w") if n in read]
        return T.megakernel(self.calls, inputs=inputs, outputs=self.outputs)

    def one_by_one(self, values: dict[str, torch.Tensor]) -> None:
        for kernel, sources, result in self.steps:
            values[result] = T.compile(kernel, out_idx=[-1])(*(values[s] for s in sources))


def graph(seed: int, count: int) -> Graph:
    made = Graph(random.Random(seed))
    made.add(kernels.added(ROWS, WIDTH, 8), ["x", "z"], "t")
    made.known.append("t")
    for number in range(count):
        made.grow(number)
    return made


def inputs(func: T.PrimFunc) -> list[torch.Tensor]:
    made = {"w": torch.randn(WIDTH, WIDTH).half() / 8}
    names = [p.name for p in func.params if p.name in ("x", "z", "w")]
    return [made.get(name, torch.randn(ROWS, WIDTH)) for name in names]


@pytest.mark.parametrize("seed", range(kept_number(12)))
def test_one_launch_equals_a_launch_for_each(seed: int) -> None:
    made = graph(seed, 6)
    func = made.launch()
    kernel = T.compile(func, out_idx=list(range(-len(made.outputs), 0)))
    given = inputs(func)
    values = dict(zip([p.name for p in func.params], given, strict=False))
    made.one_by_one(values)
    for order in ORDERS:
        with override(**order):
            found = kernel(*given)
        each = [found] if len(made.outputs) == 1 else found
        for name, tensor in zip(made.outputs, each, strict=True):
            assert torch.equal(tensor, values[name]), name


@pytest.mark.parametrize("seed", range(kept_number(6)))
def test_every_wait_is_needed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    func = graph(50 + seed, 4).launch()

    def arguments() -> list[torch.Tensor]:
        made = len([p for p in func.params if isinstance(p, tile_ir.Buffer)])
        given = inputs(func)
        return [*given, *(torch.empty(ROWS, WIDTH) for _ in range(made - len(given)))]

    edges = edges_of(func, monkeypatch)
    assert [e for e in edges if not noticed(func, e, arguments, monkeypatch)] == []
