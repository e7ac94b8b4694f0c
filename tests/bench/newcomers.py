"""Rows about kernels as newcomers write them: the share of the roofline that they reach untouched,
modelled, with tensors that are more than L2 holds. A row takes from seconds to two minutes and to
4 GB, so that all are measured on request only."""

from __future__ import annotations

import functools
import sys

import torch
from end_to_end.newcomers import NAMES, newcomer

from bench.row import Examples, Measurement, Row, exactly
from tile_ir.switches import override
from tile_runtime.tools.report.roofline import roofline
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

SOC = "Ascend910B2"
# Percent that a kernel nobody tuned is to reach.
UNTOUCHED = 25


def _measure(name: str, _: Examples) -> list[Row]:
    run = large_run(name)
    found = roofline(run)
    share = f"{name}: of the roofline, {found.bound}"
    print(f"{name}: {verdict(Measures(run)).text}", file=sys.stderr)
    return [
        exactly(f"{name}: modelled", run.timeline.microseconds, "us"),
        exactly(share, 100 * found.share, "%", UNTOUCHED, more_is_better=True),
    ]


def large_run(name: str) -> TimedRun:
    """The kernel at its large size, with the clock and without checks."""
    script = newcomer(name)
    torch.manual_seed(0)
    inputs = script.inputs(**script.LARGE)
    runs: list[TimedRun] = []
    with override(soc=SOC, time=True, check="off", timeout=0), watch_timed_runs(runs.append):
        script.kernel(**script.LARGE)(*inputs)
    return runs[-1]


NEWCOMERS: dict[str, Measurement] = {
    f"newcomers.{name}": functools.partial(_measure, name) for name in NAMES
}
