"""`simulate`: arguments of every kind, and errors at the line of the user's source."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tile_ir import BuildError, CallError, KernelError
from tile_ir.switches import override
from tile_runtime import SimulationResult, simulate


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    """Kernels of this module are compiled once, and not once a test."""
    with override(cache_dir=module_cache):
        yield


# One kernel for all parameter types: it writes what it got into a table of doubles.
KINDS = """#include "kernel_operator.h"
using namespace AscendC;
struct Tiling { uint32_t n; float scale; };
enum class Mode : uint8_t { slow = 1, fast = 2 };
using Handle = GM_ADDR;
typedef __gm__ half* Halves;
namespace ops {
template <typename T, int factor>
__global__ __aicore__ void kinds(__gm__ double* out, Handle bytes, Halves halves, __gm__ float* floats,
    __gm__ const Tiling* by_pointer, Tiling by_value, int8_t i8, uint64_t u64, bool flag, Mode mode,
    half h, bfloat16_t b, T typed, double d, int32_t left_out = factor * 2)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    if (GetBlockIdx() != 0) { return; }
    const double values[] = {double(bytes == nullptr ? -1 : bytes[0]), float(halves[1]), floats[1],
        double(by_pointer->n), by_pointer->scale, double(by_value.n), by_value.scale, double(i8), double(u64 >> 32),
        double(flag), double(mode), float(h), float(b), double(typed), d, double(left_out)};
    for (int i = 0; i < 16; ++i) { out[i] = values[i]; }
}
}
"""
TILING = np.dtype([("n", "<u4"), ("scale", "<f4")])


def kinds_arguments() -> dict[str, Any]:
    return {
        "out": np.zeros(16),
        "bytes": np.array([7, 8], np.int32),
        "halves": np.array([1, 2.5], np.float16),
        "floats": torch.tensor([1.0, -3.5]),
        "by_pointer": np.array([(11, 0.25)], TILING),
        "by_value": np.array([(12, 0.5)], TILING)[0],
        "i8": -5, "u64": 3 << 32, "flag": True, "mode": 2, "h": 0.5, "b": 1.5, "typed": 9, "d": 2.25,
    }  # fmt: skip


KINDS_VALUES = [7, 2.5, -3.5, 11, 0.25, 12, 0.5, -5, 3, 1, 2, 0.5, 1.5, 9, 2.25, 6]


def kinds(**changed: Any) -> SimulationResult:
    arguments = {**kinds_arguments(), **changed}
    return simulate(KINDS, "kinds", 2, arguments, template="kinds<int16_t, 3>")


def test_every_kind_of_argument() -> None:
    arguments = kinds_arguments()
    result = kinds(**arguments)
    result.raise_for_error()
    assert arguments["out"].tolist() == KINDS_VALUES
    assert result.outputs["out"] is arguments["out"]
    assert result.error is None and result.text == "" and result.elapsed > 0
    in_order = [*kinds_arguments().values()]
    simulate(KINDS, None, 1, in_order, template="kinds<int16_t, 3>").raise_for_error()
    assert in_order[0].tolist() == KINDS_VALUES


class CTiling(ctypes.Structure):
    _fields_ = (("n", ctypes.c_uint32), ("scale", ctypes.c_float))


@pytest.mark.parametrize(
    ("changed", "index", "expected"),
    [
        ({"bytes": None}, 0, -1),
        ({"bytes": b"\xfe!"}, 0, 254),
        ({"bytes": torch.tensor([1.0], dtype=torch.bfloat16)}, 0, 0x80),
        ({"floats": np.arange(9, dtype=np.float32)[::3]}, 2, 3),
        ({"floats": torch.arange(6.0).reshape(2, 3).T}, 2, 3),
        ({"by_value": CTiling(5, 1.0)}, 5, 5),
        ({"by_value": np.array((6, 1.0), TILING)}, 5, 6),
        ({"by_pointer": CTiling(5, 1.0)}, 3, 5),
        ({"u64": (1 << 64) - 1}, 8, 0xFFFFFFFF),
        ({"i8": np.int8(-128)}, 7, -128),
        ({"h": np.float32(0.25)}, 11, 0.25),
        ({"d": 3}, 14, 3),
        ({"left_out": -1}, 15, -1),
    ],
)
def test_other_values(changed: dict[str, Any], index: int, expected: float) -> None:
    result = kinds(**changed)
    result.raise_for_error()
    assert result.outputs["out"][index] == expected


@pytest.mark.parametrize(
    ("changed", "message", "line"),
    [
        ({"i8": 128}, "`int8_t i8` has 1 bytes and a sign; 128 does not fit", 10),
        ({"u64": -1}, "`uint64_t u64` has 8 bytes and no sign; -1 does not fit", 10),
        ({"u64": 1 << 64}, "over 64 bits", 10),
        ({"i8": 0.5}, "`int8_t i8` is an integer, but a float was given", 10),
        ({"typed": 1 << 15}, "does not fit", 11),
        ({"h": np.zeros(2)}, "`half h` is a number, but memory was given", 11),
        ({"halves": np.zeros(2, np.int16)}, "points to float16, but the array's type is int16", 9),
        ({"floats": np.zeros(2)}, "points to float32, but the array's type is float64", 9),
        ({"floats": 3}, "`__gm__ float * floats` is a pointer, but a number was given", 9),
        ({"by_value": b"123"}, "a struct of 8 bytes passed by value, but 3 were given", 10),
        ({"by_value": 3}, "is a struct passed by value; give its 8 bytes", 10),
        ({"by_pointer": b"1234"}, "points to a struct of 8 bytes, but 4 were given", 10),
        ({"bytes": "text"}, "was given a str", 9),
        ({"bytes": np.array([None])}, "an array of Python objects", 9),
        ({"bytes": np.zeros(2, np.complex64)}, "an array of complex64", 9),
        ({"halfs": 1}, "kinds has no parameter `halfs`", 9),
    ],
)
def test_arguments_that_do_not_fit(changed: dict[str, Any], message: str, line: int) -> None:
    with pytest.raises(CallError) as caught:
        kinds(**changed)
    error = caught.value
    assert message in error.message and error.slug == "kernel-arguments"
    assert error.loc is not None and (error.loc.file, error.loc.line) == ("<source>", line)
    assert KINDS.splitlines()[line - 1].strip() in str(error)


def test_counts() -> None:
    with pytest.raises(CallError, match="takes 14 to 15 arguments"):
        simulate(KINDS, "kinds", 1, [1, 2], template="kinds<int, 3>")
    arguments = kinds_arguments()
    del arguments["d"]
    with pytest.raises(CallError, match="no argument for `double d`"):
        simulate(KINDS, "kinds", 1, arguments, template="kinds<int, 3>")


SMALL = """#include "kernel_operator.h"
__global__ __aicore__ void bad(__gm__ int32_t* x, int32_t what)
{
    AscendC::GlobalTensor<int32_t> g;
    g.SetValue(0, 42);
}
"""


@pytest.mark.parametrize(
    "option",
    [
        {"check": "all"}, {"soc": "Ascend310"}, {"seed": -1}, {"threads": -1}, {"timeout": -1},
        {"timeout": float("nan")}, {"kernel_type": "AIV"}, {"blocks": -1}, {"memory_limit": -1},
    ],
)  # fmt: skip
def test_options_that_make_no_sense(option: dict[str, Any]) -> None:
    with pytest.raises(KernelError):
        simulate(SMALL, "bad", **{"blocks": 1, "args": [np.zeros(4, np.int32), 0], **option})


SCALE = """#include "kernel_operator.h"
#include "scale.h"
__global__ __aicore__ void twice(__gm__ float* x, __gm__ float* y)
{
    const int64_t i = AscendC::GetBlockIdx();
    y[i] = x[i] * SCALE + OFFSET;
}
"""


def test_paths_includes_defines_and_an_inferred_kernel_type(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    source, header = tmp_path / "k.cpp", tmp_path / "inside" / "scale.h"
    source.write_text(SCALE)
    header.write_text("#define SCALE 2\n")
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)

    def run(**options: Any) -> list[float]:
        given = {"includes": [tmp_path / "inside"], "defines": ["OFFSET=1"], **options}
        simulate(source, None, 8, [x, y], **given).raise_for_error()
        return y.tolist()

    assert run() == [2 * i + 1 for i in range(8)]
    # A changed header or macro is another kernel.
    header.write_text("#define SCALE 3\n")
    assert run() == [3 * i + 1 for i in range(8)]
    assert run(defines=["OFFSET=0"]) == [3 * i for i in range(8)]
    # Of 8 blocks with two vector cores each, twice as many indices reach the array.
    result = simulate(
        str(source), None, 8, [x, y], includes=[tmp_path / "inside"], defines=["OFFSET=0"],
        kernel_type="KERNEL_TYPE_MIX_AIC_1_2",
    )  # fmt: skip
    assert result.error is not None and result.error.kind == "out-of-bounds"
    with pytest.raises(BuildError) as caught:
        simulate(source, None, 8, [x, y])
    error = caught.value
    assert error.loc is not None and (error.loc.file, error.loc.line) == (str(source), 2)
    assert "scale.h" in (error.hint or "")


def test_compile_errors_are_at_the_users_line() -> None:
    with pytest.raises(BuildError) as caught:
        simulate(SMALL.replace("SetValue", "SetValeu"), "bad", 1, [None, 0])
    error = caught.value
    assert error.slug == "compiler-failed"
    assert str(error).startswith("<source>:5:7: error[compiler-failed]: ")
    assert "SetValeu" in str(error).splitlines()[0]


def test_shared_and_overlapping_memory() -> None:
    source = """#include "kernel_operator.h"
    __global__ __aicore__ void next(__gm__ int32_t* x, __gm__ int32_t* y) {
        y[0] = x[0] + 1; x[1] = y[0] + 1; }"""
    x = np.zeros(4, np.int32)
    simulate(source, None, 1, [x, x]).raise_for_error()
    assert x.tolist() == [1, 2, 0, 0]
    with pytest.raises(CallError, match="overlap in part"):
        simulate(source, None, 1, [x, x[1:]])
    simulate(source, None, 1, [x[:2], x[2:]]).raise_for_error()
    assert x.tolist() == [1, 3, 2, 0]
    # What can not be written stays; the result is in `outputs`.
    fixed = np.zeros(4, np.int32)
    fixed.flags.writeable = False
    result = simulate(source, None, 1, [fixed, x])
    assert fixed.tolist() == [0] * 4 and result.outputs["x"].tolist() == [0, 2, 0, 0]
    empty = np.zeros(0, np.int32)
    fault = simulate(source, None, 1, [empty, x]).error
    assert fault is not None and fault.kind == "out-of-bounds" and "has 0 bytes" in fault.text


def test_a_sample_with_host_code_runs() -> None:
    source = """
    #include <vector>
    #include "acl/acl.h"
    #include "kernel_operator.h"
    #ifdef ASCENDC_CPU_DEBUG
    #include "cpu_debug_launch.h"
    #endif
    template <uint32_t n>
    __vector__ __global__ void fill(__gm__ float* z) { for (uint32_t i = 0; i < n; ++i) { z[i] = i; } }
    #ifndef __CCE_KT_TEST__
    void fill_do(uint32_t blocks, void* stream, float* z) { fill<4><<<blocks, nullptr, stream>>>(z); }
    #endif
    std::vector<float> run() {
        aclrtStream stream = nullptr;
        fill<4><<<1, nullptr, stream>>>(nullptr);
        return {};
    }
    int32_t main() { return run().size(); }
    """
    z = np.zeros(4, np.float32)
    simulate(source, "fill", 1, [z], template="fill<4>").raise_for_error()
    assert z.tolist() == [0, 1, 2, 3]


MANY_ACCESSES = """#include "kernel_operator.h"
using namespace AscendC;
__global__ __aicore__ void many(__gm__ float* d, int32_t n)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> a;
    pipe.InitBuffer(a, 4096);
    LocalTensor<float> x = a.Get<float>();
    GlobalTensor<float> g;
    g.SetGlobalBuffer(d);
    for (int32_t i = 0; i < 1024; ++i) { x.SetValue(i, 0.0f); }
    for (int32_t i = 0; i < n; ++i) {
        x.SetValue(i % 1024, x.GetValue(i * 7 % 1024) + g.GetValue(i % 4096));
    }
}
"""


def test_memory_of_the_checks_does_not_grow_with_accesses() -> None:
    """Six million of them; a record for each would take twice the limit."""
    ones = np.ones(4096, np.float32)
    result = simulate(MANY_ACCESSES, "many", 1, [ones, 2_000_000], memory_limit=300 << 20)
    assert result.error is None


LANES = """#include "kernel_operator.h"
using namespace AscendC;
__global__ __aicore__ void lanes(__gm__ float* d)
{
    if ASCEND_IS_AIV {
        GlobalTensor<float> g;
        g.SetGlobalBuffer(d);
        g.SetValue(0, 2.0f);
        DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(g);
    }
}
"""


COUNTED = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void counted(__gm__ half* x, __gm__ half* z, int32_t count)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 256);
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer(x);
    to.SetGlobalBuffer(z);
    LocalTensor<half> tile = buffer.Get<half>();
    DataCopy(tile, from, count);
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
    DataCopy(to, tile, count);
}
"""


def test_a_count_that_is_no_whole_blocks_is_cut_short() -> None:
    x, z = np.ones(64, np.float16), np.zeros(64, np.float16)
    result = simulate(COUNTED, None, 1, [x, z, 37])
    result.raise_for_error()
    assert z.sum() == 32  # as on the device
    assert [(w.slug, w.loc and w.loc.line) for w in result.warnings] == [
        ("cut-short", 13),
        ("cut-short", 16),
    ]
    assert "74 bytes is cut to 64" in result.warnings[0].message
    assert not simulate(COUNTED, None, 1, [x, z, 48]).warnings
    assert not simulate(COUNTED, None, 1, [x, z, 37], check="off").warnings
    strict = simulate(COUNTED, None, 1, [x, z, 37], check="strict").error
    assert strict is not None and (strict.kind, strict.line) == ("cut-short", 13)


def test_warnings_stand_in_the_result() -> None:
    both = "KERNEL_TYPE_MIX_AIC_1_2"
    result = simulate(LANES, "lanes", 1, [np.zeros(16, np.float32)], kernel_type=both)
    (warning,) = result.warnings
    assert result.error is None and warning.render().startswith(
        "<source>:8:11: warning[redundant-store]: both vector cores do the same work and store it "
        "twice; index by GetSubBlockIdx(): twice as fast (bytes [0, 4) of GM buffer 'd')"
    )
    strict = simulate(
        LANES, "lanes", 1, [np.zeros(16, np.float32)], check="strict", kernel_type=both
    )
    assert strict.error is not None and strict.error.kind == "redundant-store"
    assert not strict.warnings
