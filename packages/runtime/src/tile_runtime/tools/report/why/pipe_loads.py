"""How much each pipe of the core that ends last had to do, and what its instructions were like.

Sums over the blocks of that core; the waits between pipes are in `decisive_path`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tile_ir import TARGETS
from tile_ir.costs.timing import DEFAULT_TIMING, timing_of
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import (
    CORES,
    MEMORIES,
    PIPES,
    WORK,
    Timeline,
    cycles_covered,
)
from tile_runtime.tools.report.why.core_chains import CoreChains

# Of every event the runs of bytes in gm, and whether some are off the lines of L2.
GmRuns: TypeAlias = "tuple[Any, Any]"
# What starting an instruction of a pipe costs, by the constant of the time model; the engine takes
# no time of the core.
_START = {
    "V": "vector_issue", "M": "cube_issue", "MTE1": "load_issue", "MTE2": "dma_issue",
    "MTE3": "dma_issue", "FIX": "fix_issue",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PipeLoad:
    """The load of a pipe of one core ("aic", "aiv0"), in cycles, counts and bytes.

    `busy` are its cycles. Of these, `starting` went into starting instructions, and `slowed` were
    lost because others share L2 and HBM, or operands of the vector pipe a bank. `count` is the
    number of instructions. `moved` are bytes from or to gm in `runs` pieces; `off_line` are the
    bytes of transfers of which not all runs start on a line of L2. `between_ranks` are the lost
    cycles of transfers between ranks."""

    core: str
    pipe: str
    busy: float
    starting: float = 0.0
    slowed: float = 0.0
    count: int = 0
    moved: int = 0
    runs: int = 0
    off_line: int = 0
    between_ranks: float = 0.0


def _start(costs: Mapping[str, float], pipe: str) -> float:
    return costs[_START[pipe]] if pipe in _START else 0.0


def pipe_loads(timeline: Timeline, chains: CoreChains, soc: str) -> list[PipeLoad]:
    """Every pipe that worked on the core that ends last, the busiest first."""
    events = timeline.events
    mine = np.isin(events["block"], chains.blocks[chains.last])
    in_gm = gm_runs(timeline)
    found = [_scalar(events[mine & (events["core"] == n)], name) for n, name in enumerate(CORES)]
    for name in CORES:
        for pipe in PIPES:
            if pipe != "S":
                found.append(load_of(timeline, soc, in_gm, mine, name, pipe))
    return sorted((load for load in found if load.busy > 0), key=lambda load: -load.busy)


def load_of(
    timeline: Timeline, soc: str, in_gm: GmRuns, some: Any, core: str, pipe: str
) -> PipeLoad:
    """The load of a pipe of a core from the masked events."""
    events = timeline.events
    found = np.flatnonzero(
        some
        & (events["kind"] == WORK)
        & (events["core"] == CORES.index(core))
        & (events["pipe"] == PIPES.index(pipe))
    )
    if not len(found):
        return PipeLoad(core, pipe, 0.0)
    target = TARGETS.get(soc)
    costs = timing_of(target) if target else timing_of(TARGETS["Ascend910B2"])
    runs, off_line = in_gm
    e = events[found]
    moved = e["bytes"].astype(np.int64)
    busy = cycles_covered(e)
    return PipeLoad(
        core, pipe, busy, min(busy, _start(costs, pipe) * len(e)),
        float(e["slowed"].sum()), len(e), int(moved.sum()), int(runs[found].sum()),
        int(moved[off_line[found]].sum()), float(e["slowed"][e["peer"] > 0].sum()),
    )  # fmt: skip


def _scalar(events: Any, core: str) -> PipeLoad:
    """The scalar unit reads and writes elements, and hands the instructions of all pipes over."""
    scalar = (events["pipe"] == PIPES.index("S")) & (events["kind"] == WORK)
    handed = int((~scalar & (events["kind"] == WORK)).sum())
    others = int((events["kind"] != WORK).sum())
    elements = float((events["end"] - events["begin"])[scalar].sum())
    busy = elements + DEFAULT_TIMING.scalar_issue * handed + DEFAULT_TIMING.scalar_flag * others
    return PipeLoad(core, "S", busy, busy - elements, count=int(scalar.sum()))


def gm_runs(timeline: Timeline) -> GmRuns:
    """Of every event the runs of bytes it touches in gm, and whether some start inside a line."""
    runs = np.zeros(len(timeline.events), np.int64)
    off_line = np.zeros(len(timeline.events), bool)
    of_gm = timeline.accesses[timeline.accesses["memory"] == MEMORIES.index("GM")]
    np.maximum.at(runs, of_gm["event"], of_gm["rows"])
    np.logical_or.at(off_line, of_gm["event"], of_gm["off_line"] > 0)
    return runs, off_line
