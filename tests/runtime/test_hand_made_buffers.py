"""Tensors that a kernel in Ascend C places itself are held to the bytes they were declared with, and
findings name the right one of several that were made on one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tile_ir.switches import override
from tile_runtime import SimulationError, simulate
from tile_runtime.simulator.buffer_names import name_buffers, names_made

LEVELS = ("device", "strict")
BASE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void placed(__gm__ float* x, int32_t n)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> g; g.SetGlobalBuffer(x);
"""


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def compiled_once(fresh_switches: None, module_cache: str) -> Iterator[None]:
    with override(cache_dir=module_cache):
        yield


def run(body: str, n: int, check: str) -> tuple[SimulationError, ...]:
    """The errors of a kernel that begins with BASE, which has 6 lines."""
    x = np.zeros(256, np.float32)
    return simulate(f"{BASE}{body}\n}}\n", None, 1, [x, n], check=check, threads=1).errors


# How 64 elements are declared (line 7), and the access of `n` of them that follows (line 8). 64 are
# clean, 72 go beyond the tensor though not beyond UB.
DECLARED = {
    "constructor": "LocalTensor<float> t(TPosition::VECCALC, 512, 64);",
    "braces": "LocalTensor<float> t{TPosition::VECCALC, 512, 64};",
    "allocator": "LocalMemAllocator<Hardware::UB> a; LocalTensor<float> t = a.Alloc<float>(64);",
    "allocator_of_a_position": "LocalMemAllocator<> a; auto t = a.Alloc<TPosition::VECIN, float, 64>();",
    "set_address": (
        "TBuffAddr p; p.logicPos = 9; p.bufferAddr = 512; p.dataLen = 256; "
        "LocalTensor<float> t; t.SetAddr(p);"
    ),
    "absolute": "TPipe p; LocalTensor<float> t = p.GetAbsAddr<TPosition::VECCALC, float>(512, 64);",
}  # fmt: skip
# A part, another type or another size has the bounds of what it comes from: element 32 of `t` on.
VIEWS = {
    "part": "DataCopy(t[32], g, n - 32);",
    "part_of_a_part": "DataCopy(t[16][16], g, n - 32);",
    "other_type": "LocalTensor<int32_t> v = t.ReinterpretCast<int32_t>(); Duplicate(v[32], 1, n - 32);",
    "larger_size": "t.SetSize(128); Duplicate(t[32], 1.0f, n - 32);",
    "longer": "t.SetBufferLen(128); Duplicate(t[32], 1.0f, n - 32);",
    "element": "t.SetValue(n - 1, 1.0f);",
    "with_offset": "LocalTensor<float> v; v.SetAddrWithOffset(t, 32); Duplicate(v, 1.0f, n - 32);",
}


@pytest.mark.parametrize("check", LEVELS)
@pytest.mark.parametrize("how", DECLARED)
def test_an_access_beyond_a_tensor_placed_by_hand_is_found(how: str, check: str) -> None:
    body = f"{DECLARED[how]}\nDataCopy(t, g, n);"
    assert not run(body, 64, check)
    (error,) = run(body, 72, check)
    assert error.slug == "out-of-bounds" and error.fault.line == 8
    assert "covers bytes [0, 288) of 't' (UB), which has 256 bytes" in error.message
    (note,) = error.notes
    assert note.message == "the buffer is made here" and note.loc is not None
    assert note.loc.line == 7


@pytest.mark.parametrize("view", VIEWS)
def test_views_keep_the_bounds(view: str) -> None:
    body = f"{DECLARED['constructor']}\n{VIEWS[view]}"
    assert not run(body, 64, "strict")
    (error,) = run(body, 72, "device")
    assert error.slug == "out-of-bounds" and error.fault.line == 8 and "'t' (UB)" in error.message


def test_without_checks_only_the_memory_bounds_it() -> None:
    body = f"{DECLARED['constructor']}\nDataCopy(t, g, n);"
    assert not run(body, 72, "off")


@pytest.mark.parametrize("check", LEVELS)
def test_tensors_that_share_bytes_and_those_without_a_length(check: str) -> None:
    shared = (
        "LocalTensor<float> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 128, 64);\n"
        "DataCopy(a, g, n); PipeBarrier<PIPE_ALL>(); DataCopy(b, g, n);"
    )
    assert not run(shared, 64, check)
    unknown = (
        "LocalTensor<float> a(TPosition::VECCALC, 0, 64);\n"
        "TBuffAddr p; p.logicPos = 9; a.SetAddr(p); DataCopy(a, g, n);"
    )
    assert not run(unknown, 72, check)


def test_the_last_block_of_a_tensor_is_its_own() -> None:
    """DMA moves whole blocks of 32 bytes."""
    body = "LocalTensor<float> t(TPosition::VECCALC, 512, 60);\nDataCopy(t, g, n);"
    assert not run(body, 64, "strict")
    assert [e.slug for e in run(body, 72, "device")] == ["out-of-bounds"]


# Two tensors `a` and `b` of 64 elements each, made on line 7.
PAIRS = {
    "declared": (
        "LocalTensor<float> a(TPosition::VECCALC, 0, 64); LocalTensor<float> b(TPosition::VECCALC, 256, 64);"
    ),
    "one_declaration": "LocalTensor<float> a(TPosition::VECCALC, 0, 64), b{TPosition::VECCALC, 256, 64};",
    "buffers": (
        "TPipe p; TBuf<> q, r; p.InitBuffer(q, 256); p.InitBuffer(r, 256); "
        "LocalTensor<float> a = q.Get<float>(); auto b = r.Get<float>();"
    ),
    "assigned": (
        "LocalTensor<float> a = LocalTensor<float>(TPosition::VECCALC, 0, 64), "
        "b = LocalTensor<float>(TPosition::VECCALC, 256, 64);"
    ),
    "allocator": (
        "LocalMemAllocator<> m; LocalTensor<float> a = m.Alloc<float, 64>(), b = m.Alloc<float, 64>();"
    ),
    "set_address": (
        "TBuffAddr p{256, 0, nullptr, 9}, q{256, 256, nullptr, 9}; "
        "LocalTensor<float> a, b; a.SetAddr(p); b.SetAddr(q);"
    ),
}


@pytest.mark.parametrize("how", PAIRS)
def test_tensors_made_on_one_line_keep_their_names(how: str) -> None:
    for name in "ab":
        body = f"{PAIRS[how]}\nDataCopy({name}, g, 64);\nAdds({name}, {name}, 1.0f, 64);"
        (error,) = run(body, 0, "device")
        assert error.slug == "race" and f"of '{name}' (UB)" in error.message, error.message
        (error,) = run(f"{PAIRS[how]}\nDuplicate({name}, 1.0f, n);", 72, "device")
        assert error.slug == "out-of-bounds" and f"of '{name}' (UB)" in error.message
        assert not run(f"{PAIRS[how]}\nDuplicate({name}, 1.0f, n);", 64, "strict")


def test_two_tensors_of_one_line_that_share_bytes_are_two() -> None:
    body = (
        "LocalTensor<float> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 128, 64);\n"
        "DataCopy(a, g, 64);\nAdds(b, b, 1.0f, 64);"
    )
    (error,) = run(body, 0, "device")
    assert "of 'a' (UB)" in error.message
    assert "as bytes [0, 128) of 'b' (UB), which shares them" in error.message


def test_a_macro_that_makes_two_names_neither() -> None:
    """Both begin where the macro is used: no name is better than a wrong one."""
    source = (
        f"#define TWO(x, y) LocalTensor<float> x(TPosition::VECCALC, 0, 64), y(TPosition::VECCALC, 256, 64)\n{BASE}"
        "TWO(a, b);\nDataCopy(b, g, 64); Adds(b, b, 1.0f, 64);\n}\n"
    )
    (error,) = simulate(source, None, 1, [np.zeros(256, np.float32), 0]).errors
    assert "of the UB buffer made at <source>:8 (DataCopy" in error.message


def test_names_are_read_from_a_line() -> None:
    line = "auto a = q.Get<T>(f(1, 2)); LocalTensor<T> b(1, g(2, 3)), c, d{4};"
    assert [name for _, name in names_made(line)] == ["a", "b", "d"]
    text = "reads the UB buffer made at k.cpp:1"
    assert name_buffers(text, {"k.cpp": [line]}) == "reads 'a' or 'b' or 'd' (UB)"
    for column, name in ((19, "a"), (44, "b"), (62, "d"), (70, "d")):
        assert name_buffers(f"{text}:{column}", {"k.cpp": [line]}) == f"reads '{name}' (UB)"
    assert name_buffers(f"{text}:1", {"k.cpp": [line]}) == text
    assert name_buffers(f"{text}:1", {}) == text


def test_names_of_a_kernel_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "k.cpp"
    path.write_text(f"{BASE}{PAIRS['one_declaration']}\nDuplicate(b, 1.0f, n);\n}}\n")
    (error,) = simulate(path, None, 1, [np.zeros(256, np.float32), 72]).errors
    assert "of 'b' (UB)" in error.message and error.loc is not None and error.loc.line == 8
