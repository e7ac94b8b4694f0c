"""A run goes on after an error that leaves the core able to: every pair of errors, more than can be
told, and what ends a core, a block or the run. `first` is for an end at the first."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet, SimulatorError

from tile_ir import DEFAULT_TARGET
from tile_ir.costs.timing import timing_of

DEVICE, STRICT = 1, 2
KERNELS = KernelSet()
SETUP = """
    TPipe pipe; TBuf<TPosition::VECCALC> buffer, unwritten; pipe.InitBuffer(buffer, 4096); pipe.InitBuffer(unwritten, 4096);
    LocalTensor<float> x = buffer.Get<float>(), u = unwritten.Get<float>();
    GlobalTensor<float> g; g.SetGlobalBuffer((__gm__ float*)d);
    Duplicate(x, 1.0f, 1024); PipeBarrier<PIPE_ALL>();
"""
ALL = "PipeBarrier<PIPE_ALL>();"
# kind, statement. GM buffer d has 4096 bytes.
ERRORS = [
    ("race", "DataCopy(x, g, 64); Adds(x[64], x, 1.0f, 64);"),
    ("race", "Adds(x[128], x[256], 1.0f, 64); DataCopy(g, x[128], 64);"),
    ("out-of-bounds", "DataCopy(x, g[1016], 16);"),
    ("out-of-bounds", "DataCopy(g[1020], x, 8);"),
    ("out-of-bounds", "x.SetValue(0, g.GetValue(1024));"),
    ("out-of-bounds", "g.SetValue(4096, 1.0f);"),
    ("out-of-bounds", "Adds(x, x[1000], 1.0f, 64);"),
    ("misaligned", "Adds(x[1], x[64], 1.0f, 8);"),
    ("uninitialised-read", "DataCopy(g, u, 8);"),
    (
        "flag-set-twice",
        "SetFlag<HardEvent::MTE2_V>(1); SetFlag<HardEvent::MTE2_V>(1); WaitFlag<HardEvent::MTE2_V>(1);",
    ),
    ("flag-wait-without-set", "WaitFlag<HardEvent::V_MTE3>(2);"),
]
# These end the core.
ENDS = [
    ("bad-argument", "Adds(x, x, 1.0f, -1);"),
    ("assertion", "ascendc_assert(false);"),
]
PAIRS = {
    f"pair_{i}_{j}": (ERRORS[i], ERRORS[j])
    for i, j in itertools.permutations(range(len(ERRORS)), 2)
}
for name, ((_, first), (_, second)) in PAIRS.items():
    KERNELS.add(name, "GM_ADDR d", f"{SETUP}{first}\n{ALL}\n{second}\n{ALL}")
KERNELS.add(
    "many", "GM_ADDR d",
    SETUP + "".join(f"{ALL}\nDataCopy(x, g[{1017 + i % 7}], 8);\n" for i in range(30)),
)  # fmt: skip
KERNELS.add(
    "in_a_loop",
    "GM_ADDR d",
    f"{SETUP}for (int i = 0; i < 100; ++i) {{ DataCopy(x, g[1016 + i], 16); {ALL} }}",
)
# Every block has an error of its own line, and the first ends.
KERNELS.add(
    "by_block", "GM_ADDR d",
    f"{SETUP}if (GetBlockIdx() == 0) {{ {ENDS[0][1]} }}\n"
    f"if (GetBlockIdx() == 1) {{ {ERRORS[7][1]} }}\nif (GetBlockIdx() == 2) {{ {ERRORS[2][1]} }}",
)  # fmt: skip
# Block 0 ends before it joins the others.
KERNELS.add(
    "waited_for", "GM_ADDR d",
    f"{SETUP}if (GetBlockIdx() == 0) {{ {ENDS[0][1]} }}\nif (GetBlockIdx() == 1) {{ {ERRORS[7][1]} }}\nSyncAll();\n{ERRORS[2][1]}",
    "KERNEL_TYPE_MIX_AIV_1_0",
)  # fmt: skip
for kind, statement in ENDS:
    KERNELS.add(
        f"ends_{kind.replace('-', '_')}",
        "GM_ADDR d",
        f"{SETUP}{ERRORS[0][1]}{ALL}\n{statement}\n{ERRORS[2][1]}",
    )
KERNELS.add("unwritten_line", "GM_ADDR d", f"{SETUP}g.SetValue(512, 1.0f);\n{ERRORS[0][1]}{ALL}")
# The clock asks where rows lie in their buffer.
KERNELS.add(
    "rows_of_no_buffer", "GM_ADDR d",
    """TBuf<TPosition::A1> buffer; TPipe pipe; pipe.InitBuffer(buffer, 4096);
    GlobalTensor<half> g; g.SetGlobalBuffer((__gm__ half*)nullptr);
    DataCopy(buffer.Get<half>(), g, Nd2NzParams(1, 16, 16, 0, 20, 16, 1, 0));""",
    "KERNEL_TYPE_AIC_ONLY",
)  # fmt: skip
KERNELS.add("right", "GM_ADDR d", f"{SETUP}DataCopy(g, x, 64);")


def told(name: str, **options: Any) -> list[Any]:
    """The errors of a run, in order."""
    given = np.zeros(1024, np.float32)
    try:
        KERNELS.run(name, given, **{"checks": DEVICE, **options})
    except SimulatorError as error:
        return [error.fault, *KERNELS.others(name)]
    return []


def kinds(name: str, **options: Any) -> list[str]:
    return [fault.kind for fault in told(name, **options)]


@pytest.mark.parametrize("name", PAIRS)
def test_neither_of_two_hides_the_other(name: str) -> None:
    (first, _), (second, _) = PAIRS[name]
    found = told(name)
    assert [fault.kind for fault in found] == [first, second]
    assert found[0].line < found[1].line
    assert kinds(name, first=True) == [first]


@pytest.mark.parametrize("name", ["rows_of_no_buffer", "pair_2_3", "pair_4_5", "pair_7_6"])
def test_timed_runs_tell_the_same(name: str) -> None:
    timing = timing_of(DEFAULT_TARGET)
    assert kinds(name, timing=timing) == kinds(name) != []


def test_one_for_each_line_and_twenty_at_most() -> None:
    assert kinds("many") == ["out-of-bounds"] * 20
    assert len({fault.line for fault in told("many")}) == 20
    assert kinds("in_a_loop") == ["out-of-bounds"]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_block_that_ends_leaves_the_others(threads: int, seed: int) -> None:
    options = {"blocks": 3, "threads": threads, "seed": seed}
    found = told("by_block", **options)
    assert {(fault.kind, fault.block) for fault in found} == {
        ("bad-argument", 0), ("misaligned", 1), ("out-of-bounds", 2)
    }  # fmt: skip
    assert len(kinds("by_block", first=True, **options)) == 1


def test_who_waits_for_a_block_that_ended_is_no_deadlock() -> None:
    assert sorted(kinds("waited_for", blocks=3)) == ["bad-argument", "misaligned"]


@pytest.mark.parametrize("kind", [kind for kind, _ in ENDS])
def test_what_ends_a_core_is_told_behind_what_was_before(kind: str) -> None:
    assert kinds(f"ends_{kind.replace('-', '_')}") == ["race", kind]


def test_a_line_left_dirty_hides_no_race() -> None:
    assert kinds("unwritten_line", checks=STRICT) == ["race", "store-not-written-back"]
    assert kinds("unwritten_line") == ["race"]


def test_the_next_run_begins_anew() -> None:
    assert kinds("by_block", blocks=3) and not kinds("right")
    assert not told("right", checks=STRICT)
