"""Products of matrices dealt out to a square of devices: Cannon's way and SUMMA."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tile_checkers import check_ranks
from tile_ir import DEFAULT_TARGET
from tile_passes import PassOptions, run_pipeline

from .broken_examples import BrokenExample
from .rank_cases import (
    ORDERED,
    STEP,
    OfRank,
    RankCase,
    fault,
    load,
    schedules,
    simulate,
    space,
    words,
    zeros,
)

BLOCKS = 2
WAYS = ("cannon", "summa")
SIZES = ((37, 50, 21), (32, 64, 48))


def _case(way: str, mesh: int, size: int) -> RankCase:
    m, n, k = SIZES[size]
    draw = np.random.default_rng(mesh)
    a = draw.integers(-4, 5, (mesh * m, mesh * k)).astype(np.float16)
    b = draw.integers(-4, 5, (mesh * k, mesh * n)).astype(np.float16)
    ranks, half = mesh * mesh, np.float16
    arguments = (
        OfRank(_blocks(a, mesh)), OfRank(_blocks(b, mesh)),
        zeros(ranks, 2, m, k, dtype=half), zeros(ranks, 2, k, n, dtype=half),
        words(ranks, 2 * mesh), words(ranks, 2 * mesh), space(ranks, m, n), STEP,
    )  # fmt: skip
    product = _blocks(a.astype(np.float32) @ b.astype(np.float32), mesh)
    parameters = (mesh, m, n, k, BLOCKS)
    return RankCase("mesh_products", way, parameters, ranks, arguments, {6: product})


def _blocks(matrix: np.ndarray, mesh: int) -> np.ndarray:
    """The blocks of a matrix, stacked by rank."""
    return np.stack([b for rows in np.split(matrix, mesh) for b in np.split(rows, mesh, 1)])


def _as_expected(way: str, mesh: int, size: int, folder: Path) -> None:
    case = _case(way, mesh, size)
    kernel = case.kernel(load(case.script, folder))
    for seed, delivery in schedules():
        case.check(simulate(case, kernel, seed, delivery))


@pytest.mark.whole
@pytest.mark.parametrize("way", WAYS)
def test_four_devices_at_strict(way: str, tmp_path: Path) -> None:
    _as_expected(way, 2, 0, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("mesh", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_any_square_of_devices(way: str, mesh: int, size: int, tmp_path: Path) -> None:
    _as_expected(way, mesh, size, tmp_path)


# Words of two turns or two senders in one: who is a turn ahead is taken for who is behind.
BROKEN = {
    "cannon_no_credit": BrokenExample(
        "cannon", "race", (("                    if t > 0:\n", "                    if t > mesh:\n"),)
    ),
    "cannon_one_word_of_credit": BrokenExample(
        "cannon", "race", (
            ("used[t - 1], step * blocks", "used[0], ((step - 1) * mesh + t) * blocks"),
            ("used[t], 1, right", "used[0], 1, right"),
            ("if t < mesh - 2:", "if t < mesh:"),
        ),
    ),
    "cannon_no_quiet": BrokenExample("cannon", "unquiet-signal", (("    T.quiet()\n", ""),)),
    "cannon_one_place": BrokenExample("cannon", "race", (("(t + 1) % 2", "t % 2"),)),
    "summa_one_word": BrokenExample(
        "summa", "race", (
            ("arrived[t - 1], step * blocks", "arrived[0], ((step - 1) * mesh + t) * blocks"),
            ("arrived[t], to", "arrived[0], to"),
        ),
    ),
    "summa_no_credit": BrokenExample("summa", "race", (("if t > 1:", "if t > mesh:"),)),
    "summa_credit_of_one": BrokenExample("summa", "race", (("step * mesh * blocks", "step * blocks"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_told_in_every_schedule(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]
    case = _case(broken.example, 3, 1)
    kernel = case.kernel(load(case.script, tmp_path, *broken.edits))
    for schedule in schedules(12):
        error = fault(case, kernel, *schedule, calls=1)
        assert error is not None and error.slug == broken.slug, (schedule, error)


def _found_in_text(case: RankCase, script: ModuleType) -> set[str]:
    final = run_pipeline(case.func(script), DEFAULT_TARGET, PassOptions(automatic=ORDERED)).func
    return {d.slug for d in check_ranks(final, [case.ranks])}


@pytest.mark.parametrize("way", WAYS)
def test_the_order_is_proved_from_the_text(way: str, tmp_path: Path) -> None:
    for mesh in (1, 2):
        case = _case(way, mesh, 0)
        assert not _found_in_text(case, load(case.script, tmp_path))


# Which additions a wait sees is not told by the text.
LEFT_TO_THE_SIMULATOR = ("cannon_one_word_of_credit", "summa_credit_of_one")


@pytest.mark.parametrize("name", BROKEN)
def test_the_text_shows_a_mistake(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]
    case = _case(broken.example, 3, 1)
    slug = "sync-unproved" if name in LEFT_TO_THE_SIMULATOR else broken.slug
    assert slug in _found_in_text(case, load(case.script, tmp_path, *broken.edits))
