"""Faults of hand-written kernels as users read them: names, hints, notes, headers; and what the
simulator is asked for by `simulate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tile_ir import CallError
from tile_ir.switches import override
from tile_runtime import Fault, SimulationError, SimulationResult, simulate
from tile_runtime.source_kernels.fault_report import KernelSource, fault_error


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    """Kernels of this module are compiled once, and not once a test."""
    with override(cache_dir=module_cache):
        yield


# `what` chooses what is left out.
ADDS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void adds(__gm__ float* x, __gm__ float* z, int32_t what)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer(x);
    to.SetGlobalBuffer(z);
    LocalTensor<float> values = buffer.Get<float>();
    DataCopy(values, from, 64);
    if (what != 1) { SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0); }
    Adds(values, values, 1.0f, 64);
    if (what != 2) { PipeBarrier<PIPE_V>(); }
    Adds(values, values, 1.0f, 64);
    SetFlag<HardEvent::V_MTE3>(0);
    if (what == 3) { SetFlag<HardEvent::V_MTE3>(0); }
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(to, values, 64);
    if (what == 4) { ascendc_assert(x == nullptr, "x is %d", 5); }
    if (what == 5) { assert(x == nullptr); }
}
"""


def adds(what: int, **options: Any) -> SimulationResult:
    arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32)]
    return simulate(ADDS, None, 1, [*arrays, what], **options)


def text_of(result: SimulationResult) -> str:
    with pytest.raises(SimulationError) as caught:
        result.raise_for_error()
    return str(caught.value)


def test_a_race_reads_as_two_places_and_an_action() -> None:
    result = adds(1)
    assert text_of(result).splitlines() == [
        "<source>:15:5: error[race]: MTE2 writes bytes [0, 256) of 'values' (UB) (DataCopy at "
        "<source>:13), V reads them (Adds at <source>:15), and nothing orders the two (Adds, "
        "block 0, aiv0)",
        "    Adds(values, values, 1.0f, 64);",
        "    ^",
        "hint: add SetFlag<HardEvent::MTE2_V>(id) after the first and "
        "WaitFlag<HardEvent::MTE2_V>(id) before the second",
        "<source>:13:5: note: the earlier DataCopy",
        "    DataCopy(values, from, 64);",
        "    ^",
    ]
    assert result.error is not None and result.error.hint.startswith("add SetFlag")
    assert "'values'" in result.error.text
    assert text_of(result) == text_of(result)


TWO = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void two(__gm__ float* x, __gm__ float* y)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> p, q;
    pipe.InitBuffer(p, 256); pipe.InitBuffer(q, 256);
    GlobalTensor<float> gx, gy;
    gx.SetGlobalBuffer(x); gy.SetGlobalBuffer(y);
    LocalTensor<float> a = p.Get<float>(); LocalTensor<float> b = q.Get<float>();
    DataCopy(a, gx, 64); DataCopy(b, gy, 64);
    Adds(b, b, 1.0f, 64);
}
"""


def test_tensors_made_on_one_line_are_not_taken_for_the_first() -> None:
    result = simulate(TWO, None, 1, [np.zeros(64, np.float32) for _ in range(2)])
    assert "bytes [0, 256) of 'b' (UB)" in text_of(result)


def test_levels() -> None:
    for what, levels in ((0, ""), (1, "device strict"), (3, "device strict")):
        for check in ("off", "device", "strict"):
            assert (adds(what, check=check).error is not None) == (check in levels), (what, check)


def test_a_flag_set_twice_has_a_note() -> None:
    lines = text_of(adds(3)).splitlines()
    assert lines[0].startswith("<source>:19:22: error[flag-set-twice]: ")
    assert "<source>:18:5: note: the earlier call" in lines


@pytest.mark.parametrize(
    ("what", "line", "told"), [(4, 22, "does not hold: x is 5"), (5, 23, "does not hold")]
)
def test_assertions_of_the_kernel(what: int, line: int, told: str) -> None:
    fault = adds(what).error
    assert fault is not None and (fault.kind, fault.line) == ("assertion", line)
    assert fault.text == f"the kernel's assertion `x == nullptr` {told}"


def test_starved_cores_and_bad_options() -> None:
    for core in ("", "aic", "aiv0", "aiv1"):
        assert adds(0, starve=core).error is None
        with override(starve=core):
            assert adds(0).error is None
    with pytest.raises(CallError, match="starve='aiv2': expected one of aic, aiv0, aiv1"):
        adds(0, starve="aiv2")


def test_starving_changes_the_order(tmp_path: Path) -> None:
    source = """#include "kernel_operator.h"
    __global__ __aicore__ void order(__gm__ int32_t* x)
    {
        KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
        x[tile_simulator::core_type() == 1 ? 0 : 1 + AscendC::GetSubBlockIdx()] = ++x[3];
    }
    """
    seen = {}
    for core in ("aic", "aiv0", "aiv1"):
        x = np.zeros(4, np.int32)
        simulate(source, None, 1, [x], starve=core).raise_for_error()
        seen[core] = x.tolist()
    assert seen == {"aic": [3, 1, 2, 3], "aiv0": [1, 3, 2, 3], "aiv1": [1, 2, 3, 3]}


def test_a_timeline_comes_back() -> None:
    assert adds(0).timeline is None
    assert adds(1, time=True).timeline is None, "there is none with a fault"
    with override(time=True):
        assert adds(0, time=False).timeline is None
        line = adds(0).timeline
    assert line is not None
    assert line.totals["read_bytes"] == line.totals["write_bytes"] == 256
    named = [line.strings[e["api"]] for e in line.events]
    assert named.count("Adds") == 2 and named.count("DataCopy") == 2
    assert {line.strings[e["file"]] for e in line.events} >= {"<source>"}
    assert line.microseconds > 0 and ("aiv", "V") in line.busy()
    assert len(line.accesses) == 8, "two of every instruction"
    slower, faster = (adds(0, time=True, soc=s).timeline for s in ("Ascend910B4", "Ascend910B1"))
    assert slower is not None and faster is not None and slower.mhz < faster.mhz


def test_a_large_timeline() -> None:
    """Larger than what a kernel may write to a file by itself."""
    source = """#include "kernel_operator.h"
    __global__ __vector__ void many(int32_t n)
    {
        AscendC::LocalTensor<float> x(AscendC::TPosition::VECCALC, 0, 64);
        for (int32_t i = 0; i < n; ++i) {
            AscendC::Duplicate(x, 1.0f, 64);
            AscendC::PipeBarrier<PIPE_V>();
        }
    }
    """
    line = simulate(source, None, 1, [400_000], time=True).timeline
    assert line is not None
    assert line.events.nbytes + line.accesses.nbytes > 64 << 20
    assert (line.events["api"] < len(line.strings)).all()
    assert line.totals["cycles"] > 400_000 and line.events["line"].max() == 7


HEADER = """#pragma once
#include "kernel_operator.h"
inline __aicore__ void read_it(const AscendC::LocalTensor<float>& values)
{
    AscendC::Adds(values, values, 1.0f, 64);
}
"""
USER = """#include "steps.h"
__global__ __vector__ void k(__gm__ float* x)
{
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    AscendC::GlobalTensor<float> gm;
    gm.SetGlobalBuffer(x);
    auto in = buffer.Get<float>();
    AscendC::DataCopy(in, gm, 64);
    read_it(in);
}
"""


@pytest.mark.parametrize("folder", ["kernels", "a folder, with (signs) at home"])
def test_a_fault_in_a_header(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(folder).mkdir()
    Path(folder, "steps.h").write_text(HEADER)
    Path(folder, "user.cpp").write_text(USER)
    told = text_of(simulate(f"{folder}/user.cpp", None, 1, [np.zeros(64, np.float32)]))
    lines = told.splitlines()
    assert lines[0].startswith(
        f"{folder}/steps.h:5:14: error[race]: MTE2 writes bytes [0, 256) of "
    )
    assert lines[1] == "    AscendC::Adds(values, values, 1.0f, 64);"
    if folder == "kernels":  # punctuation in a path is not understood; the report is longer
        assert "'in' (UB) (DataCopy at user.cpp:10), V reads them (Adds at steps.h:5)" in lines[0]
        assert f"{folder}/user.cpp:10:14: note: the earlier DataCopy" in lines


def test_places_that_are_none(tmp_path: Path) -> None:
    """Texts that only look like places stay as they are."""
    source = KernelSource("k.cpp", "int x;\n", tmp_path)
    for text in (
        "starts at byte 3 of UB", "at x:1 and at k.cpp:99", "(F at k.cpp:1)", "at k.cpp:0", "",
        "the UB buffer made at k.cpp:1",
    ):  # fmt: skip
        error = fault_error(Fault("kind", text, "k.cpp", 7, 0, "aic", "F"), source)
        assert error.message == f"{text} (F, block 0, aic)"
        assert error.loc is not None and (error.loc.line, error.loc.column) == (7, 1)


SMALL_NAMES = """#include "utils/debug/asc_printf.h"
__global__ __vector__ void names(__gm__ int64_t* x)
{
    AscendC::TPipe pipe;
    x[block_idx * 4] = block_num;
    x[block_idx * 4 + 1] = AscendC::DivCeil(9, 4) + AscendC::AlignUp(9, 8) + AscendC::K_MAX_DIM;
    x[block_idx * 4 + 2] = GetTPipePtr() == &pipe && AscendC::GetTPipePtr() == &pipe;
    AscendC::Conditional<true, int64_t, float>::type three = AscendC::PAD_SIZE + AscendC::BLOCK_CUBE;
    x[block_idx * 4 + 3] = three;
    printf("hello %d\\n", 7);
}
"""


def test_names_of_the_vendors_samples() -> None:
    x = np.zeros((3, 4), np.int64)
    result = simulate(SMALL_NAMES, None, 3, [x], threads=1)
    result.raise_for_error()
    assert x.tolist() == [[3, 3 + 16 + 8, 1, 20]] * 3
    assert result.text == "hello 7\n" * 3


@pytest.mark.parametrize("check", ["off", "device", "strict"])
@pytest.mark.parametrize("offset", [1, 2, 3])
def test_elements_are_aligned_at_every_level(check: str, offset: int) -> None:
    """Even without checks: host code works on whole elements."""
    source = """#include "kernel_operator.h"
    __global__ __vector__ void shifted(uint32_t offset)
    {
        AscendC::LocalTensor<float> x(AscendC::TPosition::VECCALC, offset, 64);
        AscendC::LocalTensor<float> y(AscendC::TPosition::VECCALC, 1024, 64);
        AscendC::Duplicate(y, 1.0f, 64);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::Adds(x, y, 1.0f, 64);
    }
    """
    fault = simulate(source, None, 1, [offset], check=check).error
    assert fault is not None and fault.kind == "misaligned"
    assert f"starts at byte {offset} of UB" in fault.text
    multiple = 4 if check == "off" else 32
    assert fault.text.endswith(f"must be a multiple of {multiple}")
