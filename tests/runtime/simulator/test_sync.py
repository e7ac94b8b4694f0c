"""Launch, block indices, kernel types, cross-core flags, SyncAll, printf, and what a launch reports."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from kernel_set import KernelSet, launcher

KERNELS = KernelSet(
    """
__aicore__ inline bool is_aiv()
{
    if ASCEND_IS_AIV {
        return true;
    }
    return false;
}
// Other cores see scalar stores, and this one theirs, once the data cache was written back and dropped.
__aicore__ inline void publish(GlobalTensor<int32_t>& g)
{
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);
    PipeBarrier<PIPE_ALL>();
}
"""
)
WRITE = """
    GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d);
"""

for _type in ("AIV_ONLY", "AIC_ONLY", "MIX_AIV_1_0", "MIX_AIC_1_0", "MIX_AIC_1_1", "MIX_AIC_1_2"):
    KERNELS.add(
        f"index_{_type}",
        "GM_ADDR d",
        WRITE
        + """
    int32_t at = ((is_aiv() ? 1 : 0) * 64 + GetBlockIdx()) * 16;
    g.SetValue(at, 1); g.SetValue(at + 1, (int32_t)GetBlockNum()); g.SetValue(at + 2, (int32_t)GetSubBlockIdx());
    g.SetValue(at + 3, (int32_t)GetSubBlockNum());
    """,
        f"KERNEL_TYPE_{_type}",
    )
SHAPES = {"AIV_ONLY": (0, 1), "AIC_ONLY": (1, 0), "MIX_AIV_1_0": (0, 1), "MIX_AIC_1_0": (1, 0), "MIX_AIC_1_1": (1, 1),
          "MIX_AIC_1_2": (1, 2)}  # fmt: skip


@pytest.mark.parametrize("kind", SHAPES)
def test_cores_and_indices_of_every_kernel_type(kind: str) -> None:
    lines = np.zeros((2, 64, 16), np.int32)
    KERNELS.run(f"index_{kind}", lines, blocks=7)
    d = lines[:, :, :4]
    aic, aiv = SHAPES[kind]
    expected = np.zeros_like(d)
    for block in range(7):
        if aic:
            expected[0, block] = 1, 7, 0, max(aiv, 1)
        for sub in range(aiv):
            expected[1, block * aiv + sub] = 1, 7, sub, aiv
    np.testing.assert_array_equal(d, expected)


# The AIC hands a number to both AIVs, each answers, the AIC adds: 20 rounds, with credit in both directions.
KERNELS.add(
    "ping_pong",
    "GM_ADDR d",
    WRITE
    + """
    for (int32_t i = 0; i < 20; ++i) {
        if ASCEND_IS_AIC {
            int32_t at = GetBlockIdx() * 64;
            g.SetValue(at, i);
            publish(g);
            CrossCoreSetFlag<2, PIPE_FIX>(3);
            CrossCoreWaitFlag(4);
            g.SetValue(at + 48, g.GetValue(at + 48) + g.GetValue(at + 16) + g.GetValue(at + 32));
            publish(g);
        }
        if ASCEND_IS_AIV {
            CrossCoreWaitFlag(3);
            int32_t at = GetBlockIdx() / 2 * 64;
            g.SetValue(at + 16 + 16 * GetSubBlockIdx(), g.GetValue(at) * (1 + (int32_t)GetSubBlockIdx()));
            publish(g);
            CrossCoreSetFlag<2, PIPE_MTE3>(4);
        }
    }
""",
    None,
)
KERNELS.add(
    "pair",
    "GM_ADDR d",
    WRITE
    + """
    if ASCEND_IS_AIV {
        g.SetValue(GetBlockIdx() * 16, (int32_t)GetBlockIdx() + 1);
        publish(g);
        CrossCoreSetFlag<1, PIPE_MTE3>(5);
        CrossCoreWaitFlag(5);
        g.SetValue((64 + GetBlockIdx()) * 16, g.GetValue((GetBlockIdx() ^ 1) * 16));
    }
""",
    None,
)
for _only, _kind in (("true", "KERNEL_TYPE_MIX_AIV_1_0"), ("false", "KERNEL_TYPE_MIX_AIC_1_2")):
    KERNELS.add(
        f"all_{_only}",
        "GM_ADDR d",
        WRITE
        + f"""
    int32_t cores = GetBlockNum() * GetSubBlockNum();
    for (int32_t round = 0; round < 3; ++round) {{
        if ASCEND_IS_AIV {{ g.SetValue((round * 64 + GetBlockIdx()) * 16, 1); }}
        publish(g);
        SyncAll<{_only}>();
        int32_t sum = 0;
        for (int32_t i = 0; i < cores; ++i) {{ sum += g.GetValue((round * 64 + i) * 16); }}
        if ASCEND_IS_AIV {{ g.SetValue((256 + round * 64 + GetBlockIdx()) * 16, sum); }}
        if ASCEND_IS_AIC {{ g.SetValue((512 + round * 64 + GetBlockIdx()) * 16, sum); }}
    }}
    """,
        _kind,
    )


@pytest.mark.parametrize(("threads", "seed"), list(itertools.product([1, 2, 0], [0, 1, 77])))
def test_flags_between_the_cores_of_a_block(threads: int, seed: int) -> None:
    d = np.zeros((9, 64), np.int32)
    KERNELS.run("ping_pong", d, blocks=9, threads=threads, seed=seed)
    assert (d[:, 48] == sum(3 * i for i in range(20))).all()
    d = np.zeros((128, 16), np.int32)
    KERNELS.run("pair", d, blocks=4, threads=threads, seed=seed)
    np.testing.assert_array_equal(d[64:72, 0], np.arange(8).reshape(4, 2)[:, ::-1].reshape(-1) + 1)


@pytest.mark.parametrize(("threads", "seed"), list(itertools.product([1, 2, 5], [0, 3])))
def test_sync_all_over_more_blocks_than_threads(threads: int, seed: int) -> None:
    d = np.zeros((1024, 16), np.int32)
    KERNELS.run("all_true", d, blocks=40, threads=threads, seed=seed)
    assert (d[256:448, 0].reshape(3, 64)[:, :40] == 40).all()
    d = np.zeros((1024, 16), np.int32)
    KERNELS.run("all_false", d, blocks=17, threads=threads, seed=seed)
    assert (d[256:448, 0].reshape(3, 64)[:, :34] == 34).all()
    assert (d[512:704, 0].reshape(3, 64)[:, :17] == 34).all()


KERNELS.add(
    "never",
    "GM_ADDR d",
    "if ASCEND_IS_AIC { CrossCoreWaitFlag(7); } if ASCEND_IS_AIV { CrossCoreWaitFlag(6); }",
    None,
)
KERNELS.add(
    "half_set",
    "GM_ADDR d",
    """
    if ASCEND_IS_AIV { if (GetSubBlockIdx() == 0) { CrossCoreSetFlag<2, PIPE_MTE3>(2); } }
    if ASCEND_IS_AIC { CrossCoreWaitFlag(2); }
""",
    None,
)
KERNELS.add(
    "missing_block",
    "GM_ADDR d",
    """
    if (GetBlockIdx() != 3) { CrossCoreSetFlag<0, PIPE_MTE3>(1); CrossCoreWaitFlag(1); }
""",
    "KERNEL_TYPE_MIX_AIV_1_0",
)
KERNELS.add(
    "overflow",
    "GM_ADDR d",
    """
    if ASCEND_IS_AIC { for (int32_t i = 0; i < 16; ++i) { CrossCoreSetFlag<2, PIPE_FIX>(1); } }
    if ASCEND_IS_AIV { for (int32_t i = 0; i < 16; ++i) { CrossCoreWaitFlag(1); } }
""",
    None,
)
for direction, ahead, behind in (
    ("to_vector", "AIC { CrossCoreSetFlag<2, PIPE_FIX>(1)", "AIV { CrossCoreWaitFlag(1)"),
    ("to_cube", "AIV { CrossCoreSetFlag<2, PIPE_MTE3>(1)", "AIC { CrossCoreWaitFlag(1)"),
    (
        "never_read",
        "AIV { CrossCoreSetFlag<2, PIPE_MTE3>(1)",
        "AIC { if (i < 5) CrossCoreWaitFlag(1)",
    ),
):
    KERNELS.add(
        f"ahead_{direction}",
        "GM_ADDR d",
        f"""
    for (int32_t i = 0; i < 100; ++i) {{ if ASCEND_IS_{ahead}; }} }}
    for (int32_t i = 0; i < 100; ++i) {{ if ASCEND_IS_{behind}; }} }}
""",
        None,
    )
KERNELS.add("left", "GM_ADDR d", "if ASCEND_IS_AIC { CrossCoreSetFlag<2, PIPE_FIX>(1); }", None)
KERNELS.add(
    "high_ids",
    "",
    "SetFlag<HardEvent::MTE2_V>(15); SetFlag<HardEvent::MTE2_V>(7);"
    "WaitFlag<HardEvent::MTE2_V>(7); WaitFlag<HardEvent::MTE2_V>(15);",
)
KERNELS.add("id_16", "", "SetFlag<HardEvent::MTE2_V>(16);")
KERNELS.add("other_high_id", "", "SetFlag<HardEvent::MTE2_V>(1); WaitFlag<HardEvent::MTE2_V>(9);")
KERNELS.add("no_scheduler", "GM_ADDR d", "SyncAll();", "KERNEL_TYPE_AIV_ONLY")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_deadlocks_are_reported(threads: int) -> None:
    d = np.zeros(64, np.int32)
    fault = KERNELS.fault("never", d, blocks=3, threads=threads)
    assert fault.kind == "deadlock" and fault.api == "CrossCoreWaitFlag"
    assert fault.core == "aic" and fault.line > 0
    for words in (
        "aic waits for cross-core flag 7 at",
        "aiv0 waits for cross-core flag 6",
        "aiv1 waits for",
    ):
        assert words in fault.text
    fault = KERNELS.fault("half_set", d, blocks=2, threads=threads)
    assert fault.kind == "deadlock" and "aic waits for cross-core flag 2" in fault.text
    fault = KERNELS.fault("missing_block", d, blocks=6, threads=threads)
    assert fault.kind == "deadlock" and "block 0 aiv0 waits for cross-core flag 1" in fault.text
    fault = KERNELS.fault("all_true", np.zeros(16384, np.int32), blocks=49, threads=threads)
    assert fault.kind == "deadlock" and "needs 49 of them and the device runs 48" in fault.text


def test_many_blocks_that_wait_forever_stop_at_the_first() -> None:
    fault = KERNELS.fault("never", np.zeros(64, np.int32), blocks=20000)
    assert fault.kind == "deadlock"


def test_counters_of_cross_core_flags() -> None:
    d = np.zeros(64, np.int32)
    fault = KERNELS.fault("overflow", d)
    assert fault.kind == "flag-overflow" and "holds at most 15" in fault.text
    fault = KERNELS.fault("left", d, checks=launcher().CHECKS_STRICT)
    assert fault.kind == "flag-left-set" and "counter 1 is still 1" in fault.text
    (warning,) = KERNELS.warnings("left", d)
    assert (warning.kind, warning.text) == (fault.kind, fault.text)
    fault = KERNELS.fault("no_scheduler", d)
    assert fault.kind == "bad-argument" and "MIX" in fault.text
    assert not KERNELS.warnings("left", d, checks=launcher().CHECKS_OFF)


@pytest.mark.parametrize("blocks", [1, 3])
def test_event_ids_that_no_document_names(blocks: int) -> None:
    """They are flags of their own; the device has 16 per event."""
    (warning,) = KERNELS.warnings("high_ids", blocks=blocks)
    words = "SetFlag: event id is 15, but documents name 0..7 only"
    assert (warning.kind, warning.text, warning.block) == ("event-id", words, 0)
    assert KERNELS.source().splitlines()[warning.line - 1].strip().startswith("SetFlag")
    fault = KERNELS.fault("high_ids", blocks=blocks, checks=launcher().CHECKS_STRICT)
    assert (fault.kind, fault.text) == ("event-id", words)
    assert not KERNELS.warnings("high_ids", checks=launcher().CHECKS_OFF)
    fault = KERNELS.fault("id_16")
    assert fault.kind == "bad-argument" and "event id is 16, but must be 0..15" in fault.text
    fault = KERNELS.fault("other_high_id")
    assert fault.kind == "flag-wait-without-set" and "MTE2_V id 9" in fault.text


@pytest.mark.parametrize("direction", ["to_vector", "to_cube"])
@pytest.mark.parametrize("seed", [0, 1, 5])
def test_without_checks_a_core_that_runs_ahead_waits_for_its_readers(
    direction: str, seed: int
) -> None:
    d = np.zeros(64, np.int32)
    KERNELS.run(f"ahead_{direction}", d, blocks=3, checks=launcher().CHECKS_OFF, seed=seed)
    assert KERNELS.fault(f"ahead_{direction}", d, blocks=3).kind == "flag-overflow"


def test_without_checks_a_counter_nobody_lowers_overflows() -> None:
    d = np.zeros(64, np.int32)
    fault = KERNELS.fault("ahead_never_read", d, blocks=2, checks=launcher().CHECKS_OFF)
    assert fault.kind == "flag-overflow" and fault.line > 0
    assert "counter 1 of block 0 aic would reach 16" in fault.text


KERNELS.add(
    "print",
    "GM_ADDR d, int32_t n",
    """
    if ASCEND_IS_AIV { PRINTF("block %d n=%d %5.2f %x %s|%%|%ld\\n", (int32_t)GetBlockIdx(), n, 1.5f, 255, "text", (int64_t)-3); }
""",
    None,
)
KERNELS.add(
    "dump",
    "GM_ADDR d",
    """
    TPipe pipe; TBuf<TPosition::VECCALC> b; pipe.InitBuffer(b, 256); LocalTensor<half> x = b.Get<half>();
    Duplicate(x, (half)1.5f, 128); DumpTensor(x, 7, 3);
    GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)d); DumpTensor(g, 8, 2);
""",
)


def test_printed_text_comes_in_block_order() -> None:
    d = np.array([-5, 6], np.int32)
    for threads in (1, 2):
        text = KERNELS.run("print", d, 42, blocks=20, threads=threads)
        assert text.splitlines() == [
            f"[aiv{i % 2} of block {i // 2}] block {i} n=42  1.50 ff text|%|-3" for i in range(40)
        ]
    text = KERNELS.run("dump", d)
    assert "desc=7, UB, half, 3 elements: [1.500000, 1.500000, 1.500000]" in text
    assert "desc=8, GM, int32, 2 elements: [-5, 6]" in text


KERNELS.add("empty", "GM_ADDR d", "")
KERNELS.add(
    "types",
    "GM_ADDR d, int32_t i, int64_t l, float f, bool b",
    """
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    g.SetValue(0, (float)i); g.SetValue(1, (float)l); g.SetValue(2, f); g.SetValue(3, b ? 1.0f : 0.0f);
""",
)


def test_arguments_of_every_kind() -> None:
    d = np.zeros(8, np.float32)
    KERNELS.run("types", d, -3, 1 << 40, 0.25, True)
    np.testing.assert_array_equal(d[:4], [-3, float(1 << 40), 0.25, 1])
    with pytest.raises(IndexError):
        KERNELS.run("types", d, 1 << 31, 0, 0.0, False)


@pytest.mark.times
def test_a_kernel_that_does_nothing_costs_microseconds() -> None:
    d = np.zeros(8, np.float32)
    KERNELS.run("empty", d)
    kernel = KERNELS._opened["empty"]
    values, sizes = (d.ctypes.data, 1), (32, 0)
    best = 1.0
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(500):
            kernel.run(values, sizes)
        best = min(best, (time.perf_counter() - start) / 500)
    assert best < 8e-6


def test_host_threads_launch_at_the_same_time() -> None:
    results = [np.zeros((9, 64), np.int32) for _ in range(4)]
    kernel_set = KERNELS
    kernel_set.run("ping_pong", results[0].copy(), blocks=9)
    kernel = kernel_set._opened["ping_pong"]

    def work(array: np.ndarray) -> None:
        for _ in range(10):
            array[:] = 0
            assert kernel.run((array.ctypes.data, 9), (array.nbytes, 0))[0] is None

    workers = [threading.Thread(target=work, args=(array,)) for array in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for array in results:
        assert (array[:, 48] == 570).all()


@pytest.mark.vendor
def test_vendor_headers() -> None:
    KERNELS.vendor_check()
