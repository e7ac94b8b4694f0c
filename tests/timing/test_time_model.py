"""The time model on kernels small enough to work out by hand (constants: timed_kernel_set.py)."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from timed_kernel_set import ROUND, TimedKernelSet, times

from tile_runtime.simulator.timeline import PIPES, REASONS

F32 = np.float32
# Places without conflicts: two sources eight bank groups apart, the result in another bank.
KERNELS = TimedKernelSet(
    """
struct Vectors {
    LocalTensor<float> x{TPosition::VECCALC, 0, 8192};
    LocalTensor<float> y{TPosition::VECCALC, 0x10100, 8192};
    LocalTensor<float> z{TPosition::VECCALC, 0x20000, 8192};
    __aicore__ inline void add(int32_t repeats) { Add(z, x, y, 64, repeats, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); }
};
__aicore__ inline GlobalTensor<float> global(GM_ADDR x)
{
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)x);
    return g;
}
"""
)
# Add takes its repeats, at least two cycles, and can be used 10 later; 1024 floats from HBM take 4096 / 50 = 81.92, from L2 40.96.
COLD, HOT = 81.92, 40.96


def add(name: str, parameters: str, body: str, kind: str = "KERNEL_TYPE_AIV_ONLY") -> str:
    return KERNELS.add(name, parameters, body, kind)


FIFO = add("fifo", "GM_ADDR x", "Vectors v; v.add(4); v.add(30); v.add(1);")


def test_a_pipe_takes_its_instructions_one_after_the_other() -> None:
    assert times(KERNELS.timeline(FIFO, np.zeros(1, F32)), "V") == [(1, 5), (5, 35), (35, 37)]


OVERLAP = add("overlap", "GM_ADDR x", "Vectors v; DataCopy(v.x, global(x), 1024); v.add(4);")


def test_pipes_run_side_by_side() -> None:
    timeline = KERNELS.timeline(OVERLAP, np.zeros(1024, F32))
    assert times(timeline, "MTE2") == [(1, pytest.approx(1 + COLD))]
    assert times(timeline, "V") == [(2, 6)]


FLAG = add(
    "flag",
    "GM_ADDR x",
    """
Vectors v;
DataCopy(v.x, global(x), 1024);
SetFlag<HardEvent::MTE2_V>(0);
WaitFlag<HardEvent::MTE2_V>(0);
v.add(4);
""",
)


def test_a_flag_orders_two_pipes() -> None:
    timeline = KERNELS.timeline(FLAG, np.zeros(1024, F32))
    assert times(timeline, "V") == [(pytest.approx(1 + COLD), pytest.approx(5 + COLD))]
    (stall,) = [stall for stall in timeline.stalls() if stall.reason == "flag"]
    assert stall.pipe == "V"
    assert stall.cycles == pytest.approx(1 + COLD - 3)  # the wait is issued third
    waiting = timeline.events[timeline.events["reason"] == REASONS.index("flag")][0]
    cause = timeline.events[waiting["cause"]]
    assert PIPES[cause["pipe"]] == "MTE2"


BARRIER = add(
    "barrier",
    "bool barrier",
    "Vectors v; v.add(1); if (barrier) { PipeBarrier<PIPE_V>(); } v.add(1);",
)


@pytest.mark.parametrize(("barrier", "begin"), [(False, 3), (True, 42)])
def test_a_barrier_waits_until_results_can_be_used(barrier: bool, begin: int) -> None:
    timeline = KERNELS.timeline(BARRIER, barrier, table=replace(ROUND, vector_latency=39))
    assert times(timeline, "V")[1][0] == begin


ALL = add(
    "barrier_all",
    "GM_ADDR x",
    "Vectors v; DataCopy(v.x, global(x), 1024); PipeBarrier<PIPE_ALL>(); v.add(1);",
)


def test_the_scalar_unit_waits_for_all_pipes() -> None:
    begin = 1 + COLD + 2  # the barrier and the issue
    assert times(KERNELS.timeline(ALL, np.zeros(1024, F32)), "V") == [
        (pytest.approx(begin), pytest.approx(begin + 2))
    ]


QUEUE = add(
    "queue", "GM_ADDR x, int32_t adds",
    "Vectors v; for (int32_t i = 0; i < adds; ++i) { v.add(4); } DataCopy(v.x, global(x), 1024);",
)  # fmt: skip


@pytest.mark.parametrize("adds", [1, 32, 33, 34, 35, 36, 40, 100])
@pytest.mark.parametrize("depth", [1, 4, 32])
def test_a_full_queue_stops_the_scalar_unit(adds: int, depth: int) -> None:
    """An instruction enters when the one `depth` before it has left; each Add takes 4 cycles."""
    left: list[float] = []
    now = 0.0
    for i in range(adds):
        now = max(now, left[i - depth] if i >= depth else 0) + 1
        left.append(max(now, left[-1] + 4 if left else 0))
    timeline = KERNELS.timeline(QUEUE, np.zeros(1024, F32), adds, queue_depth=depth)
    assert times(timeline, "MTE2")[0][0] == now + 1
    load = timeline.events[timeline.events["pipe"] == PIPES.index("MTE2")][0]
    full = any(i >= depth and left[i - depth] > i for i in range(adds))
    assert REASONS[load["reason"]] == ("queue full" if full else "issue")


CROSS = add(
    "cross", "int32_t mode",
    """
Vectors v;
const bool late = GetBlockIdx() == (mode == 2 ? 0 : 1);  // of the AIVs
if ASCEND_IS_AIV {
    if (late) { v.add(100); }
    if (mode == 0) { CrossCoreSetFlag<0, PIPE_V>(3); CrossCoreWaitFlag(3); }
    if (mode == 1) { CrossCoreSetFlag<1, PIPE_V>(3); CrossCoreWaitFlag(3); }
    if (mode == 2) { CrossCoreSetFlag<2, PIPE_V>(3); }
} else if (mode == 2) {
    CrossCoreWaitFlag(3);
}
""",
    "KERNEL_TYPE_MIX_AIC_1_2",
)  # fmt: skip


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_counters_between_cores(mode: int) -> None:
    """The second AIV (mode 2: the first) sets its flag when its Add is done, at 1 + 110; the others wait."""
    timeline = KERNELS.timeline(CROSS, mode, blocks=2)
    events = timeline.events
    waits = events[events["kind"] == 6]
    ends = {(int(e["block"]), int(e["core"])): float(e["end"]) for e in waits}
    late, early = 111.0 + 20, 1.0 + 20
    if mode == 0:
        assert ends == {(block, core): late for block in (0, 1) for core in (1, 2)}
    elif mode == 1:
        assert ends == {(0, 1): late, (0, 2): late, (1, 1): early, (1, 2): early}
    else:
        assert ends == {(0, 0): late, (1, 0): early}


def test_blocks_beyond_the_cores_run_when_a_core_is_free() -> None:
    """Three cores and seven blocks of 46 cycles: three rounds."""
    timeline = KERNELS.timeline(FIFO, np.zeros(1, F32), blocks=7, vector_cores=3)
    starts = [begin for begin, _ in times(timeline, "V")[::3]]
    assert starts == [1, 1, 1, 48, 48, 48, 95]
    assert timeline.totals["cycles"] == 141


def test_a_launch_that_would_hang_takes_for_ever() -> None:
    """All AIVs wait for each other, and there are cores for two of three blocks."""
    assert KERNELS.timeline(CROSS, 0, blocks=3, cube_cores=2).microseconds == float("inf")
    assert KERNELS.timeline(CROSS, 0, blocks=3, cube_cores=3).microseconds < 1


def test_cost_of_a_launch_grows_with_the_cores() -> None:
    """With each core that starts, one of three in a block of an AIC and its AIVs; a block that follows another on a
    core costs its own start, and one whose code is there too."""
    table = replace(ROUND, launch_us=1, launch_core_us=0.5, start_core_us=0.25, block_us=2)
    for blocks in (1, 24, 48):
        timeline = KERNELS.timeline(FIFO, np.zeros(1, F32), blocks=blocks, table=table)
        assert timeline.totals["launch_us"] == 1 + 0.5 * blocks
        assert timeline.totals["cycles"] == 47 + 2000 + 250 * blocks
    timeline = KERNELS.timeline(FIFO, np.zeros(1, F32), blocks=49, table=table)
    assert timeline.totals["cycles"] == 2 * (47 + 2000) + 250 * 48
    timeline = KERNELS.timeline(FIFO, np.zeros(1, F32), blocks=48, table=table, warm=True)
    assert timeline.totals["cycles"] == 47 + 2000
    timeline = KERNELS.timeline(CROSS, 1, blocks=2, table=table)
    assert timeline.totals["launch_us"] == 1 + 0.5 * 6


SHARE = add(
    "shared_memory", "GM_ADDR x", "Vectors v; DataCopy(v.x, global(x)[GetBlockIdx() * 8192], 8192);"
)  # fmt: skip


@pytest.mark.parametrize("cores", [1, 3, 4, 5, 8, 48])
def test_cores_share_what_hbm_has(cores: int) -> None:
    """Each moves 32 KB at 50 bytes a cycle, or at its share of 200."""
    timeline = KERNELS.timeline(
        SHARE, np.zeros(cores * 8192, F32), blocks=cores, hbm_bandwidth=200.0
    )
    rate = min(50, 200 / cores)
    for begin, end in times(timeline, "MTE2"):
        assert end - begin == pytest.approx(32768 / rate)
    slowed = [stall for stall in timeline.stalls() if stall.reason == "memory"]
    assert len(slowed) == (cores > 4)
    if slowed:
        assert slowed[0].cycles == pytest.approx(cores * 32768 * (1 / rate - 1 / 50))


def test_cores_share_what_l2_has() -> None:
    timeline = KERNELS.timeline(
        SHARE, np.zeros(8 * 8192, F32), blocks=8, l2_bandwidth=400.0, warm=True
    )
    for begin, end in times(timeline, "MTE2"):
        assert end - begin == pytest.approx(32768 / 50)
    assert timeline.totals["hbm_bytes"] == 0


SAME = add("same_lines", "GM_ADDR x", "Vectors v; DataCopy(v.x, global(x), 8192);")


@pytest.mark.parametrize(("hbm", "rate"), [(1000.0, 50), (20.0, 20)])
def test_who_asks_for_what_is_arriving_waits_for_it(hbm: float, rate: float) -> None:
    """Three cores ask for the same lines at a time: one reads them from HBM, and none has them before it."""
    timeline = KERNELS.timeline(SAME, np.zeros(8192, F32), blocks=3, hbm_bandwidth=hbm)
    for begin, end in times(timeline, "MTE2"):
        assert end - begin == pytest.approx(32768 / rate)
    assert timeline.totals["hbm_bytes"] == 32768


LATENCY = add(
    "latency", "GM_ADDR x, int32_t bytes",
    """
Vectors v;
const DataCopyExtParams copy(1, bytes, 0, 0, 0);
DataCopyPad(v.x, global(x), copy, DataCopyPadExtParams<float>(false, 0, 0, 0));
SetFlag<HardEvent::MTE2_MTE3>(0);
WaitFlag<HardEvent::MTE2_MTE3>(0);
DataCopyPad(global(x), v.x, copy);
PipeBarrier<PIPE_ALL>();
""",
)  # fmt: skip


@pytest.mark.parametrize(("bytes", "warm", "load", "store"), [
    (64, True, 200, 300), (64, False, 250, 300), (4, True, 200, 500), (4, False, 250, 500),
])  # fmt: skip
def test_what_is_small_takes_the_latency_of_memory(
    bytes: int, warm: bool, load: float, store: float
) -> None:
    """Of a load, more past L2, and of a store, which reads the rest of 32 B it does not write whole."""
    table = replace(ROUND, gm_load_latency=200, gm_store_latency=300, gm_miss_latency=50)
    timeline = KERNELS.timeline(LATENCY, np.zeros(64, F32), bytes, warm=warm, table=table)
    ((begin, end),) = times(timeline, "MTE2")
    assert end - begin == 10
    ((begin, end),) = times(timeline, "MTE3")
    assert (begin, end - begin) == (1 + load, 10)
    assert timeline.totals["cycles"] == 1 + load + store + 1


TWICE = add(
    "twice", "GM_ADDR x, bool past",
    """
Vectors v;
GlobalTensor<float> from = global(x);
if (past) { from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE); }
from.SetL2CacheHint<CacheRwMode::WRITE>(CacheMode::CACHE_MODE_NORMAL);
DataCopy(v.x, from, 1024);
DataCopy(v.y, from, 1024);
""",
)  # fmt: skip


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_what_was_read_lies_in_l2(past: bool, warm: bool) -> None:
    timeline = KERNELS.timeline(TWICE, np.zeros(1024, F32), past, warm=warm)
    first, second = (end - begin for begin, end in times(timeline, "MTE2"))
    assert first == pytest.approx(HOT if warm else COLD)
    assert second == pytest.approx(COLD if past and not warm else HOT)
    assert timeline.totals["read_bytes"] == 8192
    assert timeline.totals["hbm_bytes"] == (0 if warm else 8192 if past else 4096)


BURSTS = add(
    "bursts", "GM_ADDR x, bool past",
    """
Vectors v;
GlobalTensor<float> from = global(x);
if (past) { from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE); }
DataCopy(v.x, from, DataCopyParams(64, 1, 63, 0));
""",
)  # fmt: skip


@pytest.mark.parametrize(("past", "moved"), [(False, 128), (True, 256)])
def test_short_bursts_move_more_than_they_need(past: bool, moved: int) -> None:
    """64 bursts of 32 B, 2 KB apart: whole sectors of 128 B, past L2 256 B."""
    timeline = KERNELS.timeline(BURSTS, np.zeros(64 * 512, F32), past)
    ((begin, end),) = times(timeline, "MTE2")
    assert end - begin == pytest.approx(64 * moved / 50)


REQUESTS = add(
    "requests", "GM_ADDR x, int32_t start, int32_t bytes",
    """
Vectors v;
const DataCopyExtParams copy(16, bytes, 4096 - bytes, 0, 0);
DataCopyPad(v.x, global(x)[start / 4], copy, DataCopyPadExtParams<float>(false, 0, 0, 0));
""",
)  # fmt: skip


@pytest.mark.parametrize(("start", "bytes", "moved"), [
    (0, 32, 128), (96, 32, 128), (96, 64, 256), (0, 160, 256), (128, 160, 512), (128, 256, 512), (0, 512, 512),
    (128, 384, 512), (128, 512, 1024), (0, 640, 1024), (512, 640, 1024), (256, 1024, 1536),
])  # fmt: skip
def test_a_run_is_asked_for_in_aligned_requests_of_one_size(
    start: int, bytes: int, moved: int
) -> None:
    """16 runs, 4 KB apart. L2 keeps whole sectors of what a line was asked for."""
    timeline = KERNELS.timeline(REQUESTS, np.zeros(17 * 1024, F32), start, bytes)
    assert timeline.totals["read_bytes"] == timeline.totals["hbm_bytes"] == 16 * moved
    ((begin, end),) = times(timeline, "MTE2")
    assert end - begin == pytest.approx(16 * moved / 50)


TOGETHER = add(
    "together", "GM_ADDR x, bool apart",
    """
Vectors v;
GlobalTensor<float> from = global(x)[apart ? GetBlockIdx() * 8192 : 0];
from.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
DataCopy(v.x, from, 8192);
""",
)  # fmt: skip


@pytest.mark.parametrize(("apart", "rate"), [(True, 50), (False, 10)])
def test_one_line_serves_one_core_at_a_time_past_l2(apart: bool, rate: int) -> None:
    timeline = KERNELS.timeline(
        TOGETHER, np.zeros(8 * 8192, F32), apart, blocks=8, same_line_rate=80.0
    )
    for begin, end in times(timeline, "MTE2"):
        assert end - begin == pytest.approx(32768 / rate)


WRITE = add(
    "write", "GM_ADDR x, GM_ADDR z",
    """
Vectors v;
DataCopy(global(z), v.z, 8192);
SetFlag<HardEvent::MTE3_MTE2>(0);
WaitFlag<HardEvent::MTE3_MTE2>(0);
DataCopy(v.x, global(x), 8192);
""",
)  # fmt: skip


STORE = add(
    "store_and_add", "GM_ADDR z, int32_t repeats",
    "Vectors v; DataCopy(global(z), v.z, 8192); PipeBarrier<PIPE_ALL>(); if (repeats > 0) { v.add(repeats); }",
)  # fmt: skip


def test_a_read_waits_while_l2_writes_back_what_was_changed() -> None:
    """L2 of 32 KB, HBM of 10 bytes a cycle and twice as slow for writes: the store takes 655.36 cycles, while L2
    writes back a tenth; then the load needs the room of the other nine."""
    x, z = np.zeros(8192, F32), np.zeros(8192, F32)
    constants = {"l2_bytes": 32768.0, "hbm_bandwidth": 10.0, "hbm_write_bandwidth": 5.0}
    timeline = KERNELS.timeline(WRITE, x, z, **constants)
    ((begin, end),) = times(timeline, "MTE3")
    assert end - begin == pytest.approx(655.36)
    owed = 32768 * 2 - 6553.6
    ((begin, end),) = times(timeline, "MTE2")
    assert end - begin == pytest.approx((owed + 32768) / 10)
    assert timeline.totals["hbm_bytes"] == 65536


HALVES = add(
    "halves_of_lines", "GM_ADDR z",
    """
Vectors v;
for (int32_t i = 0; i < 128; ++i) {
    DataCopy(global(z)[i * 64], v.z, 64);
}
""",
)  # fmt: skip


def test_lines_written_in_parts_leave_when_they_are_old() -> None:
    """64 lines in two halves each, the second soon after the first: L2 has room for 32."""
    timeline = KERNELS.timeline(HALVES, np.zeros(8192, F32), l2_bytes=32 * 512.0)
    assert timeline.totals["hbm_bytes"] == 32 * 512


@pytest.mark.parametrize(
    ("after", "owed"), [(0, 32768 - 655.36 * 5), (100, 32768 - 655.36 * 5 - 110 * 5)]
)
def test_what_l2_has_not_written_back_is_owed(after: int, owed: float) -> None:
    """The store takes 655.36 cycles, while L2 writes 5 bytes a cycle; what follows takes 10 + 100."""
    constants = {"hbm_bandwidth": 10.0, "hbm_write_bandwidth": 5.0}
    timeline = KERNELS.timeline(STORE, np.zeros(8192, F32), after, **constants)
    assert timeline.totals["owed_bytes"] == pytest.approx(owed, abs=20)
    paid = timeline.paid_microseconds - timeline.microseconds
    assert paid == pytest.approx(timeline.totals["owed_bytes"] / 930e3)


UNIT = add(
    "unit_flags", "GM_ADDR z, int32_t unit",
    """
LocalTensor<half> a(TPosition::A2, 0, 128 * 64);
LocalTensor<half> b(TPosition::B2, 0, 128 * 64);
LocalTensor<float> c(TPosition::CO1, 0, 128 * 128);
MmadParams p;
p.m = 128; p.n = 128; p.k = 64; p.unitFlag = unit;
FixpipeParamsV220 f;
f.nSize = 128; f.mSize = 128; f.srcStride = 128; f.dstStride = 128; f.unitFlag = unit;
for (int32_t i = 0; i < 2; ++i) {
    if (!unit && i > 0) { WaitFlag<HardEvent::FIX_M>(0); }
    Mmad(c, a, b, p);
    if (!unit) { SetFlag<HardEvent::M_FIX>(0); WaitFlag<HardEvent::M_FIX>(0); }
    Fixpipe(global(z), c, f);
    if (!unit && i == 0) { SetFlag<HardEvent::FIX_M>(0); }
}
""",
    "KERNEL_TYPE_AIC_ONLY",
)  # fmt: skip


def test_unit_flags_let_mmad_and_fixpipe_overlap() -> None:
    """Mmad: 10 + 256 cycles, and 47 until its result can be used. Fixpipe: 64 KB at 64 bytes a cycle."""
    z = np.zeros((128, 128), F32)
    plain = KERNELS.timeline(UNIT, z, 0, l0c_gm_rate=64.0)
    assert times(plain, "M", core=0) == [(1, 267), (1338, 1604)]
    assert times(plain, "FIX", core=0) == [(314, 1338), (1651, 2675)]
    unit = KERNELS.timeline(UNIT, z, 3, l0c_gm_rate=64.0)
    # The second Mmad can not end before the first Fixpipe, which starts with the first Mmad.
    assert times(unit, "M", core=0) == [(1, 267), (267, 1027)]
    assert times(unit, "FIX", core=0) == [(3, 1027), (1027, 2051)]  # a barrier is issued before


SYSTEM_CYCLE = add(
    "system_cycle", "GM_ADDR x, int32_t adds",
    """
Vectors v;
GlobalTensor<int64_t> to;
to.SetGlobalBuffer((__gm__ int64_t*)x);
const int64_t before = GetSystemCycle();
for (int32_t i = 0; i < adds; ++i) { v.add(100); }
to.SetValue(0, GetSystemCycle() - before);
DataCacheCleanAndInvalid<int64_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to);
""",
)  # fmt: skip


def test_the_counter_a_kernel_reads_is_not_the_clock_of_the_model() -> None:
    """It only grows: a kernel must compute the same whether it is timed or not."""
    ticks = np.zeros(8, np.int64)
    KERNELS.run(SYSTEM_CYCLE, ticks, 10, checks=0)
    untimed = int(ticks[0])
    KERNELS.timeline(SYSTEM_CYCLE, ticks, 10)
    assert untimed >= 0
    assert int(ticks[0]) >= 0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_timeline_does_not_depend_on_host_threads(threads: int) -> None:
    x, z = np.zeros(48 * 8192, F32), np.zeros(8192, F32)

    def run(name: str, *arguments: Any) -> bytes:
        timeline = KERNELS.timeline(
            name, *arguments, blocks=48, threads=threads, vector_cores=7, hbm_bandwidth=120.0
        )
        return bytes(timeline.events.tobytes() + timeline.accesses.tobytes())

    reference = KERNELS.timeline(
        SHARE, x, blocks=48, threads=1, vector_cores=7, hbm_bandwidth=120.0
    )
    assert run(SHARE, x) == reference.events.tobytes() + reference.accesses.tobytes()
    assert run(WRITE, x, z) == run(WRITE, x, z)


MILLION = add("million", "GM_ADDR x, int32_t times", """
Vectors v;
for (int32_t i = 0; i < times; ++i) {
    DataCopy(v.x, global(x), 1024);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    v.add(16);
    SetFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::V_MTE2>(0);
}
""")  # fmt: skip


def test_a_million_instructions_fit_into_two_gibibytes() -> None:
    """In a process of its own, of which the peak is told."""
    script = (
        "import sys, numpy\n"
        f"sys.path[:0] = {sys.path!r}\n"
        "import test_time_model as t\n"
        "line = t.KERNELS.timeline(t.MILLION, numpy.zeros(1024, 'f4'), 170_000)\n"
        # Of this program alone: ru_maxrss begins at what its parent held.
        "status = dict(x.split(':', 1) for x in open('/proc/self/status'))\n"
        "print(len(line.events), status['VmHWM'].split()[0])\n"
    )
    KERNELS.library()
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    events, kibibytes = map(int, found.stdout.split())
    assert events >= 1_000_000
    assert kibibytes < 2 * 2**20
