"""Draw as SVG how many cores have each of their pipes at work over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tile_runtime.simulator.activity import share_of_cores
from tile_runtime.simulator.activity_picture import ActivityKind, ActivityRow, activity_picture

# What a pipe is, in words; colours that stand on light and on dark paper.
PIPE_KINDS = {
    "S": ActivityKind("#7d8590", "scalar unit"),
    "MTE2": ActivityKind("#9a55b8", "loads"),
    "MTE1": ActivityKind("#0d8f6b", "L1 to L0"),
    "M": ActivityKind("#c2570c", "cube unit"),
    "V": ActivityKind("#1f77c9", "vector unit"),
    "FIX": ActivityKind("#0f8299", "results of the cube unit"),
    "MTE3": ActivityKind("#a37200", "stores"),
    "SDMA": ActivityKind("#b3008c", "copy engine"),
}
_GROUPS = (("cube", False), ("vector", True))
_STEPS = 240


def pipe_picture(events: Any, pipes: Sequence[str], work: int, mhz: float) -> str:
    """The picture of a run. `pipes` are the names of the pipes of the events, `work` the kind of an
    event that is an instruction; the height of a row is all cores of a kind that took part."""
    last = float(events["complete"].max(initial=1.0))
    edges = np.linspace(0, last, _STEPS + 1)
    works = events[events["kind"] == work]
    rows = []
    for group, vector in _GROUPS:
        cores, own = events[(events["core"] > 0) == vector], works[(works["core"] > 0) == vector]
        for name in PIPE_KINDS:
            mine = own[own["pipe"] == pipes.index(name)]
            if len(mine):
                rows.append(ActivityRow(group, name, name, share_of_cores(cores, mine, edges)))
    return activity_picture(rows, PIPE_KINDS, last / mhz, "Pipes at work over time")
