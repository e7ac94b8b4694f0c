"""Two cores or blocks that store to one place: equal bytes are waste, unequal ones a race."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

KERNELS = KernelSet(
    """
// x: 64 times 1, read from GM; z: what is stored; gy: the same place for everybody.
struct Vectors {
    TPipe pipe;
    TBuf<TPosition::VECCALC> a, b;
    LocalTensor<float> x, z;
    GlobalTensor<float> gx, gy;
    __aicore__ inline Vectors(GM_ADDR from, GM_ADDR to)
    {
        pipe.InitBuffer(a, 256); pipe.InitBuffer(b, 256);
        x = a.Get<float>(); z = b.Get<float>();
        gx.SetGlobalBuffer((__gm__ float*)from);
        gy.SetGlobalBuffer((__gm__ float*)to);
        DataCopy(x, gx, 64);
        PipeBarrier<PIPE_ALL>();
    }
};
"""
)
DEVICE, STRICT = 1, 2
ALL = "PipeBarrier<PIPE_ALL>();"
FILL = f"Adds(z, x, 1.0f, 64); {ALL}"
MINE = f"Adds(z, x, float(me), 64); {ALL}"
STORE = "DataCopy(gy, z, 64);"
TWENTY = "DataCopyExtParams(1, 20, 0, 0, 0)"
CLEAN = "DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(gy);"
ATOMIC = f"SetAtomicAdd<float>(); {STORE} SetAtomicNone();"
NEIGHBOURS = "z.SetValue(me == 0 ? 4 : 0, 7.0f);"
NOTHING, REDUNDANT, RACE = "nothing", "redundant-store", "race"

# What both do, the verdict, and words of it. `me` is 0 or 1.
BOTH: dict[str, tuple[str, str, str]] = {
    "equal": (f"{FILL} {STORE}", REDUNDANT, "bytes [0, 256) of GM buffer 'd'"),
    "unequal": (f"{MINE} {STORE}", RACE, "writes bytes [0, 256) of GM buffer 'd'"),
    "one_byte_unequal": (
        f"{FILL} z.SetValue(63, float(me)); {ALL} {STORE}", RACE, "writes bytes [0, 256)",
    ),
    "apart": (f"{FILL} DataCopy(gy[me * 64], z, 64);", NOTHING, ""),
    "overlap_equal": (
        f"{FILL} DataCopyPad(gy[me * 4], z, {TWENTY});", REDUNDANT, "bytes [16, 20)",
    ),
    "overlap_unequal": (f"{MINE} DataCopyPad(gy[me * 4], z, {TWENTY});", RACE, "bytes [16, 20)"),
    "equal_where_they_overlap": (
        f"{MINE} {NEIGHBOURS} {ALL} DataCopyPad(gy[me * 4], z, {TWENTY});", REDUNDANT,
        "bytes [16, 20)",
    ),
    "strided": (
        f"{FILL} DataCopyPad(gy, z, DataCopyExtParams(3, 20, 0, 12, 0));", REDUNDANT,
        "bytes [0, 20)",
    ),
    "reader_in_between": (
        f"{FILL} {STORE} {ALL} if (me == 0) {{ DataCopy(x, gy, 64); }}", RACE, "reads",
    ),
    "atomics": (f"{FILL} {ATOMIC}", NOTHING, ""),
    "atomic_and_plain": (
        f"{FILL} if (me == 0) {{ {STORE} }} else {{ {ATOMIC} }}", RACE, "updates",
    ),
    "scalars_equal": (f"gy.SetValue(3, 5.0f); {CLEAN}", REDUNDANT, ""),
    "scalars_unequal": (f"gy.SetValue(3, float(me)); {CLEAN}", RACE, "S writes"),
    "lines_equal": (
        f"for (int i = 0; i < 40; ++i) {{ gy.SetValue(i, float(i)); }} {CLEAN}", REDUNDANT, "",
    ),
    "by_reference": (f"gy(3) = 5.0f; {CLEAN}", RACE, "S writes"),
}  # fmt: skip
SETUP = "Vectors v(s, d); auto &x = v.x, &z = v.z; auto &gx = v.gx, &gy = v.gy;"
for _name, (_body, _, _) in BOTH.items():
    KERNELS.add(
        f"lanes_{_name}", "GM_ADDR d, GM_ADDR s",
        f"if ASCEND_IS_AIV {{ {SETUP} int32_t me = GetSubBlockIdx();\n{_body}\n}}", None,
    )  # fmt: skip
    KERNELS.add(
        f"blocks_{_name}", "GM_ADDR d, GM_ADDR s",
        f"{SETUP} int32_t me = GetBlockIdx();\n{_body}", "KERNEL_TYPE_MIX_AIV_1_0",
    )  # fmt: skip


def arrays() -> tuple[Any, Any]:
    return np.zeros(2048, np.float32), np.ones(2048, np.float32)


def verdict(name: str, level: int, **options: int) -> list[Any]:
    """The findings of a run: its error, or its warnings."""
    try:
        return KERNELS.warnings(name, *arrays(), checks=level, **options)
    except Exception as error:
        return [error.fault]  # type: ignore[attr-defined]


LANES = "both vector cores do the same work and store it twice; index by GetSubBlockIdx(): twice as fast"
BLOCKS = "blocks 0 and 1 do the same work and store it twice; give each block its own part by GetBlockIdx()"


@pytest.mark.parametrize("level", [DEVICE, STRICT])
@pytest.mark.parametrize("who", ["lanes", "blocks"])
@pytest.mark.parametrize("name", BOTH)
def test_stores_to_one_place(name: str, who: str, level: int) -> None:
    body, kind, words = BOTH[name]
    told = set()
    for threads in (1, 2, 2):
        found = verdict(f"{who}_{name}", level, blocks=2 if who == "blocks" else 1, threads=threads)
        told.add(repr(found))
        if kind == NOTHING:
            assert not found
            continue
        (finding,) = found
        assert finding.kind == kind, finding
        assert words in finding.text
        if kind == REDUNDANT:
            assert finding.text.startswith(LANES if who == "lanes" else BLOCKS)
            assert not finding.hint
        assert KERNELS.source().splitlines()[finding.line - 1] == body
        assert (finding.block, finding.core) == ((0, "aiv1") if who == "lanes" else (1, "aiv0"))
    assert len(told) == 1


def test_at_device_level_equal_stores_are_only_a_warning() -> None:
    for name in ("lanes_equal", "blocks_equal"):
        to, source = arrays()
        KERNELS.run(name, to, source, blocks=2)
        assert (to[:64] == 2).all()
        assert KERNELS.fault(name, to, source, blocks=2, checks=STRICT).kind == REDUNDANT


# Kernels of both vector cores (and the cube core, which does nothing unless told), and the verdict.
MEET = "CrossCoreSetFlag<1, PIPE_MTE3>(2); CrossCoreWaitFlag(2);"
LANE_PROGRAMS: dict[str, tuple[str, str]] = {
    "read_after_both": (f"{FILL} {STORE} {MEET} DataCopy(x, gy, 64);", REDUNDANT),
    "read_after_one": (f"{FILL} {STORE} {ALL} DataCopy(x, gy, 64); {MEET}", RACE),
    "unequal_in_order": (
        f"{MINE} if (me == 0) {{ {STORE} }} {MEET} if (me == 1) {{ {STORE} }}", NOTHING,
    ),
    # What one core replaced was never visible at the end, but the bytes are compared as they meet.
    "two_values_in_turn": (
        f"{FILL} {STORE} {ALL} Adds(z, x, 2.0f, 64); {ALL} {STORE}", RACE,
    ),
    "one_value_in_turn": (f"{FILL} {STORE} {ALL} {STORE}", REDUNDANT),
    "two_values_with_order": (
        f"{FILL} {STORE} {ALL} {MEET} Adds(z, x, 2.0f, 64); {ALL} {STORE}", REDUNDANT,
    ),
}  # fmt: skip
for _name, (_body, _) in LANE_PROGRAMS.items():
    KERNELS.add(
        f"program_{_name}", "GM_ADDR d, GM_ADDR s",
        f"if ASCEND_IS_AIV {{ {SETUP} int32_t me = GetSubBlockIdx();\n{_body}\n}}", None,
    )  # fmt: skip
# The cube core reads, and only one of the two that overwrite what it read waits for it.
KERNELS.add(
    "behind_a_reader",
    "GM_ADDR d, GM_ADDR s",
    f"""
    if ASCEND_IS_AIC {{
        TPipe pipe; TBuf<TPosition::A1> b; pipe.InitBuffer(b, 256);
        LocalTensor<float> y = b.Get<float>();
        GlobalTensor<float> gy; gy.SetGlobalBuffer((__gm__ float*)d);
        DataCopy(y, gy, 64);
        CrossCoreSetFlag<2, PIPE_MTE2>(3);
    }}
    if ASCEND_IS_AIV {{
        {SETUP} {FILL}
        if (GetSubBlockIdx() == 0) {{ CrossCoreWaitFlag(3); }}
        {STORE}
        if (GetSubBlockIdx() == 1) {{ CrossCoreWaitFlag(3); }}
    }}
""",
    None,
)


@pytest.mark.parametrize("starved", [0, 1, 2, 3])
@pytest.mark.parametrize("name", LANE_PROGRAMS)
def test_order_of_equal_stores(name: str, starved: int) -> None:
    kind = LANE_PROGRAMS[name][1]
    found = verdict(f"program_{name}", DEVICE, starved=starved)
    assert [f.kind for f in found] == ([] if kind == NOTHING else [kind]), found


@pytest.mark.parametrize("starved", [0, 1, 2, 3])
def test_a_reader_counts_even_behind_an_ordered_store(starved: int) -> None:
    (finding,) = verdict("behind_a_reader", DEVICE, starved=starved)
    assert finding.kind == RACE and "aic MTE2" in finding.text


BLOCK_PROGRAMS: dict[str, tuple[str, str]] = {
    "two_values_in_turn": (f"{FILL} {STORE} {ALL} Adds(z, x, 2.0f, 64); {ALL} {STORE}", REDUNDANT),
    "the_other_turn": (
        f"Adds(z, x, float(me), 64); {ALL} {STORE} {ALL} Adds(z, x, 1.0f - me, 64); {ALL} {STORE}",
        RACE,
    ),
    "across_a_round": (f"{FILL} {STORE} SyncAll(); Adds(z, x, 2.0f, 64); {ALL} {STORE}", REDUNDANT),
    "unequal_before_a_round": (f"{MINE} {STORE} SyncAll(); {FILL} {STORE}", RACE),
    "other_bytes_of_a_line": (f"gy.SetValue(me, 5.0f); {CLEAN}", RACE),
    "more_bytes_of_a_line": (
        f"gy.SetValue(0, 5.0f); if (me == 0) {{ gy.SetValue(1, 5.0f); }} {CLEAN}", RACE,
    ),
    "line_and_copy": (
        f"{FILL} if (me == 0) {{ gy.SetValue(0, 2.0f); }} else {{ {STORE} }} {CLEAN}", RACE,
    ),
    "read_after_a_round": (f"{FILL} {STORE} SyncAll(); DataCopy(x, gy, 64);", REDUNDANT),
}  # fmt: skip
for _name, (_body, _) in BLOCK_PROGRAMS.items():
    KERNELS.add(
        f"grid_{_name}", "GM_ADDR d, GM_ADDR s",
        f"{SETUP} int32_t me = GetBlockIdx();\n{_body}", "KERNEL_TYPE_MIX_AIV_1_0",
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("name", BLOCK_PROGRAMS)
def test_equal_stores_of_blocks(name: str, seed: int, threads: int) -> None:
    found = verdict(f"grid_{name}", DEVICE, blocks=2, seed=seed, threads=threads)
    assert [f.kind for f in found] == [BLOCK_PROGRAMS[name][1]], found


def test_many_blocks_are_told_of_once_a_line() -> None:
    found = verdict("blocks_equal", DEVICE, blocks=40, threads=2)
    assert [f.text for f in found] == [f"{BLOCKS} (bytes [0, 256) of GM buffer 'd')"]


def test_hint_for_a_statement_of_both_vector_cores() -> None:
    (finding,) = verdict("lanes_unequal", DEVICE)
    assert finding.hint == (
        "index by GetSubBlockIdx(), or guard with `if (GetSubBlockIdx() == 0)`, so that each vector "
        "core has its own part"
    )
