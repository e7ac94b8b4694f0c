"""A timed run as one file, an .npz archive: events and accesses as they are, the rest as JSON."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import KernelError
from tile_runtime.simulator.timeline import (
    ACCESS,
    CORES,
    EVENT,
    KINDS,
    MEMORIES,
    PADDING,
    PIPES,
    REASONS,
    TOTALS,
    Timeline,
)
from tile_runtime.tools.report.kernel_facts import facts_from_json
from tile_runtime.tools.report.saved_ranks import (
    ranks_contradict,
    ranks_from_json,
    ranks_to_json,
)
from tile_runtime.tools.report.timed_run import TimedRun

FORMAT = "tile-timeline 2"
_NUMBERS = ("mhz", "cube_cores", "vector_cores", "hbm_bandwidth")
# What NumPy, the archive and the JSON raise for a file that is damaged or something else.
_UNREADABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, EOFError, RuntimeError,
    struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def save_run(run: TimedRun, path: Path) -> None:
    """Write a run to a file."""
    timeline = run.timeline
    about = {
        "format": FORMAT,
        "kernel": run.kernel,
        "soc": run.soc,
        "totals": timeline.totals,
        "strings": timeline.strings,
        **{name: getattr(timeline, name) for name in _NUMBERS},
        "sources": run.sources,
        "places": [[*cpp, *python] for cpp, python in run.places.items()],
        "remarks": [[*place, text] for place, text in run.remarks.items()],
        "facts": run.facts.to_json(),
        "ranks": None if run.ranks is None else ranks_to_json(run.ranks),
    }
    text = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with path.open("wb") as file:  # NumPy would add a suffix to a name
        np.savez_compressed(
            file, about=text, events=timeline.events, accesses=timeline.accesses,
            paddings=timeline.paddings,
        )  # fmt: skip


def load_run(path: Path) -> TimedRun:
    """Read a run back. KernelError if the file is something else or does not hold together."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            about = json.loads(archive["about"].tobytes())
            events, accesses = archive["events"], archive["accesses"]
            # Earlier versions had none.
            paddings = archive["paddings"] if "paddings" in archive else np.zeros(0, PADDING)
        dtypes = (events.dtype, accesses.dtype, paddings.dtype)
        if about["format"] != FORMAT or dtypes != (EVENT, ACCESS, PADDING):
            raise _wrong(path, "it was written by another version")
        run = _run_of(about, events, accesses, paddings)
    except FileNotFoundError:
        raise
    except _UNREADABLE as error:
        raise _wrong(path, str(error)) from None
    problem = _contradiction(run.timeline) or (ranks_contradict(run.ranks) if run.ranks else "")
    if problem:
        raise _wrong(path, problem)
    return run


def _run_of(about: dict[str, Any], events: Any, accesses: Any, paddings: Any) -> TimedRun:
    timeline = Timeline(
        {str(k): float(v) for k, v in about["totals"].items()},
        [str(s) for s in about["strings"]],
        events,
        accesses,
        float(about["mhz"]),
        int(about["cube_cores"]),
        int(about["vector_cores"]),
        float(about["hbm_bandwidth"]),
        paddings,
    )
    places = {(str(a), int(b)): (str(c), int(d)) for a, b, c, d in about["places"]}
    sources = {str(k): str(v) for k, v in about["sources"].items()}
    remarks = {(str(a), int(b)): str(text) for a, b, text in about.get("remarks", ())}
    facts = facts_from_json(about["facts"])
    ranks = about.get("ranks")
    return TimedRun(
        timeline, str(about["kernel"]), str(about["soc"]), sources, places, remarks, facts,
        None if ranks is None else ranks_from_json(timeline, ranks),
    )  # fmt: skip


def _contradiction(timeline: Timeline) -> str:
    """Find a value for which reading the arrays would fail or mislead; "" if there is none."""
    events, accesses, paddings = timeline.events, timeline.accesses, timeline.paddings
    for name in TOTALS:
        # Earlier versions had no debt.
        if not 0 <= timeline.totals.get(name, 0 if name == "owed_bytes" else -1) < math.inf:
            return f"the total `{name}` is missing or no amount"
    for name in _NUMBERS:
        if not 0 < getattr(timeline, name) < math.inf:
            return f"`{name}` is {getattr(timeline, name)}"
    limits = (
        (events, "api", len(timeline.strings)),
        (events, "file", len(timeline.strings)),
        (events, "core", len(CORES)),
        (events, "pipe", len(PIPES)),
        (events, "source", len(PIPES)),
        (events, "kind", len(KINDS)),
        (events, "reason", len(REASONS)),
        (events, "cause", len(events)),
        (accesses, "event", len(events)),
        (accesses, "memory", len(MEMORIES)),
        (paddings, "file", len(timeline.strings)),
        (paddings["changes"].reshape(-1), "file", len(timeline.strings)),
    )
    for array, name, limit in limits:
        what = "event" if array is events else "access" if array is accesses else "padding"
        if array.ndim != 1:
            return f"the list of {what} records has {array.ndim} dimensions"
        beyond = np.flatnonzero(array[name] >= limit)
        if len(beyond):
            at = int(beyond[0])
            return f"{what} {at}: {array[name][at]} of `{name}` is too large, the limit is {limit}"
    for name in ("begin", "end", "complete", "waited", "slowed"):
        wrong = np.flatnonzero(~np.isfinite(events[name]) | (events[name] < 0))
        if len(wrong):
            return f"event {wrong[0]}: {events[name][wrong[0]]} of `{name}` is no time"
    early = np.flatnonzero(events["end"] < events["begin"])
    return f"event {early[0]} ends before it begins" if len(early) else ""


def _wrong(path: Path, why: str) -> KernelError:
    return KernelError("not-a-timeline", f"{path} is not a saved timeline: {why}")
