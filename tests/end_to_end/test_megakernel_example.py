"""The decoder block of examples/megakernel: one launch, one binary for every step of a sequence."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from types import ModuleType
from typing import Any

import example_kernels
import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override

pytestmark = pytest.mark.usefixtures("strict")

SCRIPT = example_kernels.EXAMPLES / "megakernel" / "decoder_block.py"
SIZES = {"width": 256, "heads": 4, "keys": 2, "D": 64, "hidden": 384}
# The first token, one tile of keys and one more, a ragged tile, a full batch, a long cache.
STEPS = ((1, 1), (1, 64), (1, 65), (3, 100), (16, 129), (1, 2048))


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("megakernel_block", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["megakernel_block"] = module
    spec.loader.exec_module(module)
    return module


@cache
def compiled(example: Any) -> tuple[Any, Any]:
    """The launch of one layer, and the kernels of which it is one each."""
    kernels = example.Kernels(**SIZES, block_N=64, block_K=64)
    launch = T.compile(example.decoder_block(kernels), out_idx=[-1], pass_configs=example.AUTOMATIC)
    return launch, example.compile_each(kernels)


def close(found: torch.Tensor, expected: torch.Tensor) -> bool:
    return (found - expected).abs().max().item() <= 8e-3 * expected.abs().max().item()


def given(example: Any, batch: int, length: int) -> tuple[torch.Tensor, Any, dict[str, Any]]:
    layer = example.random_layer(batch, length, **SIZES)
    return torch.randn(batch, 256).half(), example.angles_at(length - 1, 64), layer


def test_one_launch_equals_ten_bit_by_bit(example: Any) -> None:
    torch.manual_seed(0)
    launch, each = compiled(example)
    for n, (batch, length) in enumerate(STEPS):
        x, angles, layer = given(example, batch, length)
        caches = {name: layer[name].clone() for name in ("K", "V")}
        separate = example.one_by_one(each, x, angles, {**layer, **caches})
        with override(**({"seed": n} if n < 3 else {"starve": ("aic", "aiv0", "aiv1")[n - 3]})):
            found = launch(x, *angles, *layer.values())
        assert torch.equal(found, separate)
        assert torch.equal(layer["K"], caches["K"]) and torch.equal(layer["V"], caches["V"])
        assert close(found, example.in_torch(x, angles, layer))


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_layers_in_one_launch(example: Any, count: int) -> None:
    torch.manual_seed(0)
    kernels = example.Kernels(**SIZES, block_N=64, block_K=64)
    func = example.decoder_block(kernels, layers=count)
    launch = T.compile(func, out_idx=[-1], pass_configs=example.AUTOMATIC)
    x, angles, _ = given(example, 2, 70)
    layers = [example.random_layer(2, 70, **SIZES) for _ in range(count)]
    found = launch(x, *angles, *(t for layer in layers for t in layer.values()))
    for layer in layers:
        x = example.in_torch(x, angles, layer)
    assert close(found, x)


def test_launch_heads_are_what_is_won(example: Any) -> None:
    """One launch takes less than ten, by no more than their heads and what waits cost."""
    torch.manual_seed(0)
    launch, each = compiled(example)
    with override(time=True):
        x, angles, layer = given(example, 1, 64)
        times = example.Times(each)
        example.one_by_one(times.kernels, x, angles, layer)
        launch(x, *angles, *layer.values())
        whole = launch.timeline()
    assert whole is not None
    total, bodies = times.sums()
    heads = total - bodies
    assert bodies < whole.microseconds < total
    assert whole.microseconds > total - heads
    # Nine waits: 0.3 us to count up, and one look by each core of a block.
    assert whole.body_microseconds < bodies + 9 * 1.0
