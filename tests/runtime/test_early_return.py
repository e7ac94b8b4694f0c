"""Cores that return before the others do anything: the index of a core is the same on every
schedule, and only a wait that the device would not get past either is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tile_runtime import simulate

SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR out, uint32_t n)
{
    FIRST
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)out);
    REST
}
"""
TYPE = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_"
AIV, MIX_1_1, MIX_1_2 = (f"{TYPE}{t});" for t in ("AIV_ONLY", "MIX_AIC_1_1", "MIX_AIC_1_2"))
GUARD = "if (GetBlockIdx() >= n) return;"
BY_BLOCK = "if (GetBlockIdx() / (g_coreType == AIV ? GetSubBlockNum() : 1) >= n) return;"
# Every vector core stores its index in a cache line of its own.
STORE = (
    "g.SetValue(GetBlockIdx() * 16, (int32_t)GetBlockIdx()); "
    "DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);"
)
ON_AIV = f"if ASCEND_IS_AIV {{ {STORE} }}"
# The cube core waits for both vector cores of its block.
TO_CUBE = (
    f"if ASCEND_IS_AIV {{ {STORE} CrossCoreSetFlag<2, PIPE_MTE3>(0); }} "
    "if ASCEND_IS_AIC { CrossCoreWaitFlag(0); }"
)
BLOCKS, LIMIT = 4, 3
SCHEDULES: list[dict[str, Any]] = [
    {}, *({"seed": seed} for seed in range(1, 6)), *({"starve": c} for c in ("aic", "aiv0", "aiv1")),
    {"threads": 2},
]  # fmt: skip


def run(first: str, rest: str, **options: Any) -> tuple[Any, list[int]]:
    """The result, and the indices of the vector cores that stored."""
    out = np.full(16 * 2 * BLOCKS, -1, np.int32)
    text = SOURCE.replace("FIRST", first).replace("REST", rest)
    result = simulate(text, "k", BLOCKS, [out, LIMIT], **options)
    assert sorted(set(out[out >= 0])) == out[::16][out[::16] >= 0].tolist()
    return result, out[::16][out[::16] >= 0].tolist()


@pytest.mark.parametrize(
    ("first", "rest", "indices"),
    [
        (AIV + GUARD, STORE, 3),
        (GUARD + AIV, STORE, 3),
        (MIX_1_1 + GUARD, ON_AIV, 3),
        (GUARD + MIX_1_1, ON_AIV, 3),
        (MIX_1_2 + GUARD, ON_AIV, 3),
        (GUARD + MIX_1_2, ON_AIV, 3),
        (MIX_1_2 + BY_BLOCK, TO_CUBE, 6),
        (BY_BLOCK + MIX_1_2, TO_CUBE, 6),
        (BY_BLOCK + MIX_1_1, TO_CUBE, 3),
        (BY_BLOCK, TO_CUBE, 6),
    ],
)
def test_the_index_does_not_depend_on_the_schedule(first: str, rest: str, indices: int) -> None:
    for schedule in SCHEDULES:
        result, found = run(first, rest, check="strict", **schedule)
        result.raise_for_error()
        assert (found, result.warnings) == (list(range(indices)), ()), schedule


def test_a_core_that_waits_for_one_that_returned() -> None:
    """GetBlockIdx counts vector cores there, so blocks 1 and 2 lose some that their cube core needs."""
    for schedule in SCHEDULES:
        result, _ = run(MIX_1_2 + GUARD, TO_CUBE, **schedule)
        assert [e.slug for e in result.errors] == ["deadlock"], schedule
        assert "ended without setting it" in str(result.errors[0])


def test_a_flag_for_a_core_that_returned() -> None:
    rest = f"if ASCEND_IS_AIV {{ CrossCoreWaitFlag(0); {STORE} }} if ASCEND_IS_AIC {{ CrossCoreSetFlag<2, PIPE_FIX>(0); }}"
    for schedule in SCHEDULES:
        result, found = run(MIX_1_2 + GUARD, rest, **schedule)
        assert (result.errors, found) == ((), [0, 1, 2]), schedule
        assert [w.slug for w in result.warnings] == ["flag-left-set"]
    result, _ = run(MIX_1_2 + BY_BLOCK, rest, check="strict")
    assert (result.errors, result.warnings) == ((), ())
