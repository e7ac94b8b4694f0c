"""Runs a case on the simulator and reads the modelled value of each of its published rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import timing_kernels
from case import Case, Row
from cases import rows_of_case
from fixed_constants import CALIBRATING, fixed
from measures import Measure, Span, Unit

from tile_ir.chips import TARGETS
from tile_ir.costs.timing import DEFAULT_TIMING, TimingTable
from tile_runtime.simulator.timeline import CORES, Timeline


@dataclass(frozen=True)
class Compared:
    """A published row beside its modelled value, in the unit of the row."""

    case: Case
    row: Row
    modelled: float

    @property
    def error(self) -> float:
        """Relative, with its sign."""
        return self.modelled / self.row.value - 1

    @property
    def fixes(self) -> list[str]:
        """The constants that were read from the row."""
        return fixed(self.case.name, self.row.metric)

    @property
    def checks(self) -> bool:
        """Whether nothing was read from the page of the row."""
        return self.row.source not in CALIBRATING


def run_case(case: Case, blocks: int, table: TimingTable = DEFAULT_TIMING) -> Timeline:
    return timing_kernels.timeline(
        case.kernel, *case.arguments(), blocks=blocks, target=TARGETS[case.soc], warm=case.hot, table=table
    )  # fmt: skip


def core_microseconds(timeline: Timeline, kind: str) -> float:
    """How long a core of a kind ("aic", "aiv") is taken: mean over those that took part."""
    vector = kind == "aiv"
    of_kind = timeline.events[(timeline.events["core"] > 0) == vector]
    if not len(of_kind):
        return 0.0
    group = of_kind["block"].astype(np.int64) * len(CORES) + of_kind["core"]
    # Events of a core of a block lie together.
    first = np.flatnonzero(np.diff(group, prepend=-1))
    spans = np.maximum.reduceat(of_kind["complete"], first) - np.minimum.reduceat(
        of_kind["begin"], first
    )
    cycles = spans.sum() / timeline.cores_used(vector) + timeline.totals["start_cycles"]
    return float(cycles / timeline.mhz)


def value(case: Case, timeline: Timeline, measure: Measure) -> float:
    """What a measure of a case is in the modelled launch, in its unit."""
    busy = timeline.busy(unfinished=True)
    body = timeline.body_microseconds * case.part
    core = core_microseconds(timeline, measure.kind)
    pipe = busy.get((measure.kind, measure.pipe), 0.0)
    microseconds = {
        Span.TASK: timeline.task_microseconds - timeline.body_microseconds + body,
        Span.BODY: body,
        Span.CORE: timeline.microseconds if measure.slowest else core,
        Span.PIPE: pipe,
        Span.SHARE: pipe,
    }[measure.span]
    match measure.unit:
        case Unit.MS:
            return microseconds / 1e3
        case Unit.TICK:
            return microseconds * 50
        case Unit.CYCLE:
            return microseconds * timeline.mhz
        case Unit.PERCENT:
            return microseconds / core * 100
        case Unit.TB_PER_S | Unit.TFLOPS:
            return measure.volume / microseconds / 1e6
        case Unit.GB_PER_S:
            return measure.volume / microseconds / 1e3
        case Unit.US:
            return microseconds


def compare(
    cases: Iterable[Case], progress: bool = False, table: TimingTable = DEFAULT_TIMING
) -> Iterator[Compared]:
    for case in cases:
        began = time.perf_counter()
        timeline = run_case(case, case.blocks, table)
        less = run_case(case, case.less, table) if case.less else None
        for row, measure in rows_of_case(case):
            off = value(case, less, measure) if less is not None else 0.0
            yield Compared(case, row, value(case, timeline, measure) - off)
        if progress:
            print(f"{time.perf_counter() - began:7.1f} s  {case.name}", file=sys.stderr, flush=True)


def median_error(rows: Iterable[Compared]) -> float:
    return float(np.median([abs(row.error) for row in rows]))


def rank_correlation(rows: Iterable[Compared]) -> float | None:
    """Spearman's, of the durations: shares and bandwidths have no place in one order with them.

    None if there are too few to speak of an order.
    """
    scale = {Unit.US: 1.0, Unit.MS: 1e3, Unit.TICK: 1 / 50, Unit.CYCLE: 1 / 1850}
    found = [
        (row.modelled * scale[unit], row.row.value * scale[unit])
        for row in rows
        if (unit := Unit(row.row.unit)) in scale
    ]
    return None if len(found) < 5 else rank(found)


def rank(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's rank correlation of pairs."""
    ranks = [_ranks(np.array(column)) for column in zip(*pairs, strict=True)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Any) -> Any:
    """Equal values share the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]
