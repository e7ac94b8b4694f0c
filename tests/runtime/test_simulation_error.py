"""A fault of the simulator is told at the user's Python line and at the C++ line."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import tile_frontend as T
from hand_written import FAULT_LINE, SAXPY, SAXPY_CPP, SAXPY_PYTHON, HandWritten, func_of
from tile_ir import Func, Loc
from tile_ir.switches import override
from tile_runtime import Fault, SimulationError, compile
from tile_runtime.simulator.simulation_error import python_place, simulation_error

pytestmark = pytest.mark.usefixtures("quick_kernels")

OUT_OF_BOUNDS = SAXPY_CPP.replace("// FAULT", "c.SetValue(N + 100, 1.0f); // saxpy.py:10")


def test_out_of_bounds(saxpy: Func, hand_written: Callable[[str], HandWritten]) -> None:
    hand_written(OUT_OF_BOUNDS)
    kernel = compile(saxpy, out_idx=2)
    with pytest.raises(SimulationError) as caught:
        kernel(torch.ones(4), torch.ones(4), 1.0)
    error = caught.value
    assert error.slug == error.fault.kind == "out-of-bounds"
    assert error.loc is not None and (error.loc.file, error.loc.line) == ("saxpy.py", 10)
    lines = str(error).splitlines()
    assert lines[0].startswith("saxpy.py:10:9: error[out-of-bounds]: ")
    assert lines[0].endswith(f"kernel.cpp:{FAULT_LINE})")
    assert lines[1:3] == ["    T.copy(a_ub, C)", "    ^"]
    # The kernel can be called again; the fault of one call is not that of the next.
    with override(check="off"), pytest.raises(SimulationError):
        kernel(torch.ones(4), torch.ones(4), 1.0)


def test_printed_text_goes_to_standard_output(
    saxpy: Func, hand_written: Callable[[str], HandWritten], capsys: pytest.CaptureFixture[str]
) -> None:
    hand_written(SAXPY_CPP.replace("// FAULT", 'AscendC::printf("N is %d\\n", int(N));'))
    compile(saxpy, out_idx=2)(torch.ones(4), torch.ones(4), 1.0)
    assert capsys.readouterr().out == "[aiv0 of block 0] N is 4\n"


def fault(text: str = "bad", file: str = "kernel.cpp", line: int = 1) -> Fault:
    return Fault("race", text, file, line, 3, "aiv1", "DataCopy")


LINES = [
    "void kernel() {",
    "    Add(x,  // saxpy.py:9",
    "        y);",
    "    Sub(x); // saxpy.py:10",
    "    Mul(x); // /home/me/saxpy.py:8:13",
    "}",
    "void other() {",
    "    Exp(x);",
]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (2, ("saxpy.py", 9, 9)),
        (3, ("saxpy.py", 9, 9)),
        (4, ("saxpy.py", 10, 9)),
        (5, ("saxpy.py", 8, 13)),
        (8, None),
        (1, None),
        (99, None),
        (0, None),
    ],
)
def test_the_way_from_cxx_to_python(line: int, expected: tuple[str, int, int] | None) -> None:
    found = python_place(LINES, line, func_of(SAXPY, saxpy=SAXPY_PYTHON))
    assert (found and (found.file, found.line, found.column)) == expected


def test_every_place_in_the_text_is_told(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cpp"
    source.write_text("\n".join(LINES))
    text = f"write at {source}:4 and read at {source}:2 are not ordered"
    error = simulation_error(
        fault(text, str(source), 4), source, func_of(SAXPY, saxpy=SAXPY_PYTHON)
    )
    assert error.message == (
        "write at saxpy.py:10 (kernel.cpp:4) and read at saxpy.py:9 (kernel.cpp:2) are not ordered "
        "(DataCopy, block 3, aiv1, kernel.cpp:4)"
    )


def test_buffers_and_hints_speak_the_language_of_the_kernel(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cpp"
    source.write_text("  const LocalTensor<half> acc = ub.Get<half>(64, 0);  // saxpy.py:9\n")
    text = f"V writes bytes [0, 64) of the UB buffer made at {source}:1"
    hint = "add SetFlag<HardEvent::V_MTE3>(id), PipeBarrier<PIPE_V>() or CrossCoreSetFlag<2, PIPE_FIX>(id)"
    found = Fault("race", text, str(source), 1, 0, "aiv0", "Add", hint)
    error = simulation_error(found, source, func_of(SAXPY, saxpy=SAXPY_PYTHON))
    assert error.message.startswith("V writes bytes [0, 64) of 'acc' (UB)")
    assert error.hint == (
        'add T.set_flag("v", "mte3", id), T.pipe_barrier("v") or T.set_cross_flag("fix", id, mode=2)'
        '; or leave it to the compiler: pass_configs={"tl.ascend_auto_sync": True}'
    )


def test_a_fault_outside_the_kernel_is_told_at_the_function(tmp_path: Path) -> None:
    f = func_of(SAXPY, saxpy=SAXPY_PYTHON)
    error = simulation_error(fault(file="tile_device.h", line=7), tmp_path / "kernel.cpp", f)
    assert error.loc == f.loc and "tile_device.h:7" in error.message


CELL = """
import tile_frontend as T

@T.prim_func
def racing(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as (cid), T.Scope("V"):
        x = T.alloc_ub((64,), "float32")
        T.copy(X, x)
        T.tile.exp(x, x)
        T.barrier_all()
        T.copy(x, Y)
"""


def test_the_second_statement_of_a_line_is_told_as_such() -> None:
    import linecache

    line = "T.copy(X, x); T.copy(x, Y)"
    text = CELL.replace("T.tile.exp(x, x)", line).replace("        T.copy(X, x)\n", "", 1)
    linecache.cache["two"] = (len(text), None, text.splitlines(True), "two")
    names: dict[str, Any] = {}
    exec(builtins.compile(text, "two", "exec"), names)
    with pytest.raises(SimulationError) as caught:
        compile(names["racing"])(torch.ones(64), torch.zeros(64))
    assert caught.value.loc is not None and caught.value.loc.column == 9 + line.index("T.copy(x")


@pytest.mark.parametrize("name", ["<ipython-input-3-0f1e2d3c4b5a>", "<stdin>", "/tmp/a cell", "k"])
def test_a_race_in_a_cell_is_told_at_its_line(name: str) -> None:
    """The text of a cell is in `linecache` only, under whatever name the terminal gives it."""
    import linecache

    linecache.cache[name] = (len(CELL), None, CELL.splitlines(True), name)
    names: dict[str, Any] = {}
    exec(builtins.compile(CELL, name, "exec"), names)
    kernel = compile(names["racing"])
    with pytest.raises(SimulationError) as caught:
        kernel(torch.ones(64), torch.zeros(64))
    error = caught.value
    assert error.loc is not None and (error.loc.file, error.loc.line) == (name, 9)
    assert "\n    T.tile.exp(x, x)\n" in str(error)
    # No folder of the cache.
    assert not re.search(r"[0-9a-f]{32}", str(error))
    assert re.search(r"block 0, aiv0, kernel.cpp:\d+\)", error.message)
    assert error.fault.file == kernel.srcpath


@T.macro
def unordered(tile: Any) -> None:
    T.tile.exp(tile, tile)


@T.macro
def twice(tile: Any) -> None:
    unordered(tile)


def test_a_race_in_a_macro_names_its_calls() -> None:
    @T.prim_func
    def k(X: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=1, is_npu=True) as cid:
            x = T.alloc_ub((64,), "float32")
            T.copy(X, x)
            twice(x)

    with pytest.raises(SimulationError) as caught:
        compile(k)(torch.ones(64))
    error = caught.value
    assert error.loc is not None and error.loc.line == unordered.fn.__code__.co_firstlineno + 2
    assert [n.message for n in error.notes] == [
        "macro `unordered` is called here",
        "macro `twice` is called here",
    ]
    assert [n.loc.line for n in error.notes if n.loc] == [error.loc.line + 5, k.launch.loc.line + 3]
    assert str(error).endswith("    twice(x)\n    ^")


def test_lines_of_one_line_in_python_are_told_once() -> None:
    def error(line: int, text: str) -> SimulationError:
        fault = Fault("race", text, "kernel.cpp", line, 0, "aiv0", "Add")
        return SimulationError(fault, text, Loc("a.py", line, 1), None, {})

    first = error(1, "V writes (Add at a.py:3 (kernel.cpp:9))")
    again = error(1, "V writes (Add at a.py:3 (kernel.cpp:19))")
    other = error(1, "V writes (Add at a.py:4 (kernel.cpp:21))")
    assert first.with_others([again, other, error(1, other.message)]).others == (other,)
    assert str(first) == "\n".join((str(error(1, first.message)), str(other)))
