"""The initiation interval of a loop, and modulo schedules with its reservation table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import tile_ir
import tile_passes
from tile_ir import For, Pipe, walk
from tile_passes.clock.occupancy import Occupancy, Times
from tile_passes.pipelining.dependence_graph import Iteration, Unit
from tile_passes.pipelining.modulo_schedule import (
    ReservationTable,
    initiation_interval,
    modulo_schedule,
    ordered,
    raise_stages,
)

LOOP = """file 0 "k.py"
func "k" phase built @0:1:1 {
  launch blocks(1) %cid %vid threads any @0:1:1 {
    for %i: int32 in pipelined(0, 8) stages 2 @0:2:1 {
    }
  }
}
"""
(FOR,) = [s for s in walk(tile_ir.parse(LOOP).launch.body) if isinstance(s, For)]
LOAD, WORK, STORE = (Unit((), None, ()) for _ in range(3))
TIMES = {
    LOAD: Times((Occupancy((None, Pipe.MTE2), 0, 100),), 150),
    WORK: Times((Occupancy((None, Pipe.V), 0, 80),), 90),
    STORE: Times((Occupancy((None, Pipe.MTE3), 0, 40),), 60),
}
TEXT = [(LOAD, WORK, 0), (WORK, STORE, 0)]


def iteration(*edges: tuple[Unit, Unit, int]) -> Iteration:
    graph: nx.MultiDiGraph[Unit] = nx.MultiDiGraph()
    graph.add_nodes_from((LOAD, WORK, STORE))
    for a, b, distance in edges:
        graph.add_edge(a, b, distance=distance, buffer=None)
    return Iteration(FOR, (), (LOAD, WORK, STORE), graph)


@pytest.mark.parametrize(
    ("carried", "interval"),
    [
        ([], 100),  # the loads
        ([(STORE, STORE, 1)], 100),
        ([(STORE, WORK, 1)], 120),
        ([(STORE, LOAD, 1)], 220),
        ([(STORE, LOAD, 2)], 110),
        ([(STORE, LOAD, 2), (STORE, LOAD, 1)], 220),
    ],
)
def test_the_interval_is_that_of_a_pipe_or_of_a_cycle(
    carried: list[tuple[Unit, Unit, int]], interval: float
) -> None:
    found = initiation_interval(iteration(*TEXT, *carried).graph, TIMES)
    assert found == pytest.approx(interval, rel=2e-3)


def test_pipes_are_reserved_modulo_the_interval() -> None:
    table = ReservationTable(100)
    use = (Occupancy((None, Pipe.V), 10, 30),)
    table.reserve(use, 0)
    assert table.first_free(use, 0) == 30
    assert table.first_free(use, 195) == 230
    table.reserve(use, 60)
    assert table.first_free(use, 0) == 30
    table.reserve(use, 130)
    assert table.first_free(use, 0) is None
    assert table.first_free((Occupancy((None, Pipe.MTE3), 0, 100),), 7) == 7
    assert table.first_free((Occupancy((None, Pipe.MTE3), 0, 101),), 7) is None


def test_a_schedule_keeps_dependences_and_pipes() -> None:
    starts = modulo_schedule(iteration(*TEXT), TIMES, 100)
    assert starts == {LOAD: 0, WORK: 150, STORE: 240}
    assert modulo_schedule(iteration(*TEXT, (STORE, LOAD, 1)), TIMES, 299) is None
    assert modulo_schedule(iteration(*TEXT, (STORE, LOAD, 1)), TIMES, 300) is not None


def test_stages_rise_until_dependences_are_kept() -> None:
    stage = {LOAD: 1, WORK: 0, STORE: 0}
    assert raise_stages(iteration(*TEXT), stage, 1) and stage == {LOAD: 1, WORK: 1, STORE: 1}
    assert not raise_stages(iteration(*TEXT), {LOAD: 2, WORK: 0, STORE: 0}, 1)
    stage = {LOAD: 1, WORK: 0, STORE: 0}
    assert raise_stages(iteration((LOAD, WORK, 1)), stage, 1) and stage[WORK] == 0


def test_units_of_one_stage_keep_their_order() -> None:
    one, two = {LOAD: 0, WORK: 0, STORE: 0}, {LOAD: 0, WORK: 1, STORE: 1}
    backwards = {LOAD: (2.0, 0, 0), WORK: (1.0, 0, 0), STORE: (0.0, 0, 0)}
    assert ordered(iteration(*TEXT), one, backwards) == (LOAD, WORK, STORE)
    assert ordered(iteration(*TEXT), two, backwards) == (WORK, STORE, LOAD)
    assert ordered(iteration((LOAD, WORK, 0), (WORK, LOAD, 0)), one, backwards) is None


EXPLAIN = """
import sys, golden
from pathlib import Path
from tile_ir import DEFAULT_TARGET, parse
from tile_passes import EXPLANATIONS
text = golden.read(Path(sys.argv[1])).source
print(EXPLANATIONS["pipeline_across_cores"](parse(text), DEFAULT_TARGET))
"""


def test_the_interval_is_changed_in_one_file(tmp_path: Path) -> None:
    """In a copy of the package in which iterations start further apart, the first way over the
    other core and back takes one iteration instead of two."""
    package = tmp_path / "tile_passes"
    shutil.copytree(
        Path(tile_passes.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__")
    )
    path = os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)])
    case = Path(__file__).parent / "pipeline_across_cores" / "two_ways_back.tir"

    def explained() -> str:
        return subprocess.run(
            [sys.executable, "-c", EXPLAIN, str(case)], env={**os.environ, "PYTHONPATH": path},
            cwd=tmp_path, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    assert "2 stages, the last 2 iterations behind" in explained()
    schedule = package / "pipelining" / "modulo_schedule.py"
    text = schedule.read_text()
    assert text.count("least = max(1.0, ") == 1
    schedule.write_text(text.replace("least = max(1.0, ", "least = max(100_000.0, "))
    assert "3 stages, the last 2 iterations behind" in explained()
