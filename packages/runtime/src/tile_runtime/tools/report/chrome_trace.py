"""A timed run as Chrome trace JSON, which Perfetto and chrome://tracing open.

The format: "Trace Event Format" (Google), JSON object form. A core is a process, and a pipe a
thread, with a second one where transfers overlap. Instructions are complete events ("X"); flow
events ("s", "f") go from a set to the wait that took it; a counter ("C") shows the traffic with GM.
Of several ranks each is a process too: with its traffic, and a thread for each rank that it sends
to.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tile_ir import KernelError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.activity import amount_until
from tile_runtime.simulator.timeline import CORES, KINDS, PIPES, REASONS, WORK, lost_to
from tile_runtime.tools.report.flag_pairs import RANK_WAITS, flag_pairs, signal_pairs
from tile_runtime.tools.report.link_tracks import link_events, link_rates
from tile_runtime.tools.report.timed_run import TimedRun, place_text
from tile_runtime.tools.report.tracks import lanes

# Blocks in a trace if nobody chooses some.
BLOCK_CAP = 64
# Steps of the traffic counter.
COUNTER_STEPS = 1000
CHIP = 1  # the process of the counters of a device by itself; those of the cores follow

# A viewer takes the event on top of a thread for the end of an arrow, so events at one time are in
# the order of the thread, and the start of an arrow is before its end: see _in_order.
Item = tuple[int, int, int, dict[str, Any]]


@dataclass(frozen=True)
class _Selection:
    """The events of the chosen blocks, with times in ns."""

    run: TimedRun
    index: Any
    begin: Any
    end: Any
    process: Any
    thread: Any


def chrome_trace(run: TimedRun, blocks: Sequence[int] | None = None) -> dict[str, Any]:
    """The trace of the chosen blocks; of BLOCK_CAP, with the last one to end, if none are chosen.

    Raises KernelError if a chosen block has not run.
    """
    present = blocks_of(run)
    chosen = chosen_blocks(run, blocks, BLOCK_CAP)
    selection = _select(run, chosen)
    items = [*_instructions(selection), *_arrows(selection)]
    events = [*_names(selection), *_in_order(items), *_counters(run), *_links(run)]
    # A stable sort: metadata first, and what _in_order arranged stays as it is.
    events.sort(key=lambda e: e.get("ts", -1.0))
    timeline = run.timeline
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "kernel": run.kernel,
            "SoC": run.soc,
            "modelled us": timeline.microseconds,
            "modelled us with launch": timeline.task_microseconds,
            "blocks": len(present),
            "blocks left out": len(present) - len(chosen),
        },
    }


def write_chrome_trace(run: TimedRun, path: Path, blocks: Sequence[int] | None = None) -> None:
    """Write the trace as JSON."""
    with path.open("w") as file:
        json.dump(chrome_trace(run, blocks), file, separators=(",", ":"))


def blocks_of(run: TimedRun) -> list[int]:
    """The blocks that did anything, in order."""
    return [int(b) for b in np.unique(run.timeline.events["block"])]


def chosen_blocks(run: TimedRun, blocks: Sequence[int] | None, cap: int) -> list[int]:
    """The wanted blocks, or the one that ends last and so many others that there are `cap`, that
    one first; the others are of all ranks. Raises KernelError for one there is not."""
    present = blocks_of(run)
    if blocks is None:
        events = run.timeline.events
        last = [int(events["block"][np.argmax(events["complete"])])] if len(events) else []
        blocks_of_rank = len(present) if run.ranks is None else run.ranks.blocks
        others = sorted(set(present) - set(last), key=lambda b: (b % blocks_of_rank, b))
        return [*last, *(others if run.ranks else sorted(others))][:cap]
    missing = sorted(set(blocks) - set(present))
    if missing:
        raise KernelError("no-such-block", f"block {missing[0]} has no instructions in this run")
    return sorted(set(blocks))


def _select(run: TimedRun, blocks: list[int]) -> _Selection:
    events = run.timeline.events
    index = np.flatnonzero(np.isin(events["block"], blocks))
    e = events[index]
    lane = lanes(events)[index]
    width = int(lane.max(initial=0)) + 1
    return _Selection(
        run,
        index,
        _nanoseconds(run, e["begin"]),
        _nanoseconds(run, e["end"]),
        CHIP + 1 + e["block"].astype(np.int64) * len(CORES) + e["core"],
        1 + e["pipe"].astype(np.int64) * width + lane,
    )


def _nanoseconds(run: TimedRun, cycles: Any) -> Any:
    return np.rint(np.asarray(cycles) * (1000 / run.timeline.mhz)).astype(np.int64)


def _microseconds(nanoseconds: int) -> float:
    """Viewers cut off below a nanosecond, so 1.234 must not be read as 1233.9999."""
    value = nanoseconds / 1000
    return value if int(value * 1000) == nanoseconds else float(np.nextafter(value, np.inf))


def _names(selection: _Selection) -> Iterator[dict[str, Any]]:
    events = selection.run.timeline.events[selection.index]
    run = selection.run
    for rank in range(1 if run.ranks is None else run.ranks.ranks):
        pid = _process_of_rank(run, rank)
        yield _metadata(
            pid, 0, "process_name", name="chip" if run.ranks is None else f"rank {rank}"
        )
        yield _metadata(pid, 0, "process_sort_index", sort_index=_place(run, rank, -1))
    processes, first = np.unique(selection.process, return_index=True)
    for pid, at in zip(processes, first, strict=True):
        block = int(events["block"][at])
        name = f"{run.block_name(block)} {CORES[events['core'][at]]}"
        place = _place(run, block // run.ranks.blocks if run.ranks else 0, int(pid))
        yield _metadata(int(pid), 0, "process_name", name=name)
        yield _metadata(int(pid), 0, "process_sort_index", sort_index=place)
    both = np.stack([selection.process, selection.thread], axis=1)
    threads, first = np.unique(both, axis=0, return_index=True)
    tracks: dict[tuple[int, str], int] = {}
    for (pid, tid), at in zip(threads, first, strict=True):
        pipe = PIPES[events["pipe"][at]]
        width = tracks[pid, pipe] = tracks.get((pid, pipe), 0) + 1
        name = pipe if width == 1 else f"{pipe} ({width} in flight)"
        yield _metadata(int(pid), int(tid), "thread_name", name=name)
        yield _metadata(int(pid), int(tid), "thread_sort_index", sort_index=int(tid))


def _process_of_rank(run: TimedRun, rank: int) -> int:
    """That of the counters; those of several ranks come after those of the cores."""
    if run.ranks is None:
        return CHIP
    return CHIP + 1 + run.ranks.ranks * run.ranks.blocks * len(CORES) + rank


def _place(run: TimedRun, rank: int, pid: int) -> int:
    """Where a process stands: a rank, whose `pid` is -1, before its cores."""
    if run.ranks is None:
        return max(pid, 0)
    return rank + (pid if pid >= 0 else CHIP + rank * run.ranks.blocks * len(CORES))


def _metadata(pid: int, tid: int, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": arguments}


def _instructions(selection: _Selection) -> Iterator[Item]:
    run = selection.run
    events = run.timeline.events
    for at, index in enumerate(selection.index):
        begin, end = int(selection.begin[at]), int(selection.end[at])
        event = events[index]
        yield begin, int(index), 0, {
            "ph": "X",
            "name": run.timeline.strings[event["api"]],
            "cat": KINDS[event["kind"]],
            "ts": _microseconds(begin),
            "dur": _microseconds(end - begin),
            "pid": int(selection.process[at]),
            "tid": int(selection.thread[at]),
            "args": _arguments(run, event, int(index)),
        }  # fmt: skip


def _arguments(run: TimedRun, event: Any, index: int) -> dict[str, Any]:
    place = run.cpp_place(int(event["file"]), int(event["line"]))
    found: dict[str, Any] = {"API": run.timeline.strings[event["api"]], "C++": place_text(place)}
    python = run.places.get(place)
    if python is not None:
        found["Python"] = place_text(python)
    flag = flag_text(event)
    if flag:
        found["flag"] = flag
    if event["peer"]:
        found["other rank"] = int(event["peer"]) - 1
    if event["bytes"]:
        found["bytes"] = int(event["bytes"])
    if event["waited"] > 0:
        found["waited cycles"] = round(float(event["waited"]), 3)
        found["waited for"] = REASONS[event["reason"]]
    lost = round(float(event["slowed"]), 3)
    if lost > 0:
        found["lost cycles"] = lost
        found["lost to"] = "link" if event["peer"] else lost_to(PIPES[event["pipe"]])
    if event["complete"] > event["end"]:
        found["complete us"] = round(float(event["complete"]) / run.timeline.mhz, 6)
    found["event"] = index
    return found


def flag_text(event: Any) -> str:
    """The flag an event sets or waits for, or ""."""
    kind = KINDS[event["kind"]]
    here, there, number = PIPES[event["pipe"]], PIPES[event["source"]], event["flag"]
    if kind == "set":
        return f"{here} to {there}, id {number}"
    if kind == "wait":
        return f"{there} to {here}, id {number}"
    if event["peer"] and kind != "work":
        other = f"rank {event['peer'] - 1}"
        return f"signal to {other}" if kind == "signal" else f"waits for {other}"
    return f"cross-core {number}" if kind.startswith("cross") else ""


def _arrows(selection: _Selection) -> Iterator[Item]:
    events = selection.run.timeline.events
    where = {int(index): at for at, index in enumerate(selection.index)}
    pairs = np.concatenate([flag_pairs(events), signal_pairs(events)])
    for number, (first, last) in enumerate(pairs):
        start, stop = where.get(int(first)), where.get(int(last))
        if start is None or stop is None:
            continue  # one of the two blocks was not chosen
        kind = "signal" if events["kind"][last] in RANK_WAITS else "flag"
        name = flag_text(events[last])
        begin = int(selection.begin[start])
        # Inside the wait, but not before the set.
        end = min(max(begin, int(selection.begin[stop])), int(selection.end[stop]))
        for time, at, index, extra in (
            (begin, start, first, {"ph": "s"}),
            (max(end, begin), stop, last, {"ph": "f", "bp": "e"}),
        ):
            yield time, int(index), 1, {
                **extra,
                "id": number,
                "name": name,
                "cat": kind,
                "ts": _microseconds(time),
                "pid": int(selection.process[at]),
                "tid": int(selection.thread[at]),
            }  # fmt: skip


def _in_order(items: list[Item]) -> Iterator[dict[str, Any]]:
    """By time; at one time each thread in program order, an arrow at its event, and no arrow ends
    before it has started."""
    items.sort(key=lambda i: i[:3])
    first = 0
    while first < len(items):
        last = first
        while last < len(items) and items[last][0] == items[first][0]:
            last += 1
        yield from _at_one_time(items[first:last])
        first = last


def _at_one_time(items: list[Item]) -> Iterable[dict[str, Any]]:
    if len(items) == 1 or not any(item[3]["ph"] == "f" for item in items):
        return [item[3] for item in items]
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    coming = {item[3]["id"] for item in items if item[3]["ph"] == "s"}
    for item in items:
        event = item[3]
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
    done: list[dict[str, Any]] = []
    while threads:
        before = len(done)
        for thread, events in list(threads.items()):
            taken = 0
            while taken < len(events) and not (
                events[taken]["ph"] == "f" and events[taken]["id"] in coming
            ):
                coming.discard(events[taken].get("id"))
                done.append(events[taken])
                taken += 1
            threads[thread] = events[taken:]
            if taken == len(events):
                del threads[thread]
        if len(done) == before:  # only rounding to ns can tie a knot
            rest = [event for events in threads.values() for event in events]
            return done + sorted(rest, key=lambda e: "Xsf".index(e["ph"]))
    return done


def _counters(run: TimedRun) -> Iterator[dict[str, Any]]:
    """GB/s between GM and all cores of a device, and between devices."""
    last = float(run.timeline.events["complete"].max(initial=0))
    edges = np.linspace(0, last, COUNTER_STEPS + 1)
    if run.ranks is None:
        yield from _series(
            run, CHIP, "GM traffic", _traffic(run, run.timeline.events, edges), edges
        )
        return
    rank_of = run.timeline.events["block"].astype(np.int64) // run.ranks.blocks
    for rank in range(run.ranks.ranks):
        rates = _traffic(run, run.timeline.events[rank_of == rank], edges)
        yield from _series(run, _process_of_rank(run, rank), "GM traffic", rates, edges)
    for rank, rates in link_rates(run.ranks, edges):
        yield from _series(run, _process_of_rank(run, rank), "sends", rates, edges)


def _traffic(run: TimedRun, events: Any, edges: Any) -> dict[str, Any]:
    """The bytes of a transfer count evenly while it lasts; nothing if there are none."""
    events = events[(events["kind"] == WORK) & (events["bytes"] > 0)]
    reads = events["pipe"] == PIPES.index("MTE2")
    rates = {}
    for name, chosen in (("read GB/s", events[reads]), ("write GB/s", events[~reads])):
        moved = np.diff(amount_until(chosen["begin"], chosen["end"], chosen["bytes"], edges))
        rates[name] = moved / np.maximum(np.diff(edges), 1e-9) * run.timeline.mhz * 1e6 / 1e9
    return rates if len(events) else {}


def _series(
    run: TimedRun, pid: int, name: str, rates: dict[str, Any], edges: Any
) -> Iterator[dict[str, Any]]:
    if not rates:
        return
    steps = _nanoseconds(run, edges)
    for step in range(COUNTER_STEPS):
        values = {n: round(float(r[step]), 1) for n, r in rates.items()}
        yield _counter(pid, name, steps[step], values)
    yield _counter(pid, name, steps[-1], dict.fromkeys(rates, 0.0))


def _counter(pid: int, name: str, time: Any, values: dict[str, float]) -> dict[str, Any]:
    return {
        "ph": "C", "name": name, "ts": _microseconds(int(time)), "pid": pid, "tid": 0,
        "args": values,
    }  # fmt: skip


def _links(run: TimedRun) -> Iterator[dict[str, Any]]:
    """Transfers between ranks, from their begin until they are complete."""
    if run.ranks is None:
        return
    found = [*link_events(run.ranks)]
    width = 1 + max((lane for *_, lane in found), default=0)
    named: set[tuple[int, int]] = set()
    for index, source, target, lane in found:
        event = run.timeline.events[index]
        pid, tid = _process_of_rank(run, source), 1 + target * width + lane
        if (pid, tid) not in named:
            named.add((pid, tid))
            name = f"to rank {target}" + (f" ({lane + 1} in flight)" if lane else "")
            yield _metadata(pid, tid, "thread_name", name=name)
            yield _metadata(pid, tid, "thread_sort_index", sort_index=tid)
        begin, end = (int(t) for t in _nanoseconds(run, [event["begin"], event["complete"]]))
        api = run.timeline.strings[event["api"]]
        yield {
            "ph": "X",
            "name": f"{api} of {run.block_name(int(event['block']))}",
            "cat": "link",
            "ts": _microseconds(begin),
            "dur": _microseconds(end - begin),
            "pid": pid,
            "tid": tid,
            "args": _arguments(run, event, index),
        }
