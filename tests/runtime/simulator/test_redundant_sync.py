"""Remarks of timed runs about flags and barriers that order nothing, and kernels in which they do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_set import KernelSet

from tile_ir import DEFAULT_TARGET
from tile_ir.costs.timing import timing_of

OFF, DEVICE, STRICT = 0, 1, 2
KERNELS = KernelSet(
    """
// Two tiles in UB and x and y in GM.
struct Tiles {
    TPipe pipe;
    TBuf<TPosition::VECCALC> first, second;
    LocalTensor<float> a, b;
    GlobalTensor<float> gx, gy;
    __aicore__ inline Tiles(GM_ADDR x, GM_ADDR y)
    {
        pipe.InitBuffer(first, 1024);
        pipe.InitBuffer(second, 1024);
        a = first.Get<float>();
        b = second.Get<float>();
        gx.SetGlobalBuffer((__gm__ float*)x);
        gy.SetGlobalBuffer((__gm__ float*)y);
    }
};
"""
)
LOAD = "DataCopy(t.a, t.gx, 256);"
LOADED = "SetFlag<HardEvent::MTE2_V>(0);\nWaitFlag<HardEvent::MTE2_V>(0);"
COMPUTE = "Adds(t.b, t.a, 1.0f, 256);"
COMPUTED = "SetFlag<HardEvent::V_MTE3>(0);\nWaitFlag<HardEvent::V_MTE3>(0);"
STORE = "DataCopy(t.gy, t.b, 256);"
# What follows is redundant wherever `REDUNDANT` marks the line of the remark.
MARK = "// redundant"
# name: the kernel, and the kinds of its remarks in the order of lines
KERNEL_TEXTS: dict[str, tuple[str, list[str]]] = {
    "all_needed": (f"{LOAD}\n{LOADED}\n{COMPUTE}\n{COMPUTED}\n{STORE}", []),
    "flag_between_strangers": (
        f"{LOAD}\nSetFlag<HardEvent::MTE2_MTE3>(1); {MARK}\nWaitFlag<HardEvent::MTE2_MTE3>(1);\n"
        f"{LOADED}\n{COMPUTE}\n{COMPUTED}\n{STORE}",
        ["redundant-flag"],
    ),
    "flag_twice": (
        f"{LOAD}\n{LOADED}\nSetFlag<HardEvent::MTE2_V>(1); {MARK}\nWaitFlag<HardEvent::MTE2_V>(1);\n"
        f"{COMPUTE}\n{COMPUTED}\n{STORE}",
        ["redundant-flag"],
    ),
    "barrier_beside_flags": (
        f"{LOAD}\n{LOADED}\n{COMPUTE}\n{COMPUTED}\nPipeBarrier<PIPE_ALL>(); {MARK}\n{STORE}",
        ["redundant-barrier"],
    ),
    "barrier_between_strangers": (
        f"{LOAD}\n{LOADED}\nAdds(t.b, t.a, 1.0f, 64);\nPipeBarrier<PIPE_V>(); {MARK}\n"
        f"Adds(t.b[64], t.a, 1.0f, 64);\n{COMPUTED}\nDataCopy(t.gy, t.b, 128);",
        ["redundant-barrier"],
    ),
    # Needed by the rules of `strict` though a device compiler would add one.
    "barrier_between_dependents": (
        f"{LOAD}\n{LOADED}\n{COMPUTE}\nPipeBarrier<PIPE_V>();\nAdds(t.b, t.b, 1.0f, 256);\n{COMPUTED}\n{STORE}",
        [],
    ),
    # The flag protects what the next iteration loads over.
    "next_use": (
        "SetFlag<HardEvent::V_MTE2>(0);\nSetFlag<HardEvent::MTE3_V>(0);\n"
        f"for (int i = 0; i < 3; ++i) {{\nWaitFlag<HardEvent::V_MTE2>(0);\n{LOAD}\n{LOADED}\n"
        f"WaitFlag<HardEvent::MTE3_V>(0);\n{COMPUTE}\nSetFlag<HardEvent::V_MTE2>(0);\n{COMPUTED}\n"
        "DataCopy(t.gy[i * 256], t.b, 256);\nSetFlag<HardEvent::MTE3_V>(0);\n}\n"
        "WaitFlag<HardEvent::V_MTE2>(0);\nWaitFlag<HardEvent::MTE3_V>(0);",
        [],
    ),
    # The same where the buffer is not used again: another number of iterations needs the flag.
    "no_next_use": (
        "SetFlag<HardEvent::V_MTE2>(0);\n"
        f"for (int i = 0; i < 1; ++i) {{\nWaitFlag<HardEvent::V_MTE2>(0);\n{LOAD}\n{LOADED}\n{COMPUTE}\n"
        f"SetFlag<HardEvent::V_MTE2>(0);\n{COMPUTED}\n{STORE}\n}}\nWaitFlag<HardEvent::V_MTE2>(0);",
        [],
    ),
    # Only one of many executions of the line is needed.
    "needed_once": (
        f"{LOAD}\n{LOADED}\nfor (int i = 0; i < 3; ++i) {{\nPipeBarrier<PIPE_V>();\n"
        f"Adds(t.b[i * 64], i == 2 ? t.b : t.a, 1.0f, 64);\n}}\n{COMPUTED}\nDataCopy(t.gy, t.b, 192);",
        [],
    ),
    # The reads of x by two pipes need no order among themselves; the write of x needs both.
    "order_by_way_of_a_read": (
        f"{LOAD}\n{LOADED}\n{COMPUTE}\nSetFlag<HardEvent::V_MTE3>(0);\nWaitFlag<HardEvent::V_MTE3>(0);\n"
        "DataCopy(t.gy, t.a, 256);\nSetFlag<HardEvent::MTE3_MTE2>(0);\nWaitFlag<HardEvent::MTE3_MTE2>(0);\n"
        f"{LOAD}",
        [],
    ),
    # Flags of queues are no lines of the kernel.
    "queue": (
        "TQue<QuePosition::VECIN, 2> q; t.pipe.InitBuffer(q, 2, 1024);\n"
        "auto s = q.AllocTensor<float>(); DataCopy(s, t.gx, 256); q.EnQue(s);\n"
        "s = q.DeQue<float>(); q.FreeTensor(s);",
        [],
    ),
}  # fmt: skip
for _name, (_body, _) in KERNEL_TEXTS.items():
    KERNELS.add(_name, "GM_ADDR x, GM_ADDR y", f"Tiles t(x, y);\n{_body}")


def remarks(name: str, **options: Any) -> list[Any]:
    x, y = np.ones(256, np.float32), np.zeros(768, np.float32)
    return KERNELS.warnings(name, x, y, timing=timing_of(DEFAULT_TARGET), **options)


def marked_line(name: str) -> int:
    lines = KERNELS.source().splitlines()
    start = next(i for i, line in enumerate(lines) if f"void {name}(" in line)
    return next(i for i in range(start, len(lines)) if MARK in lines[i]) + 1


@pytest.mark.parametrize("check", [DEVICE, STRICT])
@pytest.mark.parametrize("name", KERNEL_TEXTS)
def test_what_orders_nothing_is_remarked_upon(name: str, check: int) -> None:
    found = remarks(name, checks=check)
    assert [remark.kind for remark in found] == KERNEL_TEXTS[name][1], found
    for remark in found:
        assert remark.line == marked_line(name) and remark.hint, remark
        assert "modelled cycles" in remark.text and "order" in remark.text
        if remark.kind == "redundant-flag":
            assert f":{remark.line + 1} order no two accesses" in remark.text


def test_only_timed_runs_with_checks_are_looked_at() -> None:
    x, y = np.ones(256, np.float32), np.zeros(768, np.float32)
    assert not KERNELS.warnings("flag_twice", x, y, checks=STRICT)
    assert not remarks("flag_twice", checks=OFF)
