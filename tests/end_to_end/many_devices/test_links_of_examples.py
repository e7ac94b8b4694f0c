"""What the examples of many devices move over links, and what faster links do to their time.

S-23: the bytes of every link are those of the algorithm. S-27: faster links never slow an example,
and what is left with links that take no time is what the launch takes without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kept_cases import kept

import tile_runtime.ranks.simulated as simulated
from tile_ir.costs.links import TOPOLOGIES, LinkTable
from tile_ir.switches import override
from tile_runtime import Ranks
from tile_runtime.simulator.rank_times import RankTimes

from .example_cases import EXAMPLES, case_of
from .rank_cases import STEP, OfRank, OfRanks, RankCase, load, tensors

# Bytes from a rank to another one.
Pair = tuple[int, int]
Formula = Callable[[RankCase, int, int], int]


def timed(case: RankCase, kernel: Any, table: LinkTable, monkeypatch: Any) -> RankTimes:
    monkeypatch.setitem(simulated.TOPOLOGIES, "tried", table)
    with override(check="off", time=True), Ranks(case.ranks, topology="tried") as world:
        given = [tensors(world, a) for a in case.arguments]
        world.launch(kernel, *(1 if a is STEP else a for a in given))
        assert world.times is not None, "the launch is timed"
        return world.times


def _values(case: RankCase, number: int) -> np.ndarray:
    argument = case.arguments[number]
    assert isinstance(argument, (OfRank, OfRanks)), "the argument is a tensor"
    return argument.values


def _row(case: RankCase, times: int = 1) -> int:
    """Bytes of the argument `x` of a rank, or of one of its rows."""
    return 4 * int(_values(case, 0).shape[-1]) * times


def _to_all(times: int) -> Formula:
    return lambda case, i, j: _row(case, times)


def _to_the_right(case: RankCase, i: int, j: int) -> bool:
    return j == (i + 1) % case.ranks


def _around(times: Callable[[RankCase], int]) -> Formula:
    return lambda case, i, j: times(case) if _to_the_right(case, i, j) else 0


def _rows(case: RankCase, i: int, j: int) -> int:
    counts = _values(case, 1)
    return int(counts[i, j]) * _row(case)


def _from_root(case: RankCase, i: int, j: int) -> int:
    return _row(case) if i == case.arguments[-1] else 0


def _slices(case: RankCase, i: int, j: int) -> int:
    """Rows of the left operand, in float16."""
    _, m, _, k, *_ = case.parameters
    return 2 * m * k


def _sums(case: RankCase, i: int, j: int) -> int:
    """Rows of rank j, in the type of the slots."""
    _, m, n, *_ = case.parameters
    return _values(case, 2).itemsize * m * n


def _tiles(case: RankCase, i: int, j: int) -> int:
    """What rank i adds to the tiles of j, in the type of the slots, and its own, in float16."""
    ranks, m, n, _, rows, columns, _, blocks = case.parameters
    part = _values(case, 2).itemsize
    sizes = [
        min(rows, m - y) * min(columns, n - x)
        for y in range(0, m, rows)
        for x in range(0, n, columns)
    ]
    return sum(
        size * (part * (owner == j) + 2 * (owner == i))
        for owner, size in ((t % blocks % ranks, size) for t, size in enumerate(sizes))
    )


def _forward(case: RankCase, i: int, j: int) -> int:
    """All batches, to the next stage."""
    return _values(case, 0)[0].nbytes if j == i + 1 else 0


def _edges(case: RankCase, i: int, j: int) -> int:
    _, width, iterations = case.parameters
    return 4 * width * iterations if abs(i - j) == 1 else 0


def _tokens(case: RankCase, i: int, j: int) -> int:
    """Tokens to experts and back, and two lines of counts."""
    ranks, _, _, experts, width, _ = case.parameters
    owner = _values(case, 1) // -(-experts // ranks)
    rows = int((owner[i] == j).sum() + (owner[j] == i).sum())
    return rows * 4 * width + 2 * 4 * (-(-experts // 16) * 16)


def _keys_and_values(case: RankCase) -> int:
    return (case.ranks - 1) * 2 * _values(case, 0)[0].nbytes


FORMULAS: dict[str, Formula] = {
    "neighbour": _around(_row),
    "gather": _to_all(1),
    "ring": _around(lambda case: _row(case, case.ranks - 1)),
    "exchange": _to_all(1),
    "exchange_rows": _rows,
    "scattered_sum": _to_all(2),  # two rounds
    "sum_at_once": _to_all(2),
    "sum_of_all": _to_all(4),
    "send_to_all": _from_root,
    "ag_gemm": _slices,
    "gemm_rs": _sums,
    "gemm_ar": _tiles,
    "pipeline": _forward,
    "pipeline_of_one": _forward,
    "halo": _edges,
    "sum_by_engine": _to_all(1),
    "moe": _tokens,
    "moe_of_one": _tokens,
    "attention": _around(_keys_and_values),
    "causal_attention": _around(_keys_and_values),
}


def _holds(
    name: str, ranks: int, size: int, folder: Path, monkeypatch: Any, topology: str = "a2"
) -> None:
    case = case_of(name, ranks, size)
    kernel = case.kernel(load(case.script, folder))
    table = TOPOLOGIES[topology]
    found = [timed(case, kernel, _faster(table, f), monkeypatch) for f in (1, 2, 4, math.inf)]
    if topology != "ring":  # where bytes of one pair go over the links of others
        _check_bytes(name, case, found[0])
    times = [each.microseconds for each in found]
    assert times == sorted(times, reverse=True)
    latencies = ("link_load_us", "link_store_us", "network_us", "sdma_us")
    at_once = replace(_faster(table, math.inf), **dict.fromkeys(latencies, 0.0))
    without = timed(case, kernel, at_once, monkeypatch).microseconds
    assert {each.microseconds_without_links for each in found} == {without}
    assert times[-1] >= without


def _check_bytes(name: str, case: RankCase, times: RankTimes) -> None:
    every = [(i, j) for i in range(case.ranks) for j in range(case.ranks) if i != j]
    expected = {(i, j): FORMULAS[name](case, i, j) for i, j in every}
    moved = {pair: times.links[pair].bytes if pair in times.links else 0 for pair in every}
    assert moved == expected


def _faster(table: LinkTable, factor: float) -> LinkTable:
    rates = ("link_write_bandwidth", "link_read_bandwidth", "network_bandwidth", "sdma_bandwidth")
    return replace(table, **{name: getattr(table, name) * factor for name in rates})


def test_every_example_has_a_formula() -> None:
    assert set(FORMULAS) == set(EXAMPLES)


@pytest.mark.parametrize("name", kept(EXAMPLES, least=8))
def test_links_carry_what_the_algorithm_says_and_faster_ones_do_not_hurt(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _holds(name, 3, 0, tmp_path, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("name", EXAMPLES)
def test_so_do_those_of_other_numbers_of_ranks(
    name: str, ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _holds(name, ranks, 1, tmp_path, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("topology", ["a3", "ring", "two-servers"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_so_do_those_of_other_topologies(
    name: str, topology: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _holds(name, 4, 0, tmp_path, monkeypatch, topology)
