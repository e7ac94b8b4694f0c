"""`tile-ascend sim`: arrays on the command line, outputs, exit codes, and errors as users see them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tile_ir import CallError
from tile_ir.switches import override
from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.array_argument import input_array, output_array, summary

SOURCE = """#include "kernel_operator.h"
struct Tiling { uint32_t n; };
template <typename T>
__global__ __aicore__ void copy(__gm__ T* x, __gm__ T* z, __gm__ Tiling* tiling, int32_t limit = 1000)
{
    AscendC::GlobalTensor<T> from, to;
    from.SetGlobalBuffer(x);
    to.SetGlobalBuffer(z);
    for (uint32_t i = 0; i < tiling->n && int32_t(i) < limit; ++i) {
        to.SetValue(i, from.GetValue(i));
    }
    AscendC::printf("copied %d\\n", int(tiling->n));
}
"""


@pytest.fixture(scope="module")
def module_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sources"))


@pytest.fixture(autouse=True)
def folder(
    fresh_switches: None, module_cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The current folder, with a source and a tiling struct of 5."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copy.cpp").write_text(SOURCE)
    (tmp_path / "tiling.bin").write_bytes(bytes([5, 0, 0, 0]))
    with override(cache_dir=module_cache):
        yield tmp_path


def sim(*words: str) -> int:
    return main(["sim", "copy.cpp", "--in", "tiling=@tiling.bin", *words])


F16 = ("--template", "copy<half>", "--in", "x=f16[2,4]:arange")


def test_a_run_tells_about_its_outputs(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert sim(*F16, "--out", "z=f16[8]", "--save", "z=out.npy") == 0
    out, err = capsys.readouterr()
    assert re.fullmatch("copy for Ascend910B2; source [0-9a-f]{16}", err.splitlines()[-1])
    assert "warning[output-not-written]: nothing writes [5] to [7] of output `z`" in err
    assert out.splitlines()[0] == "[aiv0 of block 0] copied 5"
    assert out.splitlines()[1].startswith("z  f16[8]  min 0  max 4  mean 2  nan 3  crc32 ")
    saved = np.load(folder / "out.npy")
    assert saved.dtype == np.float16 and saved[:5].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(saved[5:]).all()
    # The same call, the same text.
    assert sim(*F16, "--out", "z=f16[8]") == 0
    assert capsys.readouterr().out == out


SCRIPT = """
import tile_frontend as T


@T.prim_func
def copies(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1) as bx:
        x = T.alloc_shared((64,), "float32")
        T.copy(X, x)
        T.barrier_all()
        T.copy(x, Y)
"""


def test_a_run_without_outputs_says_that_it_ran(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    assert sim(*F16, "--in", "z=f16[8]") == 0
    said = capsys.readouterr().out
    assert said.endswith("copy(x, z) ran without an error, checked at level device\n")
    (folder / "copies.py").write_text(SCRIPT)
    assert main(["sim", "copies.py:copies", "--check", "strict"]) == 0
    assert capsys.readouterr().out == "copies(X, Y) ran without an error, checked at level strict\n"
    assert main(["sim", "copies.py:copies", "--out", "Y"]) == 0
    assert "ran" not in capsys.readouterr().out


def test_an_input_can_be_told_about(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--template", "copy<int32_t>", "--in", "x=i32[4]=arange", "--in", "z=i32[8]:zeros")
    assert sim(*words, "--out", "z", "--scalar", "limit=4") == 0
    assert "z  i32[8]  min 0  max 3  mean 0.75  nan 0" in capsys.readouterr().out


def test_bfloat16(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    words = ("--template", "copy<bfloat16_t>", "--in", "x=bf16[8]:arange")
    assert sim(*words, "--out", "z=bf16[8]", "--save", "z=z.npy") == 0
    assert "z  bf16[8]  min 0  max 4  mean 2  nan 3" in capsys.readouterr().out
    assert np.load(folder / "z.npy")[:5].tolist() == [0, 1, 2, 3, 4]


def test_a_fault_is_code_1_at_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert sim(*F16, "--out", "z=f16[2]") == 1
    out, err = capsys.readouterr()
    assert out == "[aiv0 of block 0] copied 5\n", "the run goes on"
    lines = err.splitlines()
    assert lines[0].startswith("copy.cpp:10:12: error[out-of-bounds]: SetValue: ")
    assert lines[0].endswith("(SetValue, block 0, aiv0)")
    assert lines[1:3] == ["    to.SetValue(i, from.GetValue(i));", "       ^"]


def test_time_out(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "copy.cpp").write_text(SOURCE.replace("++i", "i *= 1"))
    assert sim(*F16, "--out", "z=f16[8]", "--timeout", "0.3") == 1
    assert "error[time-out]: the kernel was still running after 0.3 s" in capsys.readouterr().err


def test_where_the_time_goes(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    add = Path(__file__).parents[2] / "examples" / "ascendc" / "queue_add.cpp"
    np.array([5000, 500], np.uint32).tofile(folder / "add.bin")
    words = ["sim", str(add), "--blocks", "2", "--in", "x=f16[5000]", "--in", "y=f16[5000]"]
    words += ["--out", "z=f16[5000]", "--in", "tiling=@add.bin", "--check", "strict"]
    assert main([*words, "--starve", "aiv0"]) == 0
    plain = capsys.readouterr().out
    assert plain.count("\n") == 1
    assert main([*words, "--time"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(plain)
    lines = out.splitlines()[1:]
    assert re.fullmatch(
        r"modelled  [\d.]+ us on the device, [\d.]+ us with launch \(half of .+ within \d+%\)",
        lines[0],
    )
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["aiv", "S"], ["aiv", "V"], ["aiv", "MTE2"], ["aiv", "MTE3"]
    ]  # fmt: skip
    assert re.fullmatch(
        r"memory    [\d.]+ TB/s with GM; of that [\d.]+ TB/s with HBM, [\d.]+ % of [\d.]+", lines[5]
    )
    assert lines[6] == "longest stalls, summed over cores:" and len(lines) <= 12
    # The line that works is named, not the DeQue that waits for it.
    waits = [line for line in lines[7:] if " flag " in line]
    assert re.match(
        r" +[\d.]+ us  aiv (V|MTE3) +flag +x\d+ +for aiv (MTE2|V) +queue_add.cpp:\d+  ", waits[0]
    )
    assert not [line for line in waits if "DeQue" in line]
    with override(time=True):
        assert main(words) == 0
    assert capsys.readouterr().out == out


def test_matrix_rates_and_nothing_to_do(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    product = Path(__file__).parents[2] / "examples" / "ascendc" / "matmul.cpp"
    np.array([256, 128, 64], np.uint32).tofile(folder / "shape.bin")
    words = ["--in", "a=f16[256,64]", "--in", "b=f16[64,128]", "--out", "c=f32[256,128]"]
    assert main(["sim", str(product), *words, "--in", "shape=@shape.bin", "--time"]) == 0
    assert re.search(
        r"^matrix    [\d.]+ TFLOP/s, [\d.]+ % of 354 \(16-bit peak\)$",
        capsys.readouterr().out, re.MULTILINE,
    )  # fmt: skip
    (folder / "none.cpp").write_text(
        '#include "kernel_operator.h"\n__global__ __vector__ void none() {}\n'
    )
    assert main(["sim", "none.cpp", "--time"]) == 0
    assert capsys.readouterr().out.startswith("modelled  ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kernel", "cpy"), "copy.cpp:1:1: error[no-such-kernel]: no kernel is called `cpy`"),
        (("--kernel", "copy"), "error[kernel-template]: `copy` is a template"),
        ((*F16,), "copy.cpp:4:46: error[kernel-arguments]: copy: no argument for `__gm__ T * z`"),
        ((*F16, "--out", "z=f32[8]"), "points to float16, but the array's type is float32"),
        ((*F16, "--out", "z"), "--out z: expected z=dtype[shape]"),
        ((*F16, "--out", "x=f16[8]"), "x is given twice"),
        ((*F16, "--out", "z=f16[8]", "--save", "y=y.npy"), "--save y: no such --in or --out"),
        ((*F16, "--out", "z=f16[8]", "--scalar", "limit=x"), "expected a number"),
        ((*F16, "--out", "z=f16[8]", "--scalar", "limit=0.5"), "is an integer, but a float"),
        ((*F16, "--out", "z=f16[8]", "--soc", "none"), "no chip is called 'none'"),
        ((*F16, "--out", "z=f8[8]"), "no array has type 'f8'"),
        (("--in", "x=f16[8]:ones"), "'ones' is no way to fill an array"),
        (("--in", "x=no.npy"), "No such file"),
        (("--in", "x=@no.bin"), "No such file"),
        (("--in", "x"), "'x' is not of the form name=value"),
        (("--template", "copy<nothing>", "--in", "x=u8[1]", "--in", "z=u8[1]"), "nothing"),
    ],
)  # fmt: skip
def test_what_can_not_run_is_code_2(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sim(*words) == 2
    out, err = capsys.readouterr()
    assert message in err and "Traceback" not in err and out == ""


def test_no_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sim", "missing.cpp"]) == 2
    assert "missing.cpp can not be read: No such file" in capsys.readouterr().err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sim", "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert "tile-ascend sim add.cpp --kernel add --blocks 8 --in x=f16[8,2048]" in text
    with pytest.raises(SystemExit) as left:
        main(["sim", "copy.cpp", "--check", "everything"])
    assert left.value.code == 2


def test_arrays(folder: Path) -> None:
    np.save(folder / "a.npy", np.arange(6.0))
    for text in ("f32[2,3]:a.npy", "f32[2,3]=a.npy"):
        array = input_array("x", text, 0)
        assert array.dtype == np.float32 and array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert input_array("x", "a.npy", 0).dtype == np.float64
    for name in ("f16", "half", "float16"):
        assert input_array("x", f"{name}[3]", 0).dtype == np.float16
    first, again, other = (input_array("x", "f32[100]", seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any() and abs(first).max() <= 1
    assert input_array("x", "u8[1000]", 0).min() >= 0
    assert input_array("x", "i8[1000]", 0).min() < 0
    assert input_array("x", "f32[]:zeros", 0).shape == ()
    assert input_array("x", "f32[0]", 0).size == 0
    assert isinstance(input_array("x", "bf16[3]", 0), torch.Tensor)
    with pytest.raises(CallError, match="has shape"):
        input_array("x", "f32[7]:a.npy", 0)
    for text in ("f32", "f32[-1]", "[3]", "f32[3]extra", "f32[3]:"):
        with pytest.raises(CallError):
            input_array("x", text, 0)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32", "i8", "u16", "i64", "u64"])
def test_outputs_begin_as_all_ones(dtype: str) -> None:
    array = output_array("z", f"{dtype}[2,3]")
    line = summary("z", array)
    assert line.startswith(f"z  {dtype}[2,3]  ")
    expected = "no numbers  nan 6" if "f" in dtype else "nan 0"
    assert expected in line
    assert ("max -1" in line) == dtype.startswith("i")


def test_page_trace_and_saved_timeline(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    """The files of a hand-written kernel, and the same page made again of the saved timeline."""
    (folder / "copy.cpp").write_text(SOURCE)
    words = ["--out", "z=f16[8]", "--report", "r.html", "--trace", "t.json"]
    assert sim(*F16, *words, "--save-timeline", "s.npz") == 0
    assert "modelled" in capsys.readouterr().out
    page = (folder / "r.html").read_text()
    assert "from.GetValue(i)" in page and "<script src" not in page
    assert json.loads((folder / "t.json").read_text())["traceEvents"]
    assert main(["report", "s.npz", "-o", "again.html"]) == 0
    assert (folder / "again.html").read_text() == page


LATE = """
import tile_frontend as T


@T.prim_func
def late(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
    with T.Kernel(1, is_npu=True) as (cid, vid):
        x = T.alloc_ub((64,), "float32")
        with T.Scope("V"):
            T.copy(X, x)
            T.copy(x, Y)
"""
NAMES = {
    "kind",
    "severity",
    "file",
    "line",
    "column",
    "message",
    "hint",
    "block",
    "core",
    "api",
    "places",
}


def test_findings_as_json(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    assert sim(*F16, "--out", "z=f16[4]", "--json") == 1
    out, err = capsys.readouterr()
    said = json.loads(out)
    assert said["version"] == 1 and said["kernel"] == "copy" and said["exit_code"] == 1
    (found,) = said["findings"]
    assert set(found) == NAMES and found["kind"] == "out-of-bounds"
    assert (found["file"], found["line"], found["column"]) == ("copy.cpp", 10, 12)
    assert found["severity"] == "error" and found["core"] == "aiv0" and found["block"] == 0
    assert found["message"] in err and "[aiv0 of block 0]" not in out
    assert sim(*F16, "--out", "z=f16[8]", "--json") == 0
    out, err = capsys.readouterr()
    assert [f["kind"] for f in json.loads(out)["findings"]] == ["output-not-written"]
    assert "z  f16[8]" in err
    assert sim(*F16, "--out", "z=f16[5]", "--json") == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert sim("--template", "copy<half>", "--json") == 2
    assert json.loads(capsys.readouterr().out)["findings"][0]["kind"] == "kernel-arguments"


def test_findings_of_a_script(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "late.py").write_text(LATE)
    assert main(["sim", "late.py:late", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["kind"] == "race" and found["file"].endswith("late.py") and found["line"] == 11
    assert "T.set_flag" in found["hint"]
    (folder / "twice.py").write_text(
        LATE.replace(
            "            T.copy(x, Y)", "            T.barrier_all()\n            T.copy(x, Y)"
        )
    )
    assert main(["sim", "twice.py:late", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (
        found["kind"] == "redundant-store"
        and found["severity"] == "warning"
        and found["line"] == 12
    )


TWO = LATE.replace(
    "T.Kernel(1, is_npu=True) as (cid, vid)", "T.Kernel(1, threads=1, is_npu=True) as cid"
).replace(
    "            T.copy(x, Y)\n",
    """            T.copy(x, Y)
            T.barrier_all()
            T.tile.add(x, x, 1.0)
            T.copy(x, Y)
""",
)


def test_all_findings_of_a_run(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "two.py").write_text(TWO)
    assert main(["sim", "two.py:late", "--json"]) == 1
    out, err = capsys.readouterr()
    found = json.loads(out)["findings"]
    assert [(f["kind"], f["line"]) for f in found] == [("race", 11), ("race", 14)]
    assert all(f["message"] in err and f["core"] == "aiv0" for f in found)
    assert main(["sim", "two.py:late", "--json", "--first"]) == 1
    assert [f["kind"] for f in json.loads(capsys.readouterr().out)["findings"]] == ["race"]


def test_findings_as_sarif(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "late.py").write_text(LATE)
    assert main(["sim", "late.py:late", "--sarif"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["version"] == "2.1.0"
    (run,) = said["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "race", "name": "race"}]
    (result,) = run["results"]
    assert result["ruleId"] == "race" and result["ruleIndex"] == 0 and result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("late.py")
    assert place["region"]["startLine"] == 11
    with pytest.raises(SystemExit):
        main(["sim", "late.py:late", "--sarif", "--json"])
