"""Order between blocks through words of GM: functions of the API and flags that kernels poll."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kept_cases import kept_number
from kernel_set import KernelSet

OFF, DEVICE, STRICT = 0, 1, 2
LEVELS = (OFF, DEVICE, STRICT)
I32 = np.int32

KERNELS = KernelSet(
    """
constexpr uint32_t N = 64;
// A tile of N numbers in UB, and x, y and the workspace in GM.
struct Tile {
    TPipe pipe;
    TBuf<TPosition::VECCALC> data, scratch;
    LocalTensor<int32_t> tile, words;
    GlobalTensor<int32_t> gx, gy, gw;
    __aicore__ inline Tile(GM_ADDR x, GM_ADDR y, GM_ADDR w)
    {
        pipe.InitBuffer(data, N * sizeof(int32_t));
        pipe.InitBuffer(scratch, 4096);
        tile = data.Get<int32_t>();
        words = scratch.Get<int32_t>();
        gx.SetGlobalBuffer((__gm__ int32_t*)x);
        gy.SetGlobalBuffer((__gm__ int32_t*)y);
        gw.SetGlobalBuffer((__gm__ int32_t*)w);
    }
    // The tile is from[0..N) + step, and goes to GM.
    __aicore__ inline void Move(GlobalTensor<int32_t> from, GlobalTensor<int32_t> to, int32_t step)
    {
        SetFlag<HardEvent::MTE3_MTE2>(3);
        WaitFlag<HardEvent::MTE3_MTE2>(3);
        DataCopy(tile, from, N);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Adds(tile, tile, step, N);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to, tile, N);
    }
    __aicore__ inline void Stored() { SetFlag<HardEvent::MTE3_S>(1); WaitFlag<HardEvent::MTE3_S>(1); }
};
template <class T>
__aicore__ inline void Clean(GlobalTensor<T> word)
{
    DataCacheCleanAndInvalid<T, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
}
"""
)
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR w"
ME = "int32_t me = GetBlockIdx(); int32_t all = GetBlockNum(); Tile t(x, y, w);"


def add(name: str, body: str, kind: str = "KERNEL_TYPE_MIX_AIV_1_0") -> str:
    return KERNELS.add(name, PARAMETERS, f"{ME}\n{body}", kind)


# Every block adds 1 to what the block before it left; block 0 starts from x.
CHAIN = "t.Move(me == 0 ? t.gx : t.gy[(me - 1) * N], t.gy[me * N], 1);"
# name: what waits for the block before, what tells the next, both in `me`
HANDOVERS = {
    "ib": ("if (me > 0) IBWait(t.gw, t.words, me - 1, 1);",
           "if (me + 1 < all) IBSet(t.gw, t.words, me, 1);"),
    "turns": ("WaitPreBlock(t.gw, t.words);", "NotifyNextBlock(t.gw, t.words);"),
    "polled": (
        "while (me > 0) { Clean(t.gw[(me - 1) * 16]); if (t.gw.GetValue((me - 1) * 16) == 7) break; }",
        "t.Stored(); t.gw.SetValue(me * 16, 7); Clean(t.gw[me * 16]);",
    ),
    "past_cache": (
        "while (me > 0 && ReadGmByPassDCache((__gm__ int32_t*)w + me - 1) != 7) {}",
        "t.Stored(); WriteGmByPassDCache((__gm__ int32_t*)w + me, 7);",
    ),
    # The reader resets the flag for a next round.
    "reset": (
        "while (me > 0 && ReadGmByPassDCache((__gm__ int32_t*)w + me - 1) != 7) {}"
        "if (me > 0) WriteGmByPassDCache((__gm__ int32_t*)w + me - 1, 0);",
        "t.Stored(); WriteGmByPassDCache((__gm__ int32_t*)w + me, 7);",
    ),
    "by_copy": (
        "while (me > 0) { Clean(t.gw[(me - 1) * 16]); if (t.gw.GetValue((me - 1) * 16) == 7) break; }",
        "Duplicate(t.words, 7, 8); SetFlag<HardEvent::V_MTE3>(2); WaitFlag<HardEvent::V_MTE3>(2);"
        "PipeBarrier<PIPE_MTE3>(); DataCopy(t.gw[me * 16], t.words, 8);",
    ),
}  # fmt: skip
for _name, (_wait, _tell) in HANDOVERS.items():
    _first = "InitDetermineComputeWorkspace(t.gw, t.words);" if _name == "turns" else ""
    add(f"chain_{_name}", f"{_first}\n{_wait}\n{CHAIN}\n{_tell}")
    if _name != "turns":
        add(f"no_wait_{_name}", f"{CHAIN}\n{_tell}")
        # The next is told before the tile is stored.
        add(f"early_{_name}", f"{_first}\n{_wait}\n{_tell}\n{CHAIN}")


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize("name", HANDOVERS)
@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_a_chain_of_blocks(name: str, check: int, threads: int, seed: int, blocks: int) -> None:
    x = np.arange(64, dtype=I32)
    y, w = np.zeros((blocks, 64), I32), np.zeros(2048, I32)
    KERNELS.run(
        f"chain_{name}", x, y, w, blocks=blocks, checks=check, threads=threads, seed=seed
    )  # fmt: skip
    np.testing.assert_array_equal(y, x + 1 + np.arange(blocks)[:, None])


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("name", [n for n in HANDOVERS if n != "turns"])
@pytest.mark.parametrize("wrong", ["no_wait", "early"])
def test_a_chain_without_order_is_a_race(name: str, wrong: str, seed: int) -> None:
    x, y, w = np.arange(64, dtype=I32), np.zeros(128, I32), np.zeros(2048, I32)
    fault = KERNELS.fault(f"{wrong}_{name}", x, y, w, blocks=2, checks=DEVICE, seed=seed)
    assert fault.kind == "race" and "'y'" in fault.text, fault


add(
    "read_once",
    """
if (me == 0) { t.gy.SetValue(0, 5); Clean(t.gy[0]); }
else { Clean(t.gy[0]); t.gy.SetValue(32, t.gy.GetValue(0)); Clean(t.gy[32]); }""",
)
add(
    "read_twice",
    """
if (me == 0) { t.gy.SetValue(0, 5); Clean(t.gy[0]); }
else { do { Clean(t.gy[0]); } while (t.gy.GetValue(0) != 5); t.gy.SetValue(32, 6); Clean(t.gy[32]); }""",
)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_value_read_once_is_no_flag(seed: int) -> None:
    """Who does not wait for it has used a value that nothing orders."""
    arguments = (np.zeros(8, I32), np.zeros(64, I32), np.zeros(8, I32))
    fault = KERNELS.fault("read_once", *arguments, blocks=2, checks=DEVICE, seed=seed)
    assert fault.kind == "race" and "GetValue" in fault.text, fault
    arguments[1][:] = 0
    KERNELS.run("read_twice", *arguments, blocks=2, checks=STRICT, seed=seed)
    assert arguments[1][32] == 6


add("never_set", "if (me == 1) { do { Clean(t.gw[0]); } while (t.gw.GetValue(0) != 1); }")
add("never_told", "if (me == 1) IBWait(t.gw, t.words, 0, 0);")
add(
    "gives_up",
    """
int32_t seen = 0;
for (int32_t i = 0; me == 1 && i < 5000 && seen != 1; ++i) { Clean(t.gw[0]); seen = t.gw.GetValue(0); }
if (me == 1) { t.gy.SetValue(0, 3); Clean(t.gy[0]); }""",
)


@pytest.mark.parametrize("check", LEVELS)
def test_a_flag_that_nobody_sets_is_a_deadlock(check: int) -> None:
    arguments = (np.zeros(8, I32), np.zeros(64, I32), np.zeros(64, I32))
    for name in ("never_set", "never_told"):
        fault = KERNELS.fault(name, *arguments, blocks=2, checks=check)
        assert fault.kind == "deadlock" and "byte 0 of GM buffer 'w'" in fault.text, fault
    KERNELS.run("gives_up", *arguments, blocks=2, checks=check)
    assert arguments[1][0] == 3


add(
    "past_cache_first",
    """
if (me == 0) {
    WriteGmByPassDCache((__gm__ int32_t*)y + 1, 7);
    DataSyncBarrier<MemDsbT::DDR>();
    WriteGmByPassDCache((__gm__ int32_t*)y, 6);
} else {
    while (ReadGmByPassDCache((__gm__ int32_t*)y) != 6) {}
    WriteGmByPassDCache((__gm__ int32_t*)w, 2 * ReadGmByPassDCache((__gm__ int32_t*)y + 1));
}""",
)
add(
    "past_cache_unordered",
    """
if (me == 0) {
    WriteGmByPassDCache((__gm__ int32_t*)y + 1, 7);
    WriteGmByPassDCache((__gm__ int32_t*)y, 6);
} else {
    while (ReadGmByPassDCache((__gm__ int32_t*)y) != 6) {}
    WriteGmByPassDCache((__gm__ int32_t*)w, 2 * ReadGmByPassDCache((__gm__ int32_t*)y + 1));
}""",
)
add("past_cache_neighbours", "WriteGmByPassDCache((__gm__ int32_t*)y + me, me + 1);")
add("cached_neighbours", "t.gy.SetValue(me, me + 1); Clean(t.gy[me]);")


def test_stores_past_the_cache() -> None:
    """They are in GM after DataSyncBarrier, and exactly as wide as they are."""
    x, y, w = np.zeros(8, I32), np.zeros(64, I32), np.zeros(8, I32)
    for check in LEVELS:
        y[:] = w[:] = 0
        KERNELS.run("past_cache_first", x, y, w, blocks=2, checks=check)
        assert w[0] == 14
        KERNELS.run("past_cache_neighbours", x, y, w, blocks=8, checks=check)
        np.testing.assert_array_equal(y[:8], np.arange(1, 9))
    y[:] = 0
    fault = KERNELS.fault("past_cache_unordered", x, y, w, blocks=2, checks=DEVICE)
    assert fault.kind == "race" and "'y'" in fault.text, fault
    fault = KERNELS.fault("cached_neighbours", x, y, w, blocks=2, checks=DEVICE)
    assert fault.kind == "race", fault


# Sums of all blocks, in turns and added up by DMA: what the order is for.
add(
    "sum_in_turns",
    """
InitDetermineComputeWorkspace(t.gw, t.words);
for (int32_t i = 0; i < 3; ++i) {
    DataCopy(t.tile, t.gx[me * N], N);
    WaitPreBlock(t.gw, t.words);
    SetAtomicAdd<int32_t>();
    DataCopy(t.gy[i * N], t.tile, N);
    SetAtomicNone();
    NotifyNextBlock(t.gw, t.words);
}""",
)
add(
    "sync_all_soft",
    """
t.Move(t.gx[me * N], t.gy[me * N], 1);
SyncAll(t.gw, t.words);
t.Move(t.gy[(me + 1) % all * N], t.gy[(all + me) * N], 1);
SyncAll(t.gw, t.words);
t.Move(t.gy[(all + (me + 1) % all) * N], t.gy[(2 * all + me) * N], 1);""",
)
add(
    "group",
    """
GroupBarrier<PipeMode::MTE3_MODE> group(w, 2, 3);
for (int32_t round = 0; round < 3; ++round) {
    if (me < 2) {
        t.Move(t.gx[me * N], t.gy[(round * 2 + me) * N], round);
        group.Arrive(me);
    } else {
        group.Wait(me - 2);
        t.Move(t.gy[(round * 2 + 1) * N], t.gy[(6 + round * 3 + me - 2) * N], 1);
    }
}""",
)
add(
    "outputs",
    """
InitOutput<int32_t>(t.gy[me * 200], 200, me + 3);
WaitPreTaskEnd();
SetNextTaskStart();""",
)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("check", LEVELS)
def test_blocks_in_turns_and_together(check: int, seed: int) -> None:
    x = np.arange(5 * 64, dtype=I32).reshape(5, 64)
    options: dict[str, Any] = {"checks": check, "seed": seed}

    def run(name: str, blocks: int, size: int, words: int = 4096) -> Any:
        y = np.zeros(size, I32)
        KERNELS.run(name, x, y, np.zeros(words, I32), blocks=blocks, **options)
        return y.reshape(-1, 64) if size % 64 == 0 else y

    np.testing.assert_array_equal(run("sum_in_turns", 5, 192), np.tile(x.sum(0), (3, 1)))
    y = run("sync_all_soft", 4, 12 * 64)
    np.testing.assert_array_equal(y[:4], x[:4] + 1)
    np.testing.assert_array_equal(y[4:8], np.roll(y[:4], -1, 0) + 1)
    np.testing.assert_array_equal(y[8:], np.roll(y[4:8], -1, 0) + 1)
    y = run("group", 5, 15 * 64)
    for i in range(3):
        np.testing.assert_array_equal(y[i * 2 : i * 2 + 2], x[:2] + i)
        np.testing.assert_array_equal(y[6 + i * 3 : 9 + i * 3], np.tile(x[1] + i + 1, (3, 1)))
    np.testing.assert_array_equal(run("outputs", 2, 400), np.repeat([3, 4], 200))


def test_the_group_needs_its_members() -> None:
    arguments = (np.zeros(320, I32), np.zeros(960, I32), np.zeros(4096, I32))
    fault = KERNELS.fault("group", *arguments, blocks=4, checks=DEVICE)
    assert fault.kind == "deadlock", fault


def test_one_host_thread_alone_tells_of_a_deadlock() -> None:
    """Another one would look at blocks that the first already stops."""
    arguments = (np.zeros(320, I32), np.zeros(960, I32), np.zeros(4096, I32))
    for _ in range(kept_number(1000)):
        fault = KERNELS.fault("group", *arguments, blocks=4, checks=DEVICE)
        assert fault.text.count(" waits at ") == 4, fault


BAD: dict[str, tuple[str, str]] = {
    "event": ("IBSet(t.gw, t.words, 0, -1);", "eventID is -1"),
    "block": ("IBWait(t.gw, t.words, 9, 0);", "blockIdx is 9, but must be 0..1"),
    "small": ("IBSet(t.gw, t.words, 1, 300);", "gmWorkspace writes bytes"),
    "cores": ("SyncAll(t.gw, t.words, 1); IBSet(t.gw, t.words, 3, 0);", ""),
    "group": ("GroupBarrier<PipeMode::MTE3_MODE> g(w, 0, 1);", "a group of 0 AIVs"),
    "member": ("GroupBarrier<PipeMode::MTE3_MODE> g(w, 1, 1); g.Arrive(1);", "arriveIndex is 1"),
    "gm": ("ReadGmByPassDCache((__gm__ int32_t*)w + 100000);", "lies in no buffer of this launch"),
}
for _name, (_body, _) in BAD.items():
    add(f"bad_{_name}", _body)


@pytest.mark.parametrize("name", BAD)
def test_misuse(name: str) -> None:
    arguments = (np.zeros(64, I32), np.zeros(64, I32), np.zeros(1024, I32))
    fault = KERNELS.fault(f"bad_{name}", *arguments, blocks=2, checks=DEVICE)
    assert fault.kind in ("bad-argument", "out-of-bounds") and BAD[name][1] in fault.text, fault


add("within", """
if ASCEND_IS_AIC { return; }
if (GetSubBlockIdx() == 0) { t.Move(t.gx, t.gy, 1); t.Stored(); t.gw.SetValue(0, 7); Clean(t.gw[0]); }
else { do { Clean(t.gw[0]); } while (t.gw.GetValue(0) != 7); t.Move(t.gy, t.gy[N], 1); }""",
    "KERNEL_TYPE_MIX_AIC_1_2")  # fmt: skip


@pytest.mark.parametrize("starved", [0, 2, 3])
@pytest.mark.parametrize("check", LEVELS)
def test_a_flag_between_the_cores_of_a_block(check: int, starved: int) -> None:
    x, y, w = np.arange(64, dtype=I32), np.zeros(128, I32), np.zeros(64, I32)
    KERNELS.run("within", x, y, w, checks=check, starved=starved)
    np.testing.assert_array_equal(y, np.concatenate([x + 1, x + 2]))


# How a flag in GM is set to a value and polled for one.
PAST_SET = "WriteGmByPassDCache((__gm__ int32_t*)w, {});"
PAST_POLL = "while (ReadGmByPassDCache((__gm__ int32_t*)w) != {}) {{}}"
CACHED_SET = "t.gw.SetValue(0, {}); Clean(t.gw[0]);"
CACHED_POLL = "do {{ Clean(t.gw[0]); }} while (t.gw.GetValue(0) != {});"
COPY_SET = (
    "Duplicate(t.words, {}, 8); SetFlag<HardEvent::V_MTE3>(2); WaitFlag<HardEvent::V_MTE3>(2);"
    "PipeBarrier<PIPE_MTE3>(); DataCopy(t.gw, t.words, 8);"
)
# name: the producer's set, the reader's poll, its reset, the producer's poll for that
ROUNDS = {
    "past_cache": (PAST_SET, PAST_POLL, PAST_SET, PAST_POLL),
    "cached": (CACHED_SET, CACHED_POLL, CACHED_SET, CACHED_POLL),
    "by_copy": (COPY_SET, PAST_POLL, PAST_SET, PAST_POLL),
    "reset_by_cache": (PAST_SET, PAST_POLL, CACHED_SET, CACHED_POLL),
}
BLOCKS = ("KERNEL_TYPE_MIX_AIV_1_0", "", "me == 0", "me == 1")
VECTOR_CORES = (
    "KERNEL_TYPE_MIX_AIC_1_2", "if ASCEND_IS_AIC { return; }", "GetSubBlockIdx() == 0", "GetSubBlockIdx() == 1",
)  # fmt: skip
for _name, (_set, _poll, _reset, _poll_reset) in ROUNDS.items():
    for _where, (_kind, _first, _producer, _reader) in {
        "blocks": BLOCKS,
        "cores": VECTOR_CORES,
    }.items():
        for _twin, _trips in {"right": 3, "blind": 1}.items():
            add(
                f"rounds_{_twin}_{_name}_{_where}",
                f"""{_first}
for (int32_t i = 0; i < {_trips}; ++i) {{
    if ({_producer}) {{
        if (i > 0) {{ {_poll_reset.format(0)} }}
        t.Move(t.gx[i * N], t.gy, 1);
        t.Stored();
        {_set.format(7)} // set
    }} else if ({_reader}) {{
        {_poll.format(7)}
        t.Move(t.gy, t.gy[(i + 1) * N], 1);
        t.Stored();
        {_reset.format(0)} // reset
    }}
}}
{f"if ({_producer}) {{ {_set.format(7)} }}" if _twin == "blind" else ""}""",
                _kind,
            )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize("where", ["blocks", "cores"])
@pytest.mark.parametrize("name", ROUNDS)
def test_a_flag_that_its_reader_resets(
    name: str, where: str, check: int, threads: int, seed: int
) -> None:
    """The reader has seen the set, and the producer sees the reset before it sets again."""
    x, y, w = np.arange(192, dtype=I32), np.zeros(256, I32), np.zeros(64, I32)
    blocks = 2 if where == "blocks" else 1
    options: dict[str, Any] = {"checks": check, "threads": threads, "seed": seed}
    KERNELS.run(f"rounds_right_{name}_{where}", x, y, w, blocks=blocks, **options)
    np.testing.assert_array_equal(y[64:], x + 2)


add(
    "reset_without_a_look",
    f"""
if (me == 0) {{ {PAST_SET.format(7)} }}
if (me == 1) {{ {PAST_SET.format(0)} }}""",
)
add(
    "two_producers",
    f"""
if (me < 2) {{ {PAST_SET.format("me + 1")} }}
if (me == 2) {{ while (ReadGmByPassDCache((__gm__ int32_t*)w) == 0) {{}} {PAST_SET.format(0)} }}""",
)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["reset_without_a_look", "two_producers"])
def test_stores_to_a_flag_that_nothing_orders(name: str, threads: int, seed: int) -> None:
    arguments = (np.zeros(64, I32), np.zeros(64, I32), np.zeros(64, I32))
    options: dict[str, Any] = {"checks": DEVICE, "threads": threads, "seed": seed}
    fault = KERNELS.fault(name, *arguments, blocks=3, **options)
    assert fault.kind == "race" and "'w'" in fault.text, fault


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("where", ["blocks", "cores"])
def test_a_set_that_does_not_wait_for_the_reset(where: str, seed: int) -> None:
    x, y, w = np.arange(192, dtype=I32), np.zeros(256, I32), np.zeros(64, I32)
    blocks = 2 if where == "blocks" else 1
    """On a device the reader may reset the flag after the second set."""
    fault = KERNELS.fault(
        f"rounds_blind_past_cache_{where}", x, y, w, blocks=blocks, checks=DEVICE, seed=seed
    )
    assert fault.kind == "race", fault
