"""`tile-ascend port`: the list of what a script must change, read from its text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tile_runtime.tools.command_line import main

SCRIPT = """\
import tilelang
import tilelang.language as tl
from tilelang import language as lang
from tilelang.language import ballot as voted, Parallel
from tilelang.intrinsics import no_such_layout
import tilelang.nothing

raise RuntimeError("the script is not run")


def factory(dtype=tl.float8_e4m3fn):
    @lang.macro
    def inner(x):
        tl.ptx_mma(x)

    @tl.prim_func
    def k(A: tl.Tensor((16,), "float8_e5m2")):
        with lang.Kernel(4, threads=128) as bx:
            a = tl.alloc_shared((16,), "float16")
            tl.sync_threads()
            b = voted(a)
            tilelang.language.atomic_add(A[0], 1, return_prev=True, memory_order="relaxed")
            tl.tile.no_operation(a)
            T = tl.fil(a)
            tl.copy(A, a, return_prev=False)
    return k
"""
PLAIN = """\
import tilelang.language as T

@T.prim_func
def k(A: T.Tensor((16,), "float32")):
    with T.Kernel(4) as bx:
        T.sync_threads()
"""


def listed(
    text: str, path: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str]:
    path.write_text(text)
    code = main(["port", str(path), *options])
    return code, capsys.readouterr().out


def test_errors_come_first_with_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.py"
    code, text = listed(SCRIPT, path, capsys)
    assert code == 1
    lines = [line.removeprefix(f"{path}:") for line in text.splitlines()]
    assert lines == [
        "4:31: error: ballot: there are no threads in a block; leave it out: the compiler "
        "divides T.Parallel",
        "5:33: error: no_such_layout: tilelang.intrinsics has no such name here",
        "6:8: error: tilelang.nothing: the module is not provided",
        "11:22: error: T.float8_e4m3fn: the chip has no such type; 8-bit floats need A5; on A2/A3 "
        "quantise to int8",
        "14:12: error: T.ptx_mma: an instruction of one GPU; write T.gemm or T.copy",
        "17:31: error: 'float8_e5m2': the chip has no such type; 8-bit floats need A5; on A2/A3 "
        "quantise to int8",
        "21:17: error: T.ballot: there are no threads in a block; leave it out: the compiler "
        "divides T.Parallel",
        "22:51: error: tilelang.language.atomic_add(return_prev=): atomic operations return "
        "nothing; leave it out; in one block write `p = n[e]`, then `n[e] = p + 1` in T.serial, or "
        "T.cumsum of a mask for places in a list",
        "23:21: error: T.tile.no_operation: it is not among the names here",
        "24:20: error: T.fil: it is not among the names here",
        "18:29: no effect: lang.Kernel(threads=): a hint for GPUs",
        "20:16: no effect: T.sync_threads: a hint for GPUs",
        "22:69: no effect: tilelang.language.atomic_add(memory_order=): a hint for GPUs",
        "18:19: lowered: T.Kernel: the grid is shared out among the cores; threads have no effect",
        "19:20: lowered: T.alloc_shared: ub, l1 or both, by its uses",
        "22:31: lowered: T.atomic_add: a copy that adds",
        "10 to change, 3 without effect, 3 in another form",
    ]


def test_a_script_that_stops_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = listed(PLAIN, tmp_path / "plain.py", capsys, "--json")
    found = json.loads(text)
    assert code == 0
    assert found["counts"] == {"error": 0, "no effect": 1, "lowered": 1}
    assert found["names"][0] == {
        "line": 6, "column": 11, "name": "T.sync_threads", "outcome": "no effect",
        "says": "a hint for GPUs", "write": "",
    }  # fmt: skip


def test_all_names_of_a_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "from tilelang.language import *\n\ndef k(clear):\n    get_lane_idx()\n    clear(1)\n"
    code, text = listed(text, tmp_path / "star.py", capsys)
    assert code == 0 and "4:5: lowered: T.get_lane_idx" in text and text.count("\n") == 2


TRITON = """\
import triton
from triton import language as tl

@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    y = tl.exp(x) / tl.max(tl.where(x > 0, x, tl.zeros((BLOCK,), tl.float32)), axis=0)
    tl.inline_asm_elementwise(y)
"""


def test_names_of_triton(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has what to write instead, by element where it computes a value."""
    code, text = listed(TRITON, tmp_path / "of_triton.py", capsys, "--json")
    write = {n["name"]: n["write"] for n in json.loads(text)["names"]}
    assert code == 1
    assert "docs/use/coming_from_triton.md" in write["triton"]
    assert {name: instead for name, instead in write.items() if name != "triton"} == {
        "triton.jit": "write T.jit",
        "tl.constexpr": "make it a parameter of the Python function around the kernel",
        "tl.load": "write T.copy(X[row, column], tile), with tile = T.alloc_shared(shape, dtype)",
        "tl.arange": "name the first element: T.copy(X[start], tile); for the numbers themselves "
        "write T.tile.createvecindex(dst, first)",
        "tl.exp": "write T.exp(x)",
        "tl.max": "write T.reduce_max(buffer, out, dim=-1)",
        "tl.where": "write T.if_then_else(condition, x, y)",
        "tl.zeros": "allocate with T.alloc_shared(shape, dtype), then T.tile.clear(dst)",
        "tl.float32": "write T.float32",
        "tl.inline_asm_elementwise": "",
    }


def test_no_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def k(:\n")
    assert main(["port", str(path)]) == 1
    assert "script-syntax" in capsys.readouterr().err


def test_torch_is_not_imported(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(PLAIN)
    code = (
        "import sys; from tile_runtime.tools.command_line import main; "
        f"assert main(['port', {str(path)!r}]) == 0; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
