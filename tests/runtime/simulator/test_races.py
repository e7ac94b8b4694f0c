"""Order of accesses: what must be objected to at which level, what must not, and in what words."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

KERNELS = KernelSet(
    """
// x, y, z: three buffers of 64 floats in UB; gx, gy: two of GM with a part of their own for every AIV.
struct Vectors {
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b, c;
    LocalTensor<float> x, y, z;
    GlobalTensor<float> gx, gy;
    __aicore__ inline Vectors(GM_ADDR from, GM_ADDR to, int32_t step)
    {
        pipe.InitBuffer(a, 256); pipe.InitBuffer(b, 256); pipe.InitBuffer(c, 256);
        x = a.Get<float>(); y = b.Get<float>(); z = c.Get<float>();
        gx.SetGlobalBuffer((__gm__ float*)from + GetBlockIdx() * step);
        gy.SetGlobalBuffer((__gm__ float*)to + GetBlockIdx() * step);
    }
};
"""
)
DEVICE, STRICT = 1, 2
IN = "SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);"
OUT = "SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);"
BARRIER = "PipeBarrier<PIPE_V>();"
LOAD = f"DataCopy(x, gx, 64); DataCopy(y, gx[64], 64); {IN}"
STORE = f"{OUT} DataCopy(gy, z, 64);"

# name: body on an AIV, the lowest level that objects (None: no level does), kind, words
CASES: dict[str, tuple[str, int | None, str, tuple[str, ...]]] = {
    "right": (f"{LOAD} Add(z, x, y, 64); {STORE}", None, "", ()),
    "no_wait_in": (
        f"DataCopy(x, gx, 64); Add(z, x, x, 64); {STORE}", DEVICE, "race",
        ("MTE2 writes bytes [0, 256)", "V reads them (Add", "nothing orders the two"),
    ),
    "no_wait_out": (
        f"{LOAD} Add(z, x, y, 64); DataCopy(gy, z, 64);", DEVICE, "race",
        ("V writes bytes [0, 256)", "MTE3 reads them (DataCopy"),
    ),
    "overwritten_while_read": (
        f"{LOAD} Add(z, x, y, 64); DataCopy(x, gx, 64); {STORE}", DEVICE, "race",
        ("V reads bytes [0, 256)", "MTE2 writes them"),
    ),
    "overwritten_while_stored": (
        f"{LOAD} Add(z, x, y, 64); {STORE} Adds(z, x, 1.0f, 64);", DEVICE, "race",
        ("MTE3 reads bytes [0, 256)", "V writes them"),
    ),
    "two_loads_into_one": (
        f"DataCopy(x, gx, 64); DataCopy(x, gx[64], 64); {IN} Add(z, x, x, 64); {STORE}", DEVICE, "race",
        ("MTE2 writes bytes [0, 256)", "MTE2 writes them"),
    ),
    "two_loads_with_barrier": (
        f"DataCopy(x, gx, 64); PipeBarrier<PIPE_MTE2>(); DataCopy(x, gx, 64); {IN} Add(z, x, x, 64); {STORE}",
        None, "", (),
    ),
    "flag_of_another_pair": (
        "DataCopy(x, gx, 64); SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); "
        f"Add(z, x, x, 64); {STORE}", DEVICE, "race", ("MTE2 writes", "V reads them"),
    ),
    "order_through_a_third_pipe": (
        "DataCopy(x, gx, 64); SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0); "
        f"SetFlag<HardEvent::MTE3_V>(0); WaitFlag<HardEvent::MTE3_V>(0); Adds(z, x, 1.0f, 64); {STORE}",
        None, "", (),
    ),
    "set_before_its_producer": (
        "SetFlag<HardEvent::MTE2_V>(0); DataCopy(x, gx, 64); WaitFlag<HardEvent::MTE2_V>(0); "
        f"Adds(z, x, 1.0f, 64); {STORE}", DEVICE, "race", ("MTE2 writes", "V reads them"),
    ),
    "all_pipes": (
        "DataCopy(x, gx, 64); PipeBarrier<PIPE_ALL>(); Adds(z, x, 1.0f, 64); PipeBarrier<PIPE_ALL>(); "
        "DataCopy(gy, z, 64);", None, "", (),
    ),
    "vector_after_vector": (
        f"{LOAD} Add(z, x, y, 64); Adds(z, z, 1.0f, 64); {STORE}", STRICT, "race",
        ("V writes bytes [0, 256)", "V reads them (Adds"),
    ),
    "vector_with_barrier": (
        f"{LOAD} Add(z, x, y, 64); {BARRIER} Adds(z, z, 1.0f, 64); {STORE}", None, "", (),
    ),
    "vector_on_other_bytes": (
        f"{LOAD} Add(z, x, y, 32); Add(z[32], x[32], y[32], 32); {STORE}", None, "", (),
    ),
    "scalar_reads_a_result": (
        f"{LOAD} Add(z, x, y, 64); gy.SetValue(0, z.GetValue(3)); "
        "DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gy);",
        STRICT, "race", ("V writes bytes [12, 16)", "S reads them (GetValue"),
    ),
    "scalar_reads_in_order": (
        f"{LOAD} Add(z, x, y, 64); SetFlag<HardEvent::V_S>(1); WaitFlag<HardEvent::V_S>(1); "
        "gy.SetValue(0, z.GetValue(3)); "
        "DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gy);",
        None, "", (),
    ),
    "scalar_writes_an_operand": (
        f"{LOAD} x.SetValue(5, 1.0f); Add(z, x, y, 64); {STORE}", STRICT, "race",
        ("V", "S"),
    ),
    "neighbouring_bytes": (
        f"DataCopyPad(x, gx, DataCopyExtParams(1, 20, 0, 0, 0), DataCopyPadExtParams<float>()); {IN} "
        f"Adds(z, x, 1.0f, 5); Adds(z[8], x, 1.0f, 5); SetFlag<HardEvent::V_S>(0); "
        f"WaitFlag<HardEvent::V_S>(0); z.SetValue(5, 1.0f); z.SetValue(6, 1.0f); z.SetValue(7, 1.0f); "
        f"SetFlag<HardEvent::S_MTE3>(0); WaitFlag<HardEvent::S_MTE3>(0); DataCopy(gy, z, 8);",
        None, "", (),
    ),
    "store_then_load_of_gm": (
        f"{LOAD} Add(z, x, y, 64); {STORE} DataCopy(x, gy, 64); {IN} Adds(z, y, 1.0f, 64); "
        "PipeBarrier<PIPE_ALL>(); DataCopy(gy[64], z, 64);", DEVICE, "race",
        ("MTE3 writes bytes [0, 256) of GM buffer 'd'", "MTE2 reads them"),
    ),
    "load_then_store_of_gm": (
        f"DataCopy(x, gy, 64); DataCopy(y, gx, 64); {IN} Add(z, x, y, 64); {STORE}", None, "", (),
    ),
    "plain_then_atomic": (
        f"{LOAD} Add(z, x, y, 64); {STORE} SetAtomicAdd<float>(); DataCopy(gy, z, 64); SetAtomicNone();",
        DEVICE, "race", ("MTE3 writes", "MTE3 updates them"),
    ),
    "two_atomics": (
        f"{LOAD} Add(z, x, y, 64); {OUT} SetAtomicAdd<float>(); DataCopy(gy, z, 64); DataCopy(gy, z, 64); "
        "SetAtomicNone();", None, "", (),
    ),
    "never_written": (f"{OUT} DataCopy(gy, z, 64);", DEVICE, "uninitialised-read",
        ("DataCopy: src reads 256 bytes of the UB buffer made at", "nothing has written")),
    "tail_never_written": (
        f"DataCopy(x, gx, 32); {IN} Adds(z, x, 1.0f, 64); {STORE}", STRICT, "uninitialised-read",
        ("Adds: src reads 128 bytes", "the first of them byte 128"),
    ),
    "stored_tail_never_written": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 32); {STORE}", DEVICE, "uninitialised-read",
        ("DataCopy: src reads 128 bytes", "the first of them byte 128"),
    ),
    "first_of_a_stored_block": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 1); {OUT} DataCopy(gy, z, 8);", STRICT,
        "uninitialised-read", ("DataCopy: src reads 28 bytes",),
    ),
    "beyond_the_buffer": (
        f"DataCopy(x, gx, 72); {IN}", DEVICE, "out-of-bounds",
        ("covers bytes [0, 288) of the UB buffer made at", "which has 256 bytes"),
    ),
    "before_the_buffer": (
        f"DataCopy(y[(uint32_t)-8], gx, 8); {IN}", DEVICE, "out-of-bounds", ("bytes [-32, 0) of",),
    ),
    "left_in_the_cache": ("gy.SetValue(0, 1.0f);", STRICT, "store-not-written-back", ("DataCacheCleanAndInvalid",)),
    "store_hidden_from_dma": (
        "gy.SetValue(0, 1.0f); PipeBarrier<PIPE_ALL>(); DataCopy(x, gy, 8);", DEVICE, "race",
        ("S writes bytes [0, 4) of GM", "MTE2 reads them"),
    ),
    "store_written_back": (
        "gy.SetValue(0, 1.0f); DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, "
        "DcciDst::CACHELINE_OUT>(gy); PipeBarrier<PIPE_ALL>(); DataCopy(x, gy, 8);", None, "", (),
    ),
    "stale_line": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 5.0f + gy.GetValue(0), 64); "
        f"SetFlag<HardEvent::S_MTE3>(0); WaitFlag<HardEvent::S_MTE3>(0); {STORE} PipeBarrier<PIPE_ALL>(); "
        "Adds(z, x, gy.GetValue(0), 64);", DEVICE, "stale-read", ("holds these bytes since", "DataCacheCleanAndInvalid"),
    ),
}  # fmt: skip
for _name, (_body, _, _, _) in CASES.items():
    _setup = "Vectors v(s, d, 256); auto &x = v.x, &y = v.y, &z = v.z; auto &gx = v.gx, &gy = v.gy;"
    KERNELS.add(_name, "GM_ADDR d, GM_ADDR s", f"{_setup}\n{_body}")


def arrays() -> tuple[Any, Any]:
    return np.zeros(2048, np.float32), np.arange(2048, dtype=np.float32)


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("level", [DEVICE, STRICT])
@pytest.mark.parametrize("name", CASES)
def test_order_of_accesses(name: str, level: int, blocks: int) -> None:
    body, lowest, kind, words = CASES[name]
    if lowest is None or level < lowest:
        KERNELS.run(name, *arrays(), blocks=blocks, checks=level)
        return
    fault = KERNELS.fault(name, *arrays(), blocks=blocks, checks=level)
    assert fault.kind == kind, fault
    for each in words:
        assert each in fault.text, fault
    assert KERNELS.source().splitlines()[fault.line - 1] == body
    assert fault.block == 0


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_checked_at_level_off(name: str) -> None:
    KERNELS.run(name, *arrays(), checks=launcher().CHECKS_OFF)


SHARED = "Vectors v(s, d, 0); auto &x = v.x, &z = v.z; auto &gx = v.gx, &gy = v.gy; int32_t me = GetBlockIdx();"
GRID: dict[str, tuple[str, str]] = {
    # What two blocks do to one GM buffer, and the words of the objection ("" for none).
    "same_bytes": (f"DataCopy(x, gx, 64); {IN} Adds(z, x, float(me), 64); {STORE}", "aiv0 MTE3 writes bytes [0, 256)"),
    "own_bytes": (f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} DataCopy(gy[me * 64], z, 64);", ""),
    "bytes_of_one_block": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} "
        "DataCopyPad(gy[me * 5], z, DataCopyExtParams(1, 20, 0, 0, 0));", "",
    ),
    "one_byte_shared": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, float(me), 64); {OUT} "
        "DataCopyPad(gy[me * 4], z, DataCopyExtParams(1, 20, 0, 0, 0));", "bytes [16, 20)",
    ),
    "one_writes_one_reads": (
        f"if (me == 0) {{ DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {STORE} }} else {{ DataCopy(x, gy, 64); }}",
        "block 1 aiv0 MTE2 reads them",
    ),
    "read_after_sync_all": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} DataCopy(gy[me * 64], z, 64); SyncAll(); "
        "DataCopy(z, gy[(me ^ 1) * 64], 64);", "",
    ),
    "read_before_sync_all": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} DataCopy(gy[me * 64], z, 64); PipeBarrier<PIPE_ALL>(); "
        "DataCopy(z, gy[(me ^ 1) * 64], 64); SyncAll();", "MTE2 reads",
    ),
    "written_again_after_reading": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} DataCopy(gy[me * 64], z, 64); SyncAll(); "
        "DataCopy(z, gy[(me ^ 1) * 64], 64); PipeBarrier<PIPE_ALL>(); DataCopy(gy[me * 64], z, 64);", "MTE3 writes",
    ),
    "atomics": (
        f"DataCopy(x, gx, 64); {IN} Adds(z, x, 1.0f, 64); {OUT} SetAtomicAdd<float>(); DataCopy(gy, z, 64);", "",
    ),
    "scalar_stores_to_one_line": (
        "gy.SetValue(me, 1.0f); DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, "
        "DcciDst::CACHELINE_OUT>(gy);", "S writes",
    ),
    "scalar_stores_to_two_lines": (
        "gy.SetValue(me * 16, 1.0f); DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, "
        "DcciDst::CACHELINE_OUT>(gy);", "",
    ),
}  # fmt: skip
for _name, (_body, _) in GRID.items():
    KERNELS.add(
        f"grid_{_name}", "GM_ADDR d, GM_ADDR s", f"{SHARED}\n{_body}", "KERNEL_TYPE_MIX_AIV_1_0"
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", GRID)
def test_order_between_blocks(name: str, threads: int) -> None:
    words = GRID[name][1]
    if not words:
        KERNELS.run(f"grid_{name}", *arrays(), blocks=2, threads=threads)
        return
    fault = KERNELS.fault(f"grid_{name}", *arrays(), blocks=2, threads=threads)
    assert fault.kind == "race" and words in fault.text, fault
    assert "SyncAll" in fault.hint


KERNELS.add(
    "late_faults",
    "GM_ADDR d, GM_ADDR s",
    """
    // Blocks 5 and above fail at once, 3 and 4 after some work: the first of them is what is told.
    int32_t me = GetBlockIdx();
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    float sum = 0;
    for (int32_t i = 0; i < (me < 5 ? 400 : 1); ++i) { sum += g.GetValue(me * 16); }
    PRINTF("%d\\n", me);
    if (me >= 3) { g.SetValue(2048, sum); }
    """,
)


def test_same_seed_same_report() -> None:
    reports = set()
    for threads, _ in itertools.product([1, 2, 5], range(6)):
        fault = KERNELS.fault("late_faults", *arrays(), blocks=40, threads=threads)
        reports.add((repr(fault), fault.hint))
    assert len(reports) == 1
    assert fault.block == 3
    seeded = {
        repr(KERNELS.fault("late_faults", *arrays(), blocks=40, threads=t, seed=9)) for t in (1, 2)
    }
    assert len(seeded) == 1


# A core gives without end what the other must take in time: right under every schedule, or wrong under one.
CREDIT = """
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    TPipe pipe; TBuf<TPosition::VECCALC> b; TBuf<TPosition::A1> l; pipe.InitBuffer(b, 256); pipe.InitBuffer(l, 256);
    LocalTensor<float> x = b.Get<float>(); LocalTensor<float> y = l.Get<float>();
    for (int32_t i = 0; i < 40; ++i) {
        if ASCEND_IS_AIV {
            if (i >= 2) { CrossCoreWaitFlag(1); }
            if (i == 0) { Duplicate(x, 1.0f, 64); PipeBarrier<PIPE_ALL>(); }
            if (GetSubBlockIdx() == 0) { DataCopy(g[i % 2 * 64], x, 64); }
            CrossCoreSetFlag<2, PIPE_MTE3>(0);
        }
        if ASCEND_IS_AIC {
            CrossCoreWaitFlag(0);
            PipeBarrier<PIPE_MTE2>();
            DataCopy(y, g[i % 2 * 64], 64);
            CREDIT
        }
    }
"""
KERNELS.add("credit", "GM_ADDR d, GM_ADDR s", CREDIT.replace("CREDIT", "if (i < 38) { CrossCoreSetFlag<2, PIPE_MTE2>(1); }"), None)  # fmt: skip
KERNELS.add("no_credit", "GM_ADDR d, GM_ADDR s", CREDIT.replace("CREDIT", "").replace("if (i >= 2) { CrossCoreWaitFlag(1); }", ""), None)  # fmt: skip


def test_starved_and_shuffled_schedules() -> None:
    for seed, starved in itertools.product(range(8), range(4)):
        KERNELS.run("credit", *arrays(), seed=seed, starved=starved)
    for seed, starved in itertools.product(range(4), range(4)):
        fault = KERNELS.fault("no_credit", *arrays(), seed=seed, starved=starved)
        assert fault.kind in ("race", "flag-overflow")


KERNELS.add(
    "handover",
    "GM_ADDR d, GM_ADDR s",
    """
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    TPipe pipe; TBuf<TPosition::VECCALC> b; TBuf<TPosition::A1> l; pipe.InitBuffer(b, 256); pipe.InitBuffer(l, 256);
    if ASCEND_IS_AIC { DataCopy(l.Get<float>(), g, 64); }
    if ASCEND_IS_AIV {
        Duplicate(b.Get<float>(), 1.0f, 64); PipeBarrier<PIPE_ALL>();
        if (GetSubBlockIdx() == 0) { DataCopy(g, b.Get<float>(), 64); }
    }
    """,
    None,
)


def test_a_hint_does_not_say_which_core_is_meant_to_come_first() -> None:
    """Schedules have the two in either order, and neither says what the kernel means."""
    told, ways = set(), set()
    for starved in range(4):
        fault = KERNELS.fault("handover", *arrays(), starved=starved)
        told.add(fault.text.split()[0])
        ways.add(frozenset(fault.hint.split("; ")))
    assert told == {"aic", "aiv0"}
    assert ways == {
        frozenset(
            f"if {first} has to come first, add CrossCoreSetFlag<2, PIPE_{pipe}>(id) on {setter} after "
            f"its access and CrossCoreWaitFlag(id) on {waiter} before the other one"
            for first, pipe, setter, waiter in (
                ("aic", "MTE2", "aic", "every vector core"),
                ("aiv0", "MTE3", "every vector core", "aic"),
            )
        )
    }


KERNELS.add(
    "cycle",
    "GM_ADDR d, GM_ADDR s",
    """
    if ASCEND_IS_AIC { CrossCoreWaitFlag(3); CrossCoreSetFlag<2, PIPE_FIX>(4); }
    if ASCEND_IS_AIV { CrossCoreWaitFlag(4); CrossCoreSetFlag<2, PIPE_MTE3>(3); }
    """,
    None,
)
KERNELS.add(
    "ended",
    "GM_ADDR d, GM_ADDR s",
    "if ASCEND_IS_AIC { CrossCoreWaitFlag(3); }",
    None,
)


@pytest.mark.parametrize("blocks", [1, 24, 5000])
def test_deadlocks_are_told_at_once_with_the_cycle(blocks: int) -> None:
    fault = KERNELS.fault("cycle", *arrays(), blocks=blocks)
    assert fault.kind == "deadlock"
    assert (
        "they wait for each other: block 0 aic -> block 0 aiv0 -> block 0 aiv1 -> ..." in fault.text
    )
    fault = KERNELS.fault("ended", *arrays(), blocks=blocks)
    assert "ended without setting it: block 0 aiv0, block 0 aiv1" in fault.text


KERNELS.add(
    "endless",
    "GM_ADDR d, GM_ADDR s",
    "GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)s); while (g.GetValue(0) != 7.0f) {}",
)


@pytest.mark.parametrize("blocks", [1, 5])
def test_a_kernel_that_polls_for_ever_is_stopped(blocks: int) -> None:
    fault = KERNELS.fault("endless", *arrays(), blocks=blocks, timeout=0.3)
    assert fault.kind == "time-out" and "after 0.3 s" in fault.text and fault.api == "GetValue"


@pytest.mark.times
@pytest.mark.parametrize("name, limit", [("cycle", 1.0), ("endless", 1.5)])
def test_a_kernel_that_can_not_end_is_stopped_soon(name: str, limit: float) -> None:
    start = time.perf_counter()
    KERNELS.fault(name, *arrays(), blocks=5000 if name == "cycle" else 5, timeout=0.3)
    assert time.perf_counter() - start < limit


# Tensors placed by hand exist in the 9.x headers only.
BY_HAND = KernelSet()
BY_HAND.add(
    "beyond",
    "GM_ADDR d, GM_ADDR s",
    """
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)s);
    LocalTensor<float> h(TPosition::VECCALC, 512, 8); DataCopy(h, g, 64);
    """,
)


@pytest.mark.parametrize("checks", [DEVICE, STRICT])
def test_the_size_of_a_tensor_placed_by_hand_binds(checks: int) -> None:
    fault = BY_HAND.fault("beyond", *arrays(), checks=checks)
    assert fault.kind == "out-of-bounds" and "covers bytes [0, 256)" in fault.text


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
