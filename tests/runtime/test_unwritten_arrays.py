"""Arrays that hold nothing when a hand-written kernel starts: what reads them before it wrote them,
and what is left of them, from Python and from the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tile_ir import CallError
from tile_ir.switches import override
from tile_runtime import SimulationResult, simulate
from tile_runtime.tools.command_line import main

LEVELS = ("device", "strict")
# `rows` of x go to y, and from y to z if `through`; with `adds` they are added to y.
SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void moves(
    __gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t rows, bool writes, bool through, bool adds)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe; TBuf<> buffer; pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> tile = buffer.Get<float>();
    GlobalTensor<float> gx, gy, gz; gx.SetGlobalBuffer(x); gy.SetGlobalBuffer(y); gz.SetGlobalBuffer(z);
    DataCopy(tile, gx, rows * 16);
    PipeBarrier<PIPE_ALL>();
    if (adds) { SetAtomicAdd<float>(); }
    if (writes) { DataCopy(gy, tile, rows * 16); }
    SetAtomicNone();
    PipeBarrier<PIPE_ALL>();
    if (!through) { return; }
    DataCopy(tile, gy, rows * 16);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, tile, rows * 16);
}
"""
READ, UPDATE, PARAMETERS = 17, 13, 4


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    with override(cache_dir=module_cache):
        yield


def arrays() -> dict[str, Any]:
    return {name: np.zeros((4, 16), np.float32) for name in "xyz"}


def run(
    check: str, *unwritten: str, rows: int = 4, writes: bool = True, through: bool = True,
    adds: bool = False, **given: Any,
) -> SimulationResult:  # fmt: skip
    numbers = {"rows": rows, "writes": writes, "through": through, "adds": adds}
    return simulate(
        SOURCE, None, 1, {**arrays(), **numbers, **given}, check=check, unwritten=unwritten
    )


def kinds(result: SimulationResult) -> list[str]:
    return [e.slug for e in result.errors]


@pytest.mark.parametrize("check", LEVELS)
def test_what_nobody_wrote_is_not_read(check: str) -> None:
    result = run(check, "y", writes=False)
    (error,) = result.errors
    assert error.slug == "uninitialised-read" and error.fault.line == READ
    assert "src reads 256 bytes of GM buffer 'y' that nothing has written" in error.message
    assert error.hint is not None and error.hint.endswith("write it first")
    assert not run(check, "y").errors and not run(check, "y").warnings
    assert not run(check, writes=False).errors, "what is not marked is the caller's"


@pytest.mark.parametrize("check", LEVELS)
def test_adding_to_what_nobody_wrote_is_reading_it(check: str) -> None:
    (error,) = run(check, "y", through=False, adds=True).errors
    assert error.slug == "uninitialised-read" and error.fault.line == UPDATE
    assert "adds to 256 bytes of GM buffer 'y'" in error.message
    assert not run(check, through=False, adds=True).errors


@pytest.mark.parametrize("check", LEVELS)
def test_what_is_left_is_told_at_the_parameter(check: str) -> None:
    result = run(check, "y", "z", rows=3)
    told = [e.diagnostic for e in result.errors] if check == "strict" else list(result.warnings)
    assert [d.slug for d in told] == ["output-not-written"] * 2
    assert bool(result.errors) == (check == "strict")
    assert told[0].message == "nothing writes [3, 0] to [3, 15] of output `y`: 16 of 64 elements"
    assert told[1].message == "nothing writes [3, 0] to [3, 15] of output `z`: 16 of 64 elements"
    assert all(d.loc is not None and d.loc.line == PARAMETERS for d in told)
    assert told[0].hint is not None and "`--in y=...` with `--out y`" in told[0].hint
    whole = run(check, "y", "z")
    assert not whole.errors and not whole.warnings and whole.outputs["z"].sum() == 0


def test_nothing_at_all() -> None:
    (warning,) = run("device", "z", through=False).warnings
    assert warning.message == "nothing writes output `z`"
    assert not run("off", "z", through=False).warnings


def test_memory_that_holds_nothing_is_no_number() -> None:
    values = arrays()
    run("device", "z", rows=3, **values)
    assert np.isnan(values["z"][3]).all() and not values["z"][:3].any()
    values = arrays()
    run("strict", "z", rows=3, **values)
    assert not values["z"].any(), "nothing is written back after an error"


def test_tensors_and_one_array_given_twice() -> None:
    z = torch.zeros(4, 16)
    assert kinds(run("strict", "z", rows=2, z=z)) == ["output-not-written"]
    y = np.zeros((4, 16), np.float32)
    assert not run("strict", "z", through=False, y=y, z=y).errors
    assert kinds(run("strict", "z", writes=False, y=y, z=y)) == ["uninitialised-read"]


def test_half_precision_and_an_empty_array() -> None:
    source = """#include "kernel_operator.h"
    __global__ __vector__ void halves(__gm__ half* z, __gm__ half* none)
    {
        AscendC::GlobalTensor<half> g; g.SetGlobalBuffer(z);
        g.SetValue(0, half(1.0f)); g.SetValue(2, half(1.0f));
        AscendC::DataCacheCleanAndInvalid<half, AscendC::CacheLine::ENTIRE_DATA_CACHE,
            AscendC::DcciDst::CACHELINE_OUT>(g);
    }
    """
    none = np.zeros(0, np.float16)
    result = simulate(
        source, None, 1, [np.zeros(4, np.float16), none], unwritten=("z", "none"), check="strict"
    )
    assert [e.message for e in result.errors] == [
        "nothing writes [1], the first of them, of output `z`: 2 of 4 elements"
    ]


POINTER = """#include "kernel_operator.h"
__global__ __vector__ void pointer(__gm__ float* z, int32_t n)
{
    for (int32_t i = 0; i < n; ++i) { z[i] = 1.0f; }
    AscendC::TPipe pipe; AscendC::TBuf<> buffer; pipe.InitBuffer(buffer, 64);
    AscendC::GlobalTensor<float> g; g.SetGlobalBuffer(z);
    AscendC::DataCopy(buffer.Get<float>(), g, 16);
}
"""


def test_what_a_raw_pointer_writes_is_written() -> None:
    """No API sees it, but its bytes are no longer what they were."""
    z = np.zeros(16, np.float32)
    assert not simulate(POINTER, None, 1, [z, 16], unwritten=["z"], check="strict").errors
    assert (z == 1).all()
    (warning,) = simulate(POINTER, None, 1, [z, 12], unwritten="z").warnings
    assert warning.slug == "output-not-written" and "4 of 16 elements" in warning.message
    errors = simulate(POINTER, None, 1, [z, 0], unwritten=["z"]).errors
    assert [e.slug for e in errors] == ["uninitialised-read"]


LIST = """#include "kernel_operator.h"
__global__ __vector__ void fills(GM_ADDR x, int32_t count)
{
    AscendC::ListTensorDesc list(x);
    AscendC::TPipe pipe; AscendC::TBuf<> buffer; pipe.InitBuffer(buffer, 64);
    AscendC::LocalTensor<float> tile = buffer.Get<float>();
    AscendC::Duplicate(tile, 1.0f, 16);
    AscendC::PipeBarrier<PIPE_ALL>();
    for (int32_t i = 0; i < count; ++i) {
        AscendC::GlobalTensor<float> g; g.SetGlobalBuffer(list.GetDataPtr<float>(i));
        AscendC::DataCopy(g, tile, 16);
    }
}
"""


@pytest.mark.parametrize("names", [("x",), ("x[0]", "x[1]")])
def test_arrays_of_a_list(names: tuple[str, ...]) -> None:
    def called(count: int) -> list[str]:
        arrays = [np.zeros(16, np.float32) for _ in range(2)]
        result = simulate(LIST, None, 1, [arrays, count], unwritten=names, check="strict")
        return [e.message for e in result.errors]

    assert called(1) == ["nothing writes output `x[1]`"]
    assert not called(2)


def test_a_name_that_is_no_array() -> None:
    for name in ("zz", "rows"):
        with pytest.raises(CallError, match=f"`{name}` is said to be unwritten, but no array"):
            run("device", name)


def shell(tmp_path: Path, *options: str) -> int:
    path = tmp_path / "moves.cpp"
    path.write_text(SOURCE)
    given = ["--in", "x=f32[4,16]"]
    for scalar in ("writes=1", "through=1", "adds=0"):
        given += ["--scalar", scalar]
    return main(["sim", str(path), *given, *options])


def test_outputs_of_the_shell_hold_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outputs = ("--out", "y=f32[4,16]", "--out", "z=f32[4,16]")
    assert shell(tmp_path, "--scalar", "rows=4", "--check", "strict", *outputs) == 0
    assert "output-not-written" not in capsys.readouterr().err
    assert shell(tmp_path, "--scalar", "rows=3", *outputs) == 0
    told = capsys.readouterr()
    assert told.err.count("moves.cpp:4:") == 2 and "warning[output-not-written]" in told.err
    assert "nan 16" in told.out
    assert shell(tmp_path, "--scalar", "rows=3", "--check", "strict", "--json", *outputs) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["kind"], f["severity"], f["line"]) for f in findings] == [
        ("output-not-written", "error", 4)
    ] * 2
    given = ("--in", "y=f32[4,16]:zeros", "--out", "y", "--out", "z=f32[4,16]")
    assert shell(tmp_path, "--scalar", "rows=3", "--check", "strict", *given) == 1
    assert "output `z`" in (text := capsys.readouterr().err) and "output `y`" not in text
