"""Kernels as tasks of one launch: results as of the kernels one by one, at every order of cores."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
import torch

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from tile_ir.switches import override

pytestmark = pytest.mark.usefixtures("strict")

ORDERS = [{}, {"seed": 1}, {"seed": 2}, {"starve": "aic"}, {"starve": "aiv0"}, {"starve": "aiv1"}]


def elementwise(rows: int = 320) -> T.PrimFunc:
    scale, back = T.Task(kernels.scaled(rows, 64, 2.0)), T.Task(kernels.reversed_rows(rows, 64))
    add = T.Task(kernels.added(rows, 64))
    return T.megakernel([scale("x", "h"), back("h", "g"), scale("g", "f"), add("x", "f", "y")])


def test_chain_and_fan_in() -> None:
    kernel = T.compile(elementwise(), out_idx=[-1])
    for order in ORDERS:
        x = torch.randn(320, 64)
        back = (x * 2 + 1).view(40, 8, 64).flip(0).reshape(320, 64)
        with override(**order):
            torch.testing.assert_close(kernel(x), x + (back * 2 + 1))


def layers() -> T.PrimFunc:
    norm = T.Task(kernels.normed(64, 128))
    gemm = T.Task(kernels.product(64, 96, 128))
    relu = T.Task(kernels.activated_product(64, 96, 128))
    add = T.Task(kernels.added(64, 96))
    return T.megakernel(
        [norm("x", "n"), gemm("n", "w", "p"), relu("n", "v", "q"), add("p", "q", "y")]
    )


def test_norm_products_and_sum() -> None:
    kernel = T.compile(layers(), out_idx=[-1])
    one_by_one = [
        T.compile(k, out_idx=[-1])
        for k in (
            kernels.normed(64, 128), kernels.product(64, 96, 128),
            kernels.activated_product(64, 96, 128), kernels.added(64, 96),
        )
    ]  # fmt: skip
    norm, gemm, relu, add = one_by_one
    for order in ORDERS:
        x, w, v = torch.randn(64, 128), torch.randn(128, 96).half(), torch.randn(128, 96).half()
        n = norm(x)
        with override(**order):
            found = kernel(x, w, v)
        assert torch.equal(found, add(gemm(n, w), relu(n, v)))


def test_text_round_trip_and_interpreter() -> None:
    import numpy as np

    func = elementwise(32)
    tile_ir.verify(func)
    text = tile_ir.print_func(func)
    assert tile_ir.print_func(tile_ir.parse(text, "x")) == text
    x = np.random.default_rng(0).standard_normal((32, 64)).astype(np.float32)
    y = np.zeros_like(x)
    tile_ir.interpret(func, [x, y], in_text_order=True)
    back = (x * 2 + 1).reshape(4, 8, 64)[::-1].reshape(32, 64)
    np.testing.assert_allclose(y, x + (back * 2 + 1), rtol=1e-6)


def random_tasks(seed: int, count: int, rows: int = 64) -> tuple[T.PrimFunc, list[Any]]:
    """A graph of small tasks, and what each does: a function and the names it reads and writes.
    Tensors are written again at times, so that later writers wait for earlier readers."""
    chance = random.Random(seed)
    tile = chance.choice([8, 16, 32])
    scale, back = kernels.scaled(rows, 64, 0.5, tile), kernels.reversed_rows(rows, 64, tile)
    add = kernels.added(rows, 64, chance.choice([8, 16]))
    calls = [T.Task(add)("x", "z", "t")]
    steps: list[Any] = [(torch.add, ("x", "z"), "t")]
    known = ["x", "z", "t"]
    for n in range(count):
        kind, source = chance.choice(["scale", "back", "add"]), chance.choice(known[-6:])
        other, old = chance.choice(known[-6:]), chance.choice(known)
        again = chance.random() < 0.25 and old not in ("x", "z", source, other)
        result = old if again else f"t{n}"
        known += [] if again else [result]
        if kind == "add":
            calls.append(T.Task(add)(source, other, result))
            steps.append((lambda a, b: a + b, (source, other), result))
        elif kind == "scale":
            calls.append(T.Task(scale)(source, result))
            steps.append((lambda a: a * 0.5 + 1, (source,), result))
        else:
            calls.append(T.Task(back)(source, result))
            flip = partial(_flipped, tile=tile)
            steps.append((flip, (source,), result))
    made = list(dict.fromkeys(step[2] for step in steps))
    return T.megakernel(calls, inputs=["x", "z"], outputs=made[-3:]), steps


def _flipped(a: torch.Tensor, tile: int) -> torch.Tensor:
    return a.view(-1, tile, 64).flip(0).reshape(a.shape)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    func, steps = random_tasks(seed, 12)
    outputs = [p.name for p in func.params][2:]
    kernel = T.compile(func, out_idx=[-3, -2, -1])
    for order in ORDERS:
        values = {"x": torch.randn(64, 64), "z": torch.randn(64, 64)}
        x, z = values["x"], values["z"]
        for compute, sources, result in steps:
            values[result] = compute(*(values[s] for s in sources))
        with override(**order):
            found = kernel(x, z)
        for name, tensor in zip(outputs, found, strict=True):
            torch.testing.assert_close(tensor, values[name])
