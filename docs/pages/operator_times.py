"""Modelled times of the operators of examples/operators at their workloads: with the tiles that the
rule chooses, and with those of a small sweep."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pages.kernel_times import SOC, time_and_roofline
from pages.markdown import ROOT
from tile_ir import TileError
from tile_ir.switches import override
from tile_runtime.tools.report.roofline import Roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs

sys.path.append(str(ROOT / "examples" / "operators"))
import tile_ops
from tile_ops.manifest import Operator, Tiles
from tile_ops.register import call_sizes, run
from tile_ops.trial import make_arguments, type_choices


@dataclass(frozen=True, slots=True)
class MeasuredOperator:
    """Microseconds and roofline with the tiles of the rule, and the best time of the sweep."""

    operator: Operator
    tiles: Tiles
    microseconds: float
    roofline: Roofline
    best_tiles: Tiles
    best: float

    @property
    def share_of_best(self) -> float:
        return self.best / self.microseconds


def measured_operators(names: Sequence[str] = ()) -> Iterator[MeasuredOperator]:
    """A run of every operator, or of those named, with each of its tiles."""
    for name in names or tile_ops.OPERATORS:
        with override(soc=SOC, time=True, check="off", timeout=0):
            yield _measured(tile_ops.OPERATORS[name])


def _measured(operator: Operator) -> MeasuredOperator:
    torch.manual_seed(0)
    arguments = make_arguments(operator, operator.workload, next(type_choices(operator)))
    sizes = call_sizes(operator, arguments)
    chosen = operator.tiles(sizes)
    microseconds, line = _timed(operator, arguments, chosen)
    best_tiles, best = chosen, microseconds
    for tiles in operator.choices(sizes):
        if tiles == chosen:
            continue
        try:
            found, _ = _timed(operator, arguments, tiles)
        except TileError:  # these tiles do not fit
            continue
        if found < best:
            best_tiles, best = tiles, found
    return MeasuredOperator(operator, chosen, microseconds, line, best_tiles, best)


def _timed(
    operator: Operator, arguments: list[Any], tiles: Tiles
) -> tuple[float, Roofline]:
    runs: list[TimedRun] = []
    with watch_timed_runs(runs.append):
        results = run(operator, arguments, tiles)
    return time_and_roofline(runs, results)
