"""Timed runs for tests: made by hand, by chance, and those of the examples."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from example_kernels import load
from hypothesis import strategies as st

from tile_ir.switches import override
from tile_runtime.simulator.timeline import (
    ACCESS,
    CORES,
    EVENT,
    KINDS,
    MEMORIES,
    PIPES,
    REASONS,
    Timeline,
)
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs

SOURCE = """\
void kernel() {
  const LocalTensor<half> left = ub.GetWithOffset<half>(64, 0);  // made.py:1
  LocalTensor<half> right[2] = {};
  DataCopy(left, x, 64);  // made.py:2
  if (a == b) SetFlag<HardEvent::MTE2_V>(0);  // made.py:3
  Add(z, left, right, 64);
}
"""
PYTHON = "left = alloc()\ncopy(x, left)\nset_flag()  # </script><b>\n"
FILE = "/somewhere/kernel.cpp"


def event(
    api: str,
    pipe: str,
    begin: float,
    end: float,
    *,
    kind: str = "work",
    line: int = 4,
    block: int = 0,
    core: str = "aiv0",
    waited: float = 0,
    reason: str = "",
    other: str = "S",
    flag: int = 0,
    mode: int = 0,
    complete: float | None = None,
    cause: int = -1,
    moved: int = 0,
) -> dict[str, Any]:
    """One event; `other` is the pipe at the other end of a flag."""
    return {
        "api": api, "begin": begin, "end": end, "complete": end if complete is None else complete,
        "waited": waited, "bytes": moved, "cause": cause, "file": 1, "line": line, "block": block,
        "core": CORES.index(core), "pipe": PIPES.index(pipe), "kind": KINDS.index(kind),
        "reason": REASONS.index(reason), "source": PIPES.index(other), "flag": flag,
        "mode": mode,
    }  # fmt: skip


def access(
    number: int,
    memory: str,
    begin: int,
    end: int,
    kind: str,
    *,
    made: int = 2,
    buffer: tuple[int, int] = (0, 128),
) -> tuple[Any, ...]:
    """What event `number` reads or writes."""
    return (
        begin, end, number, made, *buffer, MEMORIES.index(memory), ("read", "write").index(kind), 0, 0, 0,
    )  # fmt: skip


def made_run(
    events: Sequence[dict[str, Any]], accesses: Sequence[tuple[Any, ...]] = (), **totals: float
) -> TimedRun:
    """A run of SOURCE with these events."""
    strings = ["", FILE]
    array = np.zeros(len(events), EVENT)
    for row, values in zip(array, events, strict=True):
        for name, value in values.items():
            if name == "api":
                if value not in strings:
                    strings.append(value)
                value = strings.index(value)
            row[name] = value
    last = float(array["complete"].max(initial=0))
    sums = {
        "cycles": last,
        "launch_us": 2.5,
        "macs": 0,
        "read_bytes": 0,
        "write_bytes": 0,
        "hbm_bytes": 0,
        "start_cycles": 0.0,
        "scalar_aic_cycles": 0.0,
        "scalar_aiv_cycles": 0.0,
    }
    timeline = Timeline(
        {**sums, **totals}, strings, array, np.array(list(accesses), ACCESS), 1800.0, 24, 48, 1500.0
    )  # fmt: skip
    places = {(FILE, 2): ("made.py", 1), (FILE, 4): ("made.py", 2), (FILE, 5): ("made.py", 3)}
    return TimedRun(timeline, "made", "Ascend910B2", {FILE: SOURCE, "made.py": PYTHON}, places)


def small_run() -> TimedRun:
    """A copy, a flag, a product of vectors, a copy back beside another copy, and a cross-core flag."""
    return made_run(
        [
            event("DataCopy", "MTE2", 10, 110, moved=4096, complete=110),
            event("SetFlag", "MTE2", 30, 30, kind="set", other="V", line=5, complete=110),
            event("WaitFlag", "V", 12, 110, kind="wait", other="MTE2", line=5, waited=98, reason="flag", cause=0),
            event("Add", "V", 110, 140, line=6, complete=150, cause=2),
            event("DataCopy", "MTE2", 30, 170, moved=8192),
            event("CrossCoreSetFlag", "MTE3", 170, 170, kind="cross set", flag=3, mode=2, line=6),
            event("CrossCoreWaitFlag", "S", 20, 270, kind="cross wait", flag=3, core="aic", waited=250, reason="cross-core flag", cause=5, line=6),
            event("Mmad", "M", 280, 300.5, core="aic", waited=10, reason="issue", cause=6, line=6),
        ],
        [access(0, "UB", 0, 128, "write"), access(3, "UB", 0, 128, "read"), access(3, "UB", 0, 64, "write", made=3, buffer=(128, 256))],
        macs=1 << 20, read_bytes=12288, hbm_bytes=8192,
    )  # fmt: skip


def many_events(count: int) -> TimedRun:
    """A run of `count` events over blocks and pipes, with flags and accesses."""
    per_block = 10_000
    number = np.arange(count)
    array = np.zeros(count, EVENT)
    array["api"] = 2
    array["file"] = 1
    array["line"] = 2 + number % 5
    array["block"] = number // per_block
    array["core"] = 1
    array["pipe"] = np.array([1, 4, 5, 4, 1, 5])[number % 6]
    array["kind"] = np.array([0, 0, 0, 1, 2, 0])[number % 6]
    array["source"] = np.where(array["kind"] == 1, 1, 4)
    array["begin"] = (number % per_block) * 7.5 + number % 3
    array["end"] = array["begin"] + np.where(array["kind"] == 1, 0, 6.25)
    array["complete"] = array["end"] + 3
    array["waited"] = np.where(array["kind"] == 2, 6.25, 0)
    array["reason"] = np.where(array["kind"] == 2, 2, 0)
    array["cause"] = np.where(number % per_block == 0, -1, number - 1)
    accesses = np.zeros(2 * count, ACCESS)
    accesses["event"] = np.repeat(number, 2)
    accesses["kind"] = np.tile([0, 1], count)
    accesses["begin"] = (np.repeat(number, 2) * 256 + accesses["kind"] * 64) % 65536
    accesses["end"] = accesses["begin"] + 64
    accesses["buffer_end"] = 65536
    accesses["made"] = 2
    accesses["memory"] = 1
    totals = {"cycles": float(array["complete"].max()), "launch_us": 2.0, "macs": 0.0,
              "read_bytes": 0.0, "write_bytes": 0.0, "hbm_bytes": 0.0,
              "start_cycles": 0.0, "scalar_aic_cycles": 0.0, "scalar_aiv_cycles": 0.0}  # fmt: skip
    timeline = Timeline(totals, ["", FILE, "Add"], array, accesses, 1800.0, 24, 48, 1500.0)
    return TimedRun(timeline, "many", "Ascend910B2", {FILE: SOURCE})


@st.composite
def chance_runs(draw: st.DrawFn) -> TimedRun:
    """Cores whose pipes work, overlap transfers, set flags and wait for them, at odd times."""
    events: list[dict[str, Any]] = []
    clock = st.floats(0, 40, width=32)
    for core, block in (("aiv0", 0), ("aic", 0), ("aiv0", 3)):
        turn = dict.fromkeys(PIPES, draw(clock))
        tokens: list[tuple[str, str, int, float]] = []
        for what in draw(
            st.lists(st.sampled_from(["work", "transfer", "set", "wait"]), max_size=12)
        ):
            pipe = draw(st.sampled_from(PIPES[1:]))
            begin = turn[pipe] + draw(st.sampled_from([0.0, 0.0, 0.4, 7.0]))
            length = draw(st.sampled_from([0.0, 0.3, 1.0, 13.7])) + draw(clock) * 0.25
            if what == "set":
                other = draw(st.sampled_from([p for p in PIPES[1:] if p != pipe]))
                flag = draw(st.integers(0, 1))
                tokens.append((pipe, other, flag, begin))
                events.append(
                    event(
                        "SetFlag",
                        pipe,
                        begin,
                        begin,
                        kind="set",
                        other=other,
                        flag=flag,
                        block=block,
                        core=core,
                    )
                )
                turn[pipe] = begin
            elif what == "wait" and tokens:
                source, target, flag, ready = tokens.pop(0)
                begin = turn[target]
                end = max(begin, ready)
                events.append(event("WaitFlag", target, begin, end, kind="wait", other=source, flag=flag, waited=end - begin,
                                    reason="flag" if end > begin else "", block=block, core=core))  # fmt: skip
                turn[target] = end
            else:
                events.append(
                    event("DataCopy", pipe, begin, begin + length, moved=64, block=block, core=core)
                )
                turn[pipe] = begin + (min(length, 5.0) if what == "transfer" else length)
    return made_run(events)


@functools.cache
def example_run(stem: str) -> TimedRun:
    """The last run of an example."""
    runs: list[TimedRun] = []
    module = load(stem)
    with (
        override(time=True),
        watch_timed_runs(runs.append),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        module.main()
    return runs[-1]
