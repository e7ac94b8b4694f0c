"""Decoder layers of several ranks in one launch: equal to a launch for each kernel bit by bit, to one
device within the bound of roundings, and proved from the text for any number of layers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import example_kernels
import pytest
import torch

from tile_checkers import prove_ranks
from tile_ir.switches import override
from tile_runtime import Ranks

from .rank_cases import FOLDER, schedules

pytestmark = pytest.mark.filterwarnings("ignore:both vector cores do the same part")

SIZES = {"width": 256, "heads": 8, "keys": 4, "D": 64, "hidden": 512}
TILES = {"block_N": 64, "block_K": 64, "columns": 64}
# Layers, batch and keys: a token, a tile of keys and one more, a full batch, the longest cache.
STEPS = ((1, 1, 1), (2, 3, 65), (3, 16, 33), (1, 1, 2048), (2, 16, 2048), (5, 7, 64))


@cache
def example() -> Any:
    for folder in (example_kernels.EXAMPLES, FOLDER):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    import tensor_parallel_decoder

    return tensor_parallel_decoder


@cache
def model(ranks: int) -> Any:
    return example().Model(ranks, **SIZES, **TILES)


def given(step: tuple[int, int, int]) -> tuple[torch.Tensor, Any, list[dict[str, torch.Tensor]]]:
    torch.manual_seed(0)
    layers, batch, length = step
    x, angles = torch.randn(batch, SIZES["width"]).half(), example().angles_at(length - 1, 64)
    return x, angles, model(2).layers(layers, batch, length)


def one_launch(
    ranks: int, step: tuple[int, int, int], seed: int, delivery: str
) -> tuple[list[torch.Tensor], dict[str, list[torch.Tensor]]]:
    x, angles, layers = given(step)
    own = model(ranks).stacked(layers)
    with override(check="strict", delivery=delivery), Ranks(ranks, seed=seed) as world:
        return model(ranks).in_one_launch(world, x, angles, own), own


def same_as_one_by_one(
    ranks: int, step: tuple[int, int, int], under: Iterable[tuple[int, str]]
) -> None:
    """One launch under each of some schedules."""
    x, angles, layers = given(step)
    again = model(ranks).stacked(layers)
    with Ranks(ranks) as world:
        separate, _ = model(ranks).one_by_one(world, x, angles, again)
    expected = x
    for layer in layers:
        expected = example().in_torch(expected, angles, layer)
    for schedule in under:
        found, own = one_launch(ranks, step, *schedule)
        for mine, other in zip(found, separate, strict=True):
            assert torch.equal(mine, other) and torch.equal(mine, found[0])
        for name in ("K", "V"):
            assert all(map(torch.equal, own[name], again[name]))
        assert (found[0] - expected).abs().max() <= 8e-3 * expected.abs().max()


def test_one_launch_equals_a_launch_for_each() -> None:
    same_as_one_by_one(2, STEPS[1], schedules(6))


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("step", STEPS)
def test_any_step_on_one_binary(ranks: int, step: tuple[int, int, int]) -> None:
    same_as_one_by_one(ranks, step, ((0, "prompt"), (1, "late")))


@pytest.mark.exhaustive
def test_two_ranks_say_what_one_says() -> None:
    """S-43: sums of parts are rounded once more, and no other difference is."""
    (alone,), _ = one_launch(1, STEPS[1], 0, "prompt")
    found, _ = one_launch(2, STEPS[1], 0, "prompt")
    assert (found[0] - alone).abs().max() <= 8e-3 * alone.abs().max()


@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_any_number_of_layers_is_proved(ranks: int) -> None:
    assert prove_ranks(model(ranks).together.lowered, [ranks]).findings == ()


@pytest.mark.exhaustive
def test_one_launch_takes_less_than_many() -> None:
    """By no more than what launches take to begin and to end."""
    x, angles, layers = given(STEPS[0])
    own = model(2).stacked(layers)
    with override(time=True), Ranks(2) as world:
        _, times = model(2).one_by_one(world, x, angles, own)
        model(2).in_one_launch(world, x, angles, own)
        assert world.times is not None, "the launch is timed"
        whole = world.times.whole
    total, bodies = (sum(t) for t in zip(*times, strict=True))
    assert bodies / 2 < whole.microseconds < total
