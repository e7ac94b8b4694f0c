"""Modelled times of the operators of examples/operators at their workloads: with the tiles that the
rule chooses, and with those of a small sweep."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from tile_ops.manifest import Case, Operator, Tiles
from tile_ops.register import call_sizes, run
from tile_ops.trial import make_arguments, type_choices


@dataclass(frozen=True, slots=True)
class MeasuredOperator:
    """Microseconds and roofline with the tiles of the rule, and the best of a sweep over them."""

    operator: Operator
    tiles: Tiles
    microseconds: float
    roofline: Roofline
    share_of_best: float | None


# One for each rule of tiles: whole rows, flat tiles, parts of rows, heads, attention, products,
# those of a batch, two at a time, of groups, of int8, routing, columns, turned blocks, sums.
SWEPT = (
    "rms_norm", "silu_mul", "softmax", "cross_entropy", "rope", "attention", "gemm", "batched_gemm",
    "gated_gemm", "grouped_gemm", "int8_gemm", "top_k_routing", "column_sum", "transpose", "cumsum",
)  # fmt: skip


def measured_operators(names: Sequence[str] = ()) -> Iterator[MeasuredOperator]:
    """A run of every operator, or of those named."""
    for name in names or tile_ops.OPERATORS:
        with override(soc=SOC, time=True, check="off", timeout=0):
            yield _measured(tile_ops.OPERATORS[name])


def _measured(operator: Operator) -> MeasuredOperator:
    arguments = _arguments(operator, operator.workload)
    chosen = operator.tiles(call_sizes(operator, arguments))
    microseconds, line = _timed(operator, arguments, chosen)
    best = _share_of_best(operator) if operator.name in SWEPT else None
    return MeasuredOperator(operator, chosen, microseconds, line, best)


def _share_of_best(operator: Operator) -> float:
    """The best time of a sweep at a quarter of the workload, over that with the chosen tiles."""
    arguments = _arguments(operator, _quarter(operator.workload))
    sizes = call_sizes(operator, arguments)
    chosen = operator.tiles(sizes)
    ours, _ = _timed(operator, arguments, chosen)
    best = ours
    for tiles in operator.choices(sizes):
        try:
            best = min(best, _timed(operator, arguments, tiles)[0] if tiles != chosen else ours)
        except TileError:  # these tiles do not fit
            continue
    return best / ours


def _arguments(operator: Operator, case: Case) -> list[Any]:
    torch.manual_seed(0)
    return make_arguments(operator, case, next(type_choices(operator)))


def _quarter(case: Case) -> Case:
    """A quarter of the rows, of the batch or of the tokens."""
    if case.rest:
        return replace(case, rest=(case.rest[0] // 4, *case.rest[1:]))
    named = next(n for n in (("M", "R"), ("B",), ("S", "L")) if case.sizes.get(n[0], 1) > 1)
    return replace(case, sizes={k: v // 4 if k in named else v for k, v in case.sizes.items()})


def _timed(operator: Operator, arguments: list[Any], tiles: Tiles) -> tuple[float, Roofline]:
    runs: list[TimedRun] = []
    with watch_timed_runs(runs.append):
        results = run(operator, arguments, tiles)
    return time_and_roofline(runs, results)
