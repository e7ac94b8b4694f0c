"""Launches over ranks that end nowhere: who waits for what, and why."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from rank_kernels import RankKernels, schedules, shared
from rank_prelude import PRELUDE

KERNELS = RankKernels(PRELUDE)
PARAMETERS = "GM_ADDR w"
WORD = "Word(w, 0)"


def add(name: str, body: str, kind: str = "KERNEL_TYPE_MIX_AIV_1_0") -> str:
    return KERNELS.add(name, PARAMETERS, f"Tile t;\n{body}", kind)


def signal(to: str, value: int = 1) -> str:
    return f"aclshmemx_signal_op({WORD}, {value}, ACLSHMEM_SIGNAL_ADD, {to});"


def wait(value: str = "1") -> str:
    return f"aclshmem_signal_wait_until({WORD}, ACLSHMEM_CMP_GE, {value});"


add("ended", f"if (t.me == 0) {{ {wait('2')} }} if (t.me == 1) {{ {signal('0')} }}")
add("never", f"if (t.me == 0) {{ {wait()} }}")
add("cycle", f"{wait()} {signal('t.next')}")
add("skipped", f"if (t.me != 1) {{ {signal('t.next')} }}\nif (t.me != 1) {{ {wait()} }}")
add("barrier_left_out", "if (t.me != 1) aclshmem_barrier_all();")
add("barrier_twice", "aclshmem_barrier_all(); if (t.me == 0) aclshmem_barrier_all();")
add("barrier_or_sync", "if (t.me == 0) aclshmem_barrier_all();\nelse aclshmem_sync_all();")
add("resident", wait("0"))


def fault_of(name: str, ranks: int = 3, **options: int) -> Any:
    return KERNELS.fault(name, ranks, shared(ranks, 64), **options)


def text_of(fault: Any) -> str:
    """The message with `line <n>` for places in the source, counted from the kernel's first."""
    lines = [int(n) for n in re.findall(r"\.cpp:(\d+)", fault.text)]
    first = min(lines, default=0)
    return re.sub(r"[^\s(]+\.cpp:(\d+)", lambda m: f"line {int(m[1]) - first}", fault.text)


TEXTS = {
    "ended": (
        "deadlock",
        "no core can go on: rank 0, block 0 aiv0 waits for w[0] of rank 0 >= 2 (aclshmem_signal_wait_until "
        "at line 0), which is 1 (by rank 1, block 0 aiv0: aclshmemx_signal_op at line 0); "
        "ended: all that could signal have ended: ranks 1, 2",
    ),
    "never": (
        "deadlock",
        "no core can go on: rank 0, block 0 aiv0 waits for w[0] of rank 0 >= 1 (aclshmem_signal_wait_until "
        "at line 0), which is 0 (no rank has signalled it); ended: all that could signal have ended: "
        "ranks 1, 2",
    ),
    "cycle": (
        "deadlock",
        "no core can go on: rank 0, block 0 aiv0 waits for w[0] of rank 0 >= 1 (aclshmem_signal_wait_until "
        "at line 0), which is 0 (no rank has signalled it); rank 1, block 0 aiv0 waits for w[0] of rank 1 >= 1 "
        "(aclshmem_signal_wait_until at line 0), which is 0 (no rank has signalled it); rank 2, block 0 aiv0 "
        "waits for w[0] of rank 2 >= 1 (aclshmem_signal_wait_until at line 0), which is 0 (no rank has signalled it); "
        "cycle: they wait for each other: ranks 0, 1, 2",
    ),
    "skipped": (
        "deadlock",
        "no core can go on: rank 2, block 0 aiv0 waits for w[0] of rank 2 >= 1 (aclshmem_signal_wait_until "
        "at line 1), which is 0 (no rank has signalled it); skipped: rank 1 did not come to the signal at "
        "line 0, as ranks 0, 2 did",
    ),
    "barrier_left_out": (
        "collective-mismatch",
        "no core can go on: rank 0, block 0 aiv0 waits at barrier 1 (aclshmem_barrier_all at "
        "line 0); rank 2, block 0 aiv0 waits at barrier 1 (aclshmem_barrier_all at line 0); "
        "mismatch: rank 0 at barrier 1, rank 1 ended after 0",
    ),
    "barrier_twice": (
        "collective-mismatch",
        "no core can go on: rank 0, block 0 aiv0 waits at barrier 2 (aclshmem_barrier_all at "
        "line 0); mismatch: rank 0 at barrier 2, rank 1 ended after 1, rank 2 ended after 1",
    ),
    "barrier_or_sync": (
        "collective-mismatch",
        "as collective number 1 rank 0, block 0 aiv0 comes to aclshmem_barrier_all (at line 0), and "
        "rank 1, block 0 aiv0 comes to aclshmem_sync_all (at line 1): all cores of all ranks come to "
        "the same ones in one order",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_report_of_a_launch_that_hangs(name: str) -> None:
    for options in schedules():
        fault = fault_of(name, **options)
        assert (fault.kind, text_of(fault)) == TEXTS[name]


def test_one_rank_alone() -> None:
    fault = fault_of("never", 1)
    assert fault.kind == "deadlock"
    assert "block 0 aiv0 waits for w[0] of rank 0 >= 1" in fault.text
    assert "ended: all that could signal have ended" in fault.text


add("in_one_block", "CrossCoreWaitFlag(1);")


def test_a_block_that_waits_for_itself() -> None:
    for options in schedules():
        fault = fault_of("in_one_block", **options)
        assert fault.kind == "deadlock"
        assert ", block 0 aiv0 waits for cross-core flag 1" in fault.text


def test_a_rank_whose_blocks_are_not_all_on_the_device() -> None:
    for options in schedules():
        fault = fault_of("resident", 2, blocks=3, vector_cores=2, **options)
        assert fault.kind == "deadlock"
        assert "residency: ranks wait for each other" in fault.text
        assert "needs 3 AIVs and its device runs 2 at a time" in fault.text


def test_words_that_are_there_are_waited_for_with_many_blocks() -> None:
    w = shared(2, 64)
    KERNELS.run("resident", 2, w, blocks=48)
    assert not np.any(w[0])
