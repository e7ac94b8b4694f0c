"""Bank conflicts in a report: their cycles at their line, and room in UB that removes them when the kernel has it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from page_parser import parse
from tile_ir import KernelWarning
from tile_ir.switches import override
from tile_runtime import simulate
from tile_runtime.simulator.timeline import WORK, Timeline
from tile_runtime.tools.report.chrome_trace import chrome_trace
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.report_text import report_text
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.bank_padding import bank_conflicts
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

pytestmark = pytest.mark.usefixtures("quick_kernels")

N = 4096

# Line 19 adds. A_AT, B_AT and C_AT are where the operands lie, B_BLOCK and B_REPEAT the strides of b in blocks.
SOURCE = """\
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> gx;
    GlobalTensor<float> gy;
    GlobalTensor<float> gz;
    gx.SetGlobalBuffer((__gm__ float*)x, 4096);
    gy.SetGlobalBuffer((__gm__ float*)y, 4096);
    gz.SetGlobalBuffer((__gm__ float*)z, 4096);
    InitSocState();
    LocalTensor<float> a(TPosition::VECCALC, A_AT, 4096);
    LocalTensor<float> b(TPosition::VECCALC, B_AT, 4096);
    LocalTensor<float> c(TPosition::VECCALC, C_AT, 4096);
    DataCopy(a, gx, 4096);
    DataCopy(b, gy, 4096);
    PipeBarrier<PIPE_ALL>();
    // The conflict, if there is one, is in the next line.
    Add(c, a, b, 64, 8, BinaryRepeatParams(1, 1, B_BLOCK, 8, 8, B_REPEAT));
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, c, 512);
}
"""
ADD_LINE = 19


def hand_written(a: int, b: int, c: int, block: int = 1, repeat: int = 8) -> Timeline:
    x = np.zeros(N, np.float32)
    names = {"A_AT": a, "B_AT": b, "C_AT": c, "B_BLOCK": block, "B_REPEAT": repeat}
    result = simulate(
        SOURCE, "add", 1, [x, x.copy(), x.copy()], time=True, check="strict",
        defines=[f"{name}={value}" for name, value in names.items()],
    )  # fmt: skip
    assert result.error is None and not result.warnings and result.timeline is not None
    return result.timeline


def conflict_cycles(timeline: Timeline) -> float:
    return sum(s.cycles for s in timeline.stalls() if s.reason == "bank conflict")


def vector_cycles(timeline: Timeline) -> float:
    events = timeline.events[(timeline.events["pipe"] == 1) & (timeline.events["kind"] == WORK)]
    return float((events["end"] - events["begin"]).sum())


def test_room_before_a_buffer_removes_its_conflicts() -> None:
    a, b, c = 0, 0x4000, 0x10000
    planted = hand_written(a, b, c)
    (stall,) = [s for s in planted.stalls() if s.reason == "bank conflict"]
    (padding,) = planted.paddings
    first, second = padding["changes"]
    assert stall.line == padding["line"] == ADD_LINE
    assert stall.cycles == padding["cycles"] == 8
    assert padding["left"] == 0 and second["bytes"] == 0
    # It says which buffer by the line that makes it, and where that lies.
    assert (first["made"], first["at"], first["buffer_begin"], first["pitch"]) == (13, b, b, 0)
    room = int(first["bytes"])
    moved = [at + room if at >= first["at"] else at for at in (a, b, c)]
    mended = hand_written(*moved)
    assert conflict_cycles(mended) == 0 and not len(mended.paddings)
    assert vector_cycles(planted) - vector_cycles(mended) == stall.cycles


def test_longer_rows_remove_conflicts_of_blocks_a_pitch_apart() -> None:
    """Eight blocks of `b`, one in each of eight rows of 512 bytes, lie in one group."""
    planted = hand_written(0, 0x10100, 0x20000, 16, 1)
    (padding,) = planted.paddings
    changes = [change for change in padding["changes"] if change["bytes"]]
    assert padding["cycles"] == conflict_cycles(planted) >= 7 * 8
    assert [change["pitch"] for change in changes if change["pitch"]] == [512]
    wider = sum(int(change["bytes"]) for change in changes if change["pitch"]) // 32
    # Room moves what is behind it, and longer rows move what is behind the buffer.
    places = [0, 0x10100, 0x20000]
    moved = list(places)
    for change in changes:
        rows = N * 4 // 512 if change["pitch"] else 1
        behind = change["at"] + (1 if change["pitch"] else 0)
        moved = [
            at + int(change["bytes"]) * rows if old >= behind else at
            for at, old in zip(moved, places, strict=True)
        ]
    mended = hand_written(*moved, 16 + wider, 1)
    assert conflict_cycles(mended) == padding["left"] < padding["cycles"] / 4
    assert vector_cycles(planted) - vector_cycles(mended) == padding["cycles"] - padding["left"]


def test_operands_that_do_not_meet_lose_nothing() -> None:
    clean = hand_written(0, 0x10100, 0x20000)
    assert conflict_cycles(clean) == 0 and not len(clean.paddings)
    assert not clean.events["slowed"][clean.events["pipe"] == 1].any()


def python_run(tile: int, addresses: tuple[int, int, int] | None = None) -> TimedRun:
    @T.prim_func
    def add(
        A: T.Tensor((tile,), "float32"), B: T.Tensor((tile,), "float32"),
        C: T.Tensor((tile,), "float32"),
    ):  # fmt: skip
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((tile,), "float32")
            b = T.alloc_ub((tile,), "float32")
            c = T.alloc_ub((tile,), "float32")
            if addresses is not None:
                T.annotate_address({a: addresses[0], b: addresses[1], c: addresses[2]})
            with T.Scope("V"):
                if vid == 0:
                    T.copy(A, a)
                    T.copy(B, b)
                    T.barrier_all()
                    T.tile.add(c, a, b)  # planted
                    T.barrier_all()
                    T.copy(c, C)

    runs: list[TimedRun] = []
    inputs = [torch.zeros(tile), torch.zeros(tile)]
    with (
        override(time=True, check="strict"),
        warnings.catch_warnings(),
        watch_timed_runs(runs.append),
    ):
        warnings.simplefilter("ignore", KernelWarning)
        T.compile(add, out_idx=[2])(*inputs)
    return runs[-1]


def marked_line(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.endswith(mark))


def test_a_report_names_the_buffer_and_the_room(tmp_path: Path) -> None:
    run = python_run(N)
    (bank,) = bank_conflicts(run)
    assert (Path(bank.place[0]).name, bank.place[1]) == (
        Path(__file__).name,
        marked_line("# planted"),
    )
    assert (bank.cycles, bank.left) == (64, 0)
    said = (
        "leave 256 bytes (64 elements) free in front of `b`, at byte 16384 of UB, so that it and "
        "all behind it move: 0 of 64 cycles are left"
    )
    assert bank.advice == said
    assert said in report_text(run)
    page = parse(report_page(run))
    (row,) = page.one("section", id="banks").all("tr", tabindex="0")
    assert said.replace("`", "") in row.words()
    trace: Any = chrome_trace(run)
    lost = [item["args"] for item in trace["traceEvents"] if "lost cycles" in item.get("args", {})]
    assert [(args["lost cycles"], args["lost to"]) for args in lost] == [(64, "bank conflict")]
    save_run(run, tmp_path / "run.npz")
    assert bank_conflicts(load_run(tmp_path / "run.npz")) == [bank]


def test_the_planned_buffers_moved_as_advised_lose_nothing() -> None:
    run = python_run(N, (0, 16384 + 256, 32768 + 256))
    assert bank_conflicts(run) == []
    assert "bank conflict" not in report_text(run)
    assert not parse(report_page(run)).all("section", id="banks")


def test_the_verdict_says_that_conflicts_make_the_vector_pipe_slow() -> None:
    @T.prim_func
    def sums(A: T.Tensor((N,), "float32"), B: T.Tensor((48, N), "float32")):
        with T.Kernel(24, is_npu=True) as (cid, vid):
            a = T.alloc_ub((N,), "float32")
            b = T.alloc_ub((N,), "float32")
            c = T.alloc_ub((N,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                T.copy(A, b)
                T.barrier_all()
                for _ in T.serial(200):
                    T.tile.add(c, a, b)  # looped
                    T.pipe_barrier("v")
                T.barrier_all()
                T.copy(c, B[cid * 2 + vid, :])

    runs: list[TimedRun] = []
    with override(time=True), watch_timed_runs(runs.append):
        T.compile(sums, out_idx=[1])(torch.zeros(N))
    found = verdict(Measures(runs[-1]))
    assert found.bound == "bank conflicts"
    assert "leave 256 bytes (64 elements) free in front of `b`" in found.text
    assert [number for _, number in found.places] == [marked_line("# looped")]


def test_a_full_memory_has_no_room_that_removes_conflicts() -> None:
    (bank,) = bank_conflicts(python_run(16384))
    assert (bank.left, bank.changes) == (bank.cycles, ())
    assert bank.advice == (
        "neither room in front of an operand nor longer rows that fit in UB remove a quarter "
        "of them"
    )
