"""The data cache of the scalar unit: lines that are written back whole, who else touches them, and
what becomes of values that are still in it. Each fault has a twin that is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

DEVICE, STRICT = 1, 2
SETUP = """
    TPipe pipe; TBuf<TPosition::VECCALC> buffer; pipe.InitBuffer(buffer, 256);
    LocalTensor<float> x = buffer.Get<float>();
    GlobalTensor<float> g, from;
    g.SetGlobalBuffer((__gm__ float*)d); from.SetGlobalBuffer((__gm__ float*)s);
    int32_t me = GetBlockIdx();
"""
KERNELS = KernelSet("")
LINE = "DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(g);"
ALL = "DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);"
LOAD = "DataCopy(x, from, 64); SetFlag<HardEvent::MTE2_MTE3>(0); WaitFlag<HardEvent::MTE2_MTE3>(0);"
S_MTE3 = "SetFlag<HardEvent::S_MTE3>(0); WaitFlag<HardEvent::S_MTE3>(0);"
MTE3_S = "SetFlag<HardEvent::MTE3_S>(0); WaitFlag<HardEvent::MTE3_S>(0);"
HELD = "writes back, in the line of its data cache,"
WHOLE = "a data cache writes back lines of 64 bytes"

# name: body on one vector core, the lowest level that objects (None: no level does), words
CASES: dict[str, tuple[str, int | None, tuple[str, ...]]] = {
    "stored_beside_a_dirty_byte": (
        f"{LOAD} g.SetValue(0, 1.0f); {S_MTE3} DataCopy(g[8], x, 8); {MTE3_S} {LINE}", DEVICE,
        (f"S {HELD} bytes [32, 64)", "MTE3 writes them (DataCopy"),
    ),
    "stored_before_the_line_is_fetched": (
        f"{LOAD} DataCopy(g[8], x, 8); {MTE3_S} g.SetValue(0, 1.0f); {LINE}", None, (),
    ),
    "fetched_before_the_store_is_done": (
        f"{LOAD} DataCopy(g[8], x, 8); g.SetValue(0, 1.0f); {LINE}", STRICT,
        ("MTE3 writes bytes [32, 64)", f"S {HELD} them"),
    ),
    "stored_once_the_line_is_back": (
        f"{LOAD} g.SetValue(0, 1.0f); {LINE} {S_MTE3} DataCopy(g[8], x, 8);", None, (),
    ),
    "stored_to_another_line": (
        f"{LOAD} g.SetValue(0, 1.0f); {S_MTE3} DataCopy(g[16], x, 8); {LINE}", None, (),
    ),
    "a_line_across_two_stores": (
        f"{LOAD} g.SetValue(0, 1.0f); g.SetValue(5, 2.0f); {S_MTE3} DataCopy(g[8], x, 16); {ALL}",
        DEVICE, (f"S {HELD} bytes [32, 64)", "MTE3 writes them (DataCopy"),
    ),
    "loaded_beside_a_dirty_byte": (
        f"g.SetValue(0, 1.0f); {LINE} SetFlag<HardEvent::S_MTE2>(0); WaitFlag<HardEvent::S_MTE2>(0); "
        "DataCopy(x, g, 8);", None, (),
    ),
    "loaded_while_dirty": (
        "g.SetValue(0, 1.0f); SetFlag<HardEvent::S_MTE2>(0); WaitFlag<HardEvent::S_MTE2>(0); DataCopy(x, g, 8); "
        f"{ALL}", DEVICE, ("S writes bytes [0, 4)", "MTE2 reads them"),
    ),
    "neighbour_loaded_while_dirty": (
        "g.SetValue(0, 1.0f); SetFlag<HardEvent::S_MTE2>(0); WaitFlag<HardEvent::S_MTE2>(0); DataCopy(x, g[8], 8); "
        f"{ALL}", None, (),
    ),
    "read_by_the_core_itself": (
        f"g.SetValue(3, 2.0f); g.SetValue(4, g.GetValue(3) + g.GetValue(2)); {ALL}", None, (),
    ),
    "stale_beside_a_dirty_byte": (
        f"{LOAD} float before = g.GetValue(9); g.SetValue(0, before); {LINE} {S_MTE3} DataCopy(g[8], x, 8); {MTE3_S} "
        f"g.SetValue(1, g.GetValue(9)); {LINE}", None, (),
    ),
}  # fmt: skip
for _name, (_body, _, _) in CASES.items():
    KERNELS.add(_name, "GM_ADDR d, GM_ADDR s", SETUP + _body)

# What the two vector cores of a block do, and the words of the objection.
LANES: dict[str, tuple[str, tuple[str, ...]]] = {
    "lanes_in_one_line": (
        f"g.SetValue(GetSubBlockIdx(), 1.0f); {LINE}",
        (WHOLE, "aiv0 S", "aiv1 S"),
    ),
    "lanes_in_their_own_lines": (
        f"g.SetValue(GetSubBlockIdx() * 16, 1.0f); {ALL}",
        (),
    ),
    "lanes_one_after_the_other": (
        f"if (GetSubBlockIdx() == 0) {{ g.SetValue(0, 1.0f); {LINE} {S_MTE3} CrossCoreSetFlag<1, PIPE_MTE3>(3); }} "
        f"else {{ CrossCoreSetFlag<1, PIPE_MTE3>(3); }} CrossCoreWaitFlag(3); "
        f"if (GetSubBlockIdx() == 1) {{ g.SetValue(1, 1.0f); {LINE} }}",
        (),
    ),
    "dma_of_the_other_lane": (
        f"if (GetSubBlockIdx() == 0) {{ g.SetValue(0, 1.0f); {LINE} }} "
        f"else {{ {LOAD} DataCopy(g[8], x, 8); }}",
        (HELD, "aiv1 MTE3"),
    ),
}
for _name, (_body, _) in LANES.items():
    KERNELS.add(_name, "GM_ADDR d, GM_ADDR s", f"if ASCEND_IS_AIV {{ {SETUP} {_body} }}", None)

SIZE = 16384
# Lines that are pushed out by later ones are in GM; others show when the kernel ends.
KERNELS.add(
    "more_than_the_cache_holds", "GM_ADDR d, GM_ADDR s",
    f"{SETUP} for (int32_t i = 0; i < {SIZE} / 16; ++i) {{ g.SetValue(i * 16, from.GetValue(i * 16) + 1.0f); }}",
)  # fmt: skip


def arrays() -> tuple[Any, Any]:
    return np.zeros(SIZE, np.float32), np.arange(SIZE, dtype=np.float32)


@pytest.mark.parametrize("level", [DEVICE, STRICT])
@pytest.mark.parametrize("name", CASES)
def test_lines_of_one_core(name: str, level: int) -> None:
    _, lowest, words = CASES[name]
    if lowest is None or level < lowest:
        KERNELS.run(name, *arrays(), checks=level)
        return
    fault = KERNELS.fault(name, *arrays(), checks=level)
    assert fault.kind == "race" and all(word in fault.text for word in words), fault


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
@pytest.mark.parametrize("name", LANES)
def test_lines_of_two_cores(name: str, seed: int) -> None:
    words = LANES[name][1]
    if not words:
        KERNELS.run(name, *arrays(), checks=STRICT, seed=seed)
        return
    fault = KERNELS.fault(name, *arrays(), checks=DEVICE, seed=seed)
    assert fault.kind == "race" and all(word in fault.text for word in words), fault


def test_what_was_stored_is_in_gm_at_the_end() -> None:
    out, given = arrays()
    KERNELS.run("more_than_the_cache_holds", out, given, checks=DEVICE)
    assert (out[::16] == given[::16] + 1).all() and np.count_nonzero(out) == SIZE // 16
    fault = KERNELS.fault("more_than_the_cache_holds", *arrays(), checks=STRICT)
    assert fault.kind == "store-not-written-back"


def test_values_of_a_core_that_reads_what_it_stored() -> None:
    out, given = arrays()
    KERNELS.run("read_by_the_core_itself", out, given, checks=STRICT)
    assert out[3] == 2.0 and out[4] == 2.0
