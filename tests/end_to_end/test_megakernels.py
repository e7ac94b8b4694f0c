"""Kernels as tasks of one launch: results as of the kernels one by one, at every order of cores."""

from __future__ import annotations

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
