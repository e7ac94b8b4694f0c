"""The trace against the Trace Event Format, and against how a viewer reads it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from kept_cases import examples, kept_number

from tile_ir import KernelError
from tile_ir.costs.timing import DEFAULT_TIMING
from tile_runtime.simulator.timeline import KINDS
from tile_runtime.tools.report.chrome_trace import BLOCK_CAP, chrome_trace, write_chrome_trace
from tile_runtime.tools.report.flag_pairs import flag_pairs
from tile_runtime.tools.report.timed_run import TimedRun
from tile_runtime.tools.report.tracks import lanes
from timed_runs import chance_runs, event, example_run, made_run, many_events, small_run

pytestmark = pytest.mark.usefixtures("quick_kernels")

FIELDS = {
    "M": {"name", "pid", "tid", "args"},
    "X": {"name", "cat", "ts", "dur", "pid", "tid", "args"},
    "s": {"name", "cat", "id", "ts", "pid", "tid"},
    "f": {"name", "cat", "id", "ts", "pid", "tid", "bp"},
    "C": {"name", "ts", "pid", "tid", "args"},
}
METADATA = {"process_name", "process_sort_index", "thread_name", "thread_sort_index"}


def nanoseconds(value: float) -> int:
    """As a viewer reads it: what is below a nanosecond is cut off."""
    return int(value * 1000)


def check_format(trace: dict[str, Any]) -> None:
    """Fields and types, names for all, times that rise, arrows with both ends."""
    trace = json.loads(json.dumps(trace, allow_nan=False))
    assert trace["displayTimeUnit"] in ("ns", "ms")
    named: set[tuple[str, int, int]] = set()
    last = 0
    arrows: dict[int, str] = {}
    for e in trace["traceEvents"]:
        assert set(e) - {"ph"} == FIELDS[e["ph"]], e
        assert type(e["pid"]) is int and type(e["tid"]) is int
        if e["ph"] == "M":
            assert e["name"] in METADATA
            value = e["args"]["name" if e["name"].endswith("name") else "sort_index"]
            assert type(value) is (str if e["name"].endswith("name") else int)
            tid = e["tid"] if e["name"].startswith("thread") else 0
            assert (e["name"], e["pid"], tid) not in named
            named.add((e["name"], e["pid"], tid))
            continue
        assert nanoseconds(e["ts"]) >= last
        last = nanoseconds(e["ts"])
        if e["ph"] == "X":
            assert e["dur"] >= 0
            assert {(n, e["pid"], e["tid"] if "thread" in n else 0) for n in METADATA} <= named
        elif e["ph"] == "s":
            assert e["id"] not in arrows
            arrows[e["id"]] = "open"
        elif e["ph"] == "f":
            assert arrows[e["id"]] == "open" and e["bp"] == "e"
            arrows[e["id"]] = "closed"
        else:
            assert all(v >= 0 for v in e["args"].values())
    assert set(arrows.values()) <= {"closed"}


def check_as_viewer(trace: dict[str, Any]) -> int:
    """Slices of a thread nest; the ends of an arrow fall on a set and a wait. Count of arrows."""
    open_slices: dict[tuple[int, int], list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    arrows = 0
    for e in trace["traceEvents"]:
        if e["ph"] not in "Xsf":
            continue
        stack = open_slices[e["pid"], e["tid"]]
        begin = nanoseconds(e["ts"])
        if e["ph"] == "X":
            while stack and stack[-1][0] <= begin:
                stack.pop()
            end = begin + nanoseconds(e["dur"])
            assert not stack or end <= stack[-1][0], (stack[-1], e)
            stack.append((end, e))
        else:
            arrows += e["ph"] == "s"
            top = stack[-1][1]
            assert top["cat"] == ("set" if e["ph"] == "s" else "wait") or "cross" in top["cat"], e
            assert top["args"]["flag"] == e["name"]
    return arrows


def slices(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [e for e in trace["traceEvents"] if e["ph"] == "X"]


def test_a_small_run() -> None:
    run = small_run()
    trace = chrome_trace(run)
    check_format(trace)
    assert check_as_viewer(trace) == 2
    names = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in trace["traceEvents"]
        if e["name"] == "thread_name"
    }
    processes = {
        e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"
    }
    assert list(processes.values()) == ["chip", "block 0 aic", "block 0 aiv0"]
    add = next(e for e in slices(trace) if e["name"] == "Add")
    assert (processes[add["pid"]], names[add["pid"], add["tid"]]) == ("block 0 aiv0", "V")
    assert add["ts"] == pytest.approx(110 / 1800, abs=5e-4) and add["dur"] == pytest.approx(
        30 / 1800, abs=5e-4
    )
    assert add["args"]["C++"] == "kernel.cpp:6" and "Python" not in add["args"]
    wait = next(e for e in slices(trace) if e["name"] == "WaitFlag")
    assert wait["args"] == {
        "API": "WaitFlag", "C++": "kernel.cpp:5", "Python": "made.py:3", "flag": "MTE2 to V, id 0",
        "waited cycles": 98.0, "waited for": "flag", "event": 2,
    }  # fmt: skip
    first, second = (e for e in slices(trace) if e["name"] == "DataCopy")
    assert first["args"]["bytes"] == 4096
    assert names[second["pid"], second["tid"]] == "MTE2 (2 in flight)"
    assert trace["otherData"]["modelled us with launch"] == pytest.approx(
        run.timeline.microseconds + 2.5
    )


def test_the_traffic_counter_has_all_bytes() -> None:
    trace = chrome_trace(small_run())
    steps = [e for e in trace["traceEvents"] if e["ph"] == "C"]
    times = np.array([e["ts"] for e in steps])
    moved = sum(np.array([e["args"]["read GB/s"] for e in steps[:-1]]) * np.diff(times)) * 1e3
    assert moved == pytest.approx(12288, rel=0.02)
    assert steps[-1]["args"] == {"read GB/s": 0.0, "write GB/s": 0.0}


@pytest.mark.parametrize("count", [0, 1])
def test_almost_nothing(count: int) -> None:
    trace = chrome_trace(made_run([event("Add", "V", 0, 3)][:count]))
    check_format(trace)
    assert len(slices(trace)) == count


@settings(max_examples=examples(kept_number(60)))
@given(chance_runs())
def test_runs_by_chance(run: TimedRun) -> None:
    trace = chrome_trace(run)
    check_format(trace)
    check_as_viewer(trace)
    assert sorted(e["args"]["event"] for e in slices(trace)) == list(
        range(len(run.timeline.events))
    )


@settings(max_examples=examples(kept_number(60)))
@given(chance_runs())
def test_lanes_do_not_overlap(run: TimedRun) -> None:
    events = run.timeline.events
    lane = lanes(events)
    last: dict[tuple[int, ...], float] = {}
    for i in np.lexsort((np.arange(len(events)), events["begin"])):
        e = events[i]
        if e["end"] > e["begin"]:
            key = (e["block"], e["core"], e["pipe"], lane[i])
            assert last.get(key, 0) <= e["begin"]
            last[key] = e["end"]
        else:
            assert lane[i] == 0


@pytest.mark.parametrize("stem", ["03_gemm_intrinsic", "05_flash_attention"])
def test_examples(stem: str) -> None:
    run = example_run(stem)
    events = run.timeline.events
    trace = chrome_trace(run)
    check_format(trace)
    arrows = check_as_viewer(trace)
    assert arrows == np.isin(events["kind"], [KINDS.index("wait"), KINDS.index("cross wait")]).sum()
    assert len(slices(trace)) == len(events)
    total = sum(e["dur"] for e in slices(trace))
    assert total == pytest.approx(
        float((events["end"] - events["begin"]).sum()) / run.timeline.mhz, rel=1e-3
    )
    ours = [e for e in slices(trace) if e["args"]["C++"].startswith("kernel.cpp")]
    for each in ours:
        place = each["args"].get("Python")
        # What the TPipe at the head of the kernel does stands for no line of the script.
        assert place is None or place.startswith(f"{stem}.py:")
        assert place is not None or each["name"] in ("SetFlag", "WaitFlag", "PipeBarrier"), each


@pytest.mark.parametrize("stem", ["03_gemm_intrinsic", "05_flash_attention"])
def test_a_wait_that_waited_ends_when_its_flag_comes(stem: str) -> None:
    events = example_run(stem).timeline.events
    pairs = flag_pairs(events)
    assert len(np.unique(pairs[:, 0])) <= len(pairs) == len(np.unique(pairs[:, 1]))
    sets, waits = events[pairs[:, 0]], events[pairs[:, 1]]
    cross = waits["kind"] == KINDS.index("cross wait")
    delay = np.where(cross, DEFAULT_TIMING.cross_flag_latency, DEFAULT_TIMING.flag_latency)
    assert (sets["complete"] + delay <= waits["end"] + 1e-6).all()
    waited = waits["waited"] > 0
    assert np.allclose((sets["complete"] + delay)[waited], waits["end"][waited])


def cross(
    which: str, block: int, core: str, begin: float, end: float, cause: int = -1, mode: int = 0
) -> dict[str, Any]:
    api = "CrossCoreSetFlag" if which == "cross set" else "CrossCoreWaitFlag"
    waited = end - begin if which == "cross wait" else 0
    return event(api, "MTE3" if which == "cross set" else "S", begin, end, kind=which, flag=5, block=block,
                 core=core, waited=waited, cause=cause, mode=mode, reason="cross-core flag" if waited else "")  # fmt: skip


def test_cross_core_flags_of_both_vector_cores() -> None:
    """Mode 2 towards the cube core: it goes on when both have set; the later set is the cause."""
    events = made_run([
        cross("cross set", 0, "aiv0", 10, 10, mode=2), cross("cross set", 0, "aiv1", 30, 30, mode=2),
        cross("cross set", 0, "aiv0", 50, 50, mode=2), cross("cross set", 0, "aiv1", 40, 40, mode=2),
        cross("cross wait", 0, "aic", 0, 130, cause=1), cross("cross wait", 0, "aic", 132, 150, cause=2),
        cross("cross wait", 0, "aic", 152, 152),
    ]).timeline.events  # fmt: skip
    assert flag_pairs(events).tolist() == [[1, 4], [2, 5]]


def test_cross_core_flags_of_all_blocks() -> None:
    """Mode 0: every block waits for the last one."""
    events = made_run([
        *(cross("cross set", b, "aiv0", 10 + b, 10 + b) for b in range(3)),
        *(cross("cross wait", b, "aiv0", 20, 112, cause=2) for b in range(3)),
    ]).timeline.events  # fmt: skip
    assert flag_pairs(events).tolist() == [[2, 3], [2, 4], [2, 5]]


def test_cross_core_flags_of_the_pair() -> None:
    """Mode 1: the two vector cores of a block; what other blocks do does not matter."""
    events = made_run([
        *(cross("cross set", b, core, 10 + 5 * b + i, 10 + 5 * b + i, mode=1) for b in range(2) for i, core in enumerate(("aiv0", "aiv1"))),
        *(cross("cross wait", b, core, 20, 111 + 5 * b, cause=2 * b + 1) for b in range(2) for core in ("aiv0", "aiv1")),
    ]).timeline.events  # fmt: skip
    assert flag_pairs(events).tolist() == [[1, 4], [1, 5], [3, 6], [3, 7]]


def test_flags_without_partner_have_no_arrow() -> None:
    run = made_run([
        event("SetFlag", "M", 1, 1, kind="set", other="FIX", flag=1),
        event("WaitFlag", "FIX", 5, 9, kind="wait", other="M", flag=2),
    ])  # fmt: skip
    assert flag_pairs(run.timeline.events).shape == (0, 2)
    check_format(chrome_trace(run))


def test_blocks() -> None:
    run = many_events(2 * BLOCK_CAP * 10)
    events = run.timeline.events.copy()
    events["block"] = np.arange(len(events)) // 10
    object.__setattr__(run.timeline, "events", events)
    trace = chrome_trace(run)
    assert trace["otherData"]["blocks left out"] == BLOCK_CAP
    assert len(slices(trace)) == BLOCK_CAP * 10
    trace = chrome_trace(run, [3, 100])
    check_format(trace)
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert names == ["chip", "block 3 aiv0", "block 100 aiv0"]
    with pytest.raises(KernelError) as error:
        chrome_trace(run, [3, 500])
    assert error.value.slug == "no-such-block"


def test_the_file_is_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    write_chrome_trace(small_run(), path)
    assert json.loads(path.read_text()) == json.loads(json.dumps(chrome_trace(small_run())))
