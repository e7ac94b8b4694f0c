"""The events the page draws, as columns of numbers the script reads."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from tile_ir import TARGETS
from tile_runtime.simulator.timeline import CORES, KINDS, PIPES, REASONS
from tile_runtime.tools.report.flag_pairs import flag_pairs, signal_pairs
from tile_runtime.tools.report.memory_lives import SHOWN, Life, memory_lives
from tile_runtime.tools.report.timed_run import TimedRun
from tile_runtime.tools.report.tracks import lanes

# Events without duration are drawn as marks, in a row of their own.
MARKS = 255


class Columns:
    """Arrays one after the other, and where each stands."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.index: dict[str, tuple[str, int, int]] = {}

    def add(self, name: str, values: Any, dtype: str) -> None:
        """Add an array; dtype is u1, u2, u4, i4, f4 or f8."""
        data = np.ascontiguousarray(values, "<" + dtype).tobytes()
        self.index[name] = (dtype, self._size, len(data) // np.dtype(dtype).itemsize)
        data += bytes(-len(data) % 8)
        self._parts.append(data)
        self._size += len(data)

    def text(self) -> str:
        """Everything, compressed, as characters a page may hold."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 6)).decode()


def events_that_fit(run: TimedRun, blocks: list[int], limit: int) -> Any:
    """Indices of the events of as many blocks as fit; if not even one does, its first events."""
    of_block = run.timeline.events["block"]
    taken: list[Any] = []
    room = limit
    for block in blocks:
        mine = np.flatnonzero(of_block == block)
        if len(mine) > room:
            if not taken:
                order = np.argsort(run.timeline.events["begin"][mine], kind="stable")
                taken.append(mine[order[:room]])
            break
        taken.append(mine)
        room -= len(mine)
    return np.concatenate(taken) if taken else np.zeros(0, np.int64)


def drawing(run: TimedRun, chosen: Any) -> tuple[dict[str, Any], str]:
    """The script's data of the chosen events: a table of contents and the columns."""
    all_events = run.timeline.events
    lane = lanes(all_events)[chosen]
    e = all_events[chosen]
    lane = np.where(e["end"] > e["begin"], np.minimum(lane, MARKS - 1), MARKS)
    track = (e["block"].astype(np.int64) * len(CORES) + e["core"]) * len(PIPES) + e["pipe"]
    order = np.lexsort((chosen, e["begin"], lane, track))
    chosen, e, lane, track = chosen[order], e[order], lane[order], track[order]
    place = np.full(len(all_events) + 1, -1, np.int64)  # the last for a cause that is -1
    place[chosen] = np.arange(len(chosen))
    last = float(all_events["complete"].max(initial=1.0))
    scale = 2.0 ** min(10, np.floor(np.log2((2**31 - 1) / max(last, 1.0))))

    def ticks(cycles: Any) -> Any:
        return np.rint(np.asarray(cycles, np.float64) * scale)

    columns = Columns()
    columns.add("begin", ticks(e["begin"]), "u4")
    columns.add("end", ticks(e["end"]), "u4")
    columns.add("complete", ticks(np.maximum(e["complete"], e["end"])), "u4")
    columns.add("waited", e["waited"], "f4")
    columns.add("slowed", e["slowed"], "f4")
    columns.add("bytes", e["bytes"], "f8")
    columns.add("cause", place[e["cause"]], "i4")
    columns.add("number", chosen, "u4")
    keys = e["file"].astype(np.int64) << 32 | e["line"]
    lines, line_of = np.unique(keys, return_inverse=True)
    columns.add("line", line_of.ravel(), "u4")
    columns.add("api", e["api"], "u2")
    tracks, track_of = np.unique(track, return_inverse=True)
    columns.add("track", track_of.ravel(), "u4")
    for name in ("kind", "reason", "source", "flag", "peer"):
        columns.add(name, e[name], "u1")
    pairs = np.zeros((0, 2), np.int64)
    if len(all_events):
        pairs = place[np.concatenate([flag_pairs(all_events), signal_pairs(all_events)])]
        pairs = pairs[(pairs >= 0).all(axis=1)]
    columns.add("set", pairs[:, 0], "u4")
    columns.add("wait", pairs[:, 1], "u4")
    blocks = [int(b) for b in np.unique(e["block"])]
    lives = memory_lives(run, blocks)
    names = _add_lives(columns, lives, place, ticks)
    contents = {
        "scale": scale,
        "mhz": float(run.timeline.mhz),
        "cycles": max(run.timeline.totals["cycles"], last),
        "columns": columns.index,
        "strings": run.timeline.strings,
        "pipes": PIPES, "cores": CORES, "kinds": KINDS, "reasons": REASONS, "memories": SHOWN,
        "capacity": _capacity(run.soc),
        "tracks": [[t // len(PIPES) // len(CORES), t // len(PIPES) % len(CORES), t % len(PIPES)]
                   for t in tracks.tolist()],
        "runs": _runs(track_of.ravel(), lane),
        "lines": [_line(run, int(key)) for key in lines],
        "names": names,
        "blocks": {block: run.block_name(block) for block in blocks},
        "critical": [int(place[i]) for i in run.timeline.critical_path() if place[i] >= 0],
    }  # fmt: skip
    return contents, columns.text()


def _runs(track: Any, lane: Any) -> list[list[int]]:
    """Stretches of events of one track and lane: track, lane, first, count."""
    keys = track * (MARKS + 1) + lane
    unique, first, count = np.unique(keys, return_index=True, return_counts=True)
    return [
        [int(key) // (MARKS + 1), int(key) % (MARKS + 1), int(at), int(n)]
        for key, at, n in zip(unique, first, count, strict=True)
    ]


def _line(run: TimedRun, key: int) -> list[Any]:
    """C++ file, line, Python file, line; the latter "" and 0 if not known."""
    place = run.cpp_place(key >> 32, key & 0xFFFFFFFF)
    return [*place, *run.places.get(place, ("", 0))]


def _add_lives(columns: Columns, lives: list[Life], place: Any, ticks: Any) -> list[str]:
    names = {name: i for i, name in enumerate(sorted({life.name for life in lives}))}

    def column(name: str, values: Iterable[float], dtype: str) -> None:
        columns.add(f"life {name}", np.fromiter(values, np.float64), dtype)

    column("core", (life.block * len(CORES) + life.core for life in lives), "u4")
    column("memory", (SHOWN.index(life.memory) for life in lives), "u1")
    column("begin", (life.begin for life in lives), "u4")
    column("end", (life.end for life in lives), "u4")
    column("first", (ticks(life.first) for life in lives), "u4")
    column("last", (ticks(life.last) for life in lives), "u4")
    column("event", (place[life.event] for life in lives), "i4")
    column("name", (names[life.name] for life in lives), "u4")
    column("read", (life.read for life in lives), "u1")
    return list(names)


def _capacity(soc: str) -> dict[str, int]:
    target = TARGETS.get(soc)
    if target is None:
        return {}
    sizes = {memory.value.upper(): size for memory, size in target.capacity.items()}
    return {name: sizes[name] for name in SHOWN if name in sizes}


def as_script(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
