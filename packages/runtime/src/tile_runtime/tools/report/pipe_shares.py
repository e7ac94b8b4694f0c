"""How each pipe spent its time: busy, waiting, and for what."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import (
    EVENT,
    PIPES,
    REASONS,
    WORK,
    Timeline,
    cycles_covered,
)


@dataclass(frozen=True, slots=True)
class PipeShare:
    """Microseconds of a pipe, mean over the cores that took part; they do not overlap: a pipe that
    waits while an earlier transfer is under way counts as busy."""

    core: str
    pipe: str
    busy: float
    waiting: dict[str, float]


def pipe_shares(timeline: Timeline) -> list[PipeShare]:
    """A row for each kind of core and pipe that worked or waited."""
    busy = timeline.busy()
    events = timeline.events
    waits = _waits(events)
    found = []
    for vector, core in ((False, "aic"), (True, "aiv")):
        for number, pipe in enumerate(PIPES):
            mine = ((events["core"] > 0) == vector) & (events["pipe"] == number)
            here = ((waits["core"] > 0) == vector) & (waits["pipe"] == number)
            if (core, pipe) not in busy and not here.any():
                continue
            covered = events[mine & (events["kind"] == WORK)]
            before = cycles_covered(covered) if len(covered) else 0.0
            # What all cores did, in microseconds of one: busy() has the mean over cores.
            scale = 1 / timeline.mhz / timeline.cores_used(vector)
            waiting = {}
            for reason, name in enumerate(REASONS):
                of_reason = waits[here & (waits["reason"] == reason)]
                if len(of_reason):
                    covered = np.concatenate([covered, of_reason])
                    after = cycles_covered(covered)
                    waiting[name] = max(0.0, after - before) * scale
                    before = after
            found.append(PipeShare(core, pipe, busy.get((core, pipe), 0.0), waiting))
    return found


def _waits(events: Any) -> Any:
    """The time before an instruction, or of a wait, as events of their own."""
    waits = events[events["waited"] > 0].astype(EVENT)
    work = waits["kind"] == WORK
    waits["begin"] -= np.where(work, waits["waited"], 0)
    waits["end"] = waits["begin"] + waits["waited"]
    return waits
