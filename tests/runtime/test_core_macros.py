"""Branches of a source for one kind of core: taken if the kernel is for that kind, told if it is for
both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tile_runtime import simulate

STORE = (
    "g.SetValue(GetSubBlockIdx() * 16 + 32 * (g_coreType == AIV), VALUE); "
    "DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);"
)
BRANCHES = f"""
#ifdef __DAV_C220_CUBE__
    {STORE.replace("VALUE", "1")}
#elif defined(__DAV_C220_VEC__)  // __DAV_CUBE__
    {STORE.replace("VALUE", "2")}
#endif
"""
RUNNING = f"""
    if ASCEND_IS_AIC {{ {STORE.replace("VALUE", "1")} }}
    if ASCEND_IS_AIV {{ {STORE.replace("VALUE", "2")} }}
"""


def source(type_: str, body: str) -> str:
    return f"""#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR out)
{{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{type_});
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)out);
{body}
}}
"""


def run(text: str | Path) -> tuple[list[int], list[tuple[str, int]]]:
    """What the cube core and the two vector cores stored, and the warnings with their lines."""
    out = np.zeros(64, np.int32)
    result = simulate(text, "k", 1, [out], check="strict")
    result.raise_for_error()
    told = [(w.slug, w.loc.line if w.loc else 0) for w in result.warnings]
    return out[[0, 32, 48]].tolist(), told


@pytest.mark.parametrize(
    ("type_", "stored"),
    [("AIC_ONLY", [1, 0, 0]), ("AIV_ONLY", [0, 2, 0]), ("MIX_AIV_1_0", [0, 2, 0])],
)
def test_a_kernel_for_one_kind_of_core(type_: str, stored: list[int]) -> None:
    assert run(source(type_, BRANCHES)) == (stored, [])


def test_a_kernel_for_both_kinds_is_told() -> None:
    assert run(source("MIX_AIC_1_2", BRANCHES)) == (
        [0, 0, 0],
        [("core-macro", 9), ("core-macro", 11)],
    )
    assert run(source("MIX_AIC_1_2", RUNNING)) == ([1, 2, 2], [])


def test_a_branch_in_a_header(tmp_path: Path) -> None:
    (tmp_path / "body.h").write_text(f"#define BODY {RUNNING}".replace("\n", " ") + "\n")
    path = tmp_path / "k.cpp"
    path.write_text('#include "body.h"\n' + source("MIX_AIC_1_2", "BODY"))
    assert run(path) == ([1, 2, 2], [])
    header = tmp_path / "body.h"
    header.write_text(header.read_text() + "#if defined __DAV_CUBE__\n#endif\n")
    assert run(path) == ([1, 2, 2], [("core-macro", 2)])
