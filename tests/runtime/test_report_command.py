"""`tile-ascend report`: scripts and saved timelines in, a page, a trace and a saved timeline out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from page_parser import columns, parse
from tile_ir.switches import override, switch
from tile_runtime.simulator.time_error import modelled_text
from tile_runtime.tools.command_line import main
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from timed_runs import many_events, small_run

pytestmark = pytest.mark.usefixtures("quick_kernels")

SCRIPT = """\
import dataclasses
import sys

import torch

import tile_frontend as T
from beside import SIZE


def kernel(name, times):
    @T.prim_func
    def body(A: T.Tensor((SIZE,), "float32"), B: T.Tensor((SIZE,), "float32")):
        with T.Kernel(2, is_npu=True) as (cid, vid):
            a = T.alloc_ub((SIZE,), "float32")
            with T.Scope("V"):
                T.copy(A, a)
                T.barrier_all()
                for _ in T.serial(times):
                    T.tile.add(a, a, 1.0)
                    T.pipe_barrier("v")
                T.barrier_all()
                if cid == 0 and vid == 0:
                    T.copy(a, B)

    return T.compile(dataclasses.replace(body, name=name), out_idx=[1])


if __name__ == "__main__":
    assert sys.argv == [__file__] and __name__ == "__main__"
    first, second = kernel("first", 1), kernel("second", 2)
    for k in (first, second, first, second):
        k(torch.zeros(SIZE))
    print("done")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("SIZE = 64\n")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """What the command prints; standard error if it fails."""
    assert main(["report", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.err if code else captured.out


def adds(page: Path) -> int:
    contents, found = columns(parse(page.read_text()))
    return sum(contents["strings"][api].startswith("Add") for api in found["api"])


def test_a_script(capsys: pytest.CaptureFixture[str], tmp_path: Path, script: Path) -> None:
    page, trace, saved = tmp_path / "deep" / "p.html", tmp_path / "t.json", tmp_path / "t.npz"
    before = (sys.argv, sys.path[:])
    text = run(capsys, script, "-o", page, "--trace", trace, "--save", saved)
    assert (sys.argv, sys.path) == before and not switch("time")
    timed = load_run(saved)
    assert text.splitlines()[:2] == [
        "done",
        f"{page}: second on Ascend910B2, modelled {modelled_text(timed.timeline)}; source {timed.source_hash}",
    ]
    slices = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]
    cores = len({e["pid"] for e in slices if e["name"].startswith("Add")})
    assert cores == 4 and adds(page) == 8
    # The Python lines are those of the script.
    places = {python for python in timed.places.values()}
    assert {file for file, _ in places} == {str(script)}
    assert any("T.tile.add" in SCRIPT.splitlines()[line - 1] for _, line in places)
    # A saved timeline gives the same page.
    again = tmp_path / "again.html"
    run(capsys, saved, "-o", again)
    assert again.read_text() == page.read_text()


def test_text_is_what_the_page_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save_run(small_run(), tmp_path / "small.npz")
    said = run(capsys, "small.npz", "-o", "page.html").splitlines()
    text = run(capsys, "small.npz", "--text")
    assert said[1].startswith("Bound by ")
    assert [line.split(":")[0] for line in said[2:4]] == ["  evidence", "  do"]
    assert "\n".join(said[1:4]) in text
    page = parse((tmp_path / "page.html").read_text()).one("section", id="verdict").words()
    assert said[1].rstrip(".") in page and said[3].removeprefix("  do: ") in page
    assert "lines by work" in text and not (tmp_path / "report.html").exists()


def test_a_chosen_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path, script: Path) -> None:
    page = tmp_path / "p.html"
    assert "first on Ascend910B2" in run(capsys, script, "-o", page, "--kernel", "first")
    assert adds(page) == 4
    message = run(capsys, script, "-o", page, "--kernel", "secund", code=1)
    assert "ran no kernel called 'secund'" in message and "did you mean `second`?" in message


def test_chosen_blocks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    saved, page, trace = tmp_path / "s.npz", tmp_path / "p.html", tmp_path / "t.json"
    save_run(many_events(45_000), saved)
    run(capsys, saved, "-o", page, "--trace", trace, "--blocks", "0,2-3")
    contents, _ = columns(parse(page.read_text()))
    assert {track[0] for track in contents["tracks"]} == {0, 2, 3}
    names = [
        e["args"]["name"]
        for e in json.loads(trace.read_text())["traceEvents"]
        if e["name"] == "process_name"
    ]
    assert names == ["chip", "block 0 aiv0", "block 2 aiv0", "block 3 aiv0"]
    assert "block 7 has no instructions" in run(capsys, saved, "-o", page, "--blocks", "7", code=1)
    assert "ran no kernel called 'x'" in run(capsys, saved, "-o", page, "--kernel", "x", code=1)


@pytest.mark.parametrize("blocks", ["", "a", "3-1", "-1", "1-", "0-99999999", "1,,2", "²"])
def test_blocks_that_are_none(capsys: pytest.CaptureFixture[str], blocks: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["report", "x.npz", f"--blocks={blocks}"])
    assert stop.value.code == 2 and "--blocks" in capsys.readouterr().err


def test_scripts_that_run_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script, page = tmp_path / "s.py", tmp_path / "p.html"
    script.write_text("print(1)\n")
    assert "error[no-timed-run]" in run(capsys, script, "-o", page, code=1)
    script.write_text("import sys\nsys.exit(3)\n")
    message = run(capsys, script, "-o", page, code=1)
    assert "ended with status 3" in message and "error[no-timed-run]" in message
    script.write_text("import sys\nsys.exit('so there')\n")
    assert run(capsys, script, "-o", page, code=1).startswith("so there\n")
    assert "no such file" in run(capsys, tmp_path / "nowhere.py", code=1)
    assert "No such file" in run(capsys, tmp_path / "nowhere.npz", code=1)
    (tmp_path / "x.npz").write_text("x")
    assert "error[not-a-timeline]" in run(capsys, tmp_path / "x.npz", code=1)
    assert not page.exists()


def test_runs_are_seen_only_while_watched_and_timed(script: Path) -> None:
    from tile_runtime.scripts.module import load_script

    seen: list[TimedRun] = []
    sys.path.insert(0, str(script.parent))
    try:
        kernel = load_script(script).kernel("watched", 1)
    finally:
        sys.path.remove(str(script.parent))
        del sys.modules["beside"], sys.modules["script"]
    import torch

    x = torch.zeros(64)
    with watch_timed_runs(seen.append):
        kernel(x)
        assert seen == []
        with override(time=True):
            kernel(x)
            kernel(x)
    with override(time=True):
        kernel(x)
    assert [r.kernel for r in seen] == ["watched", "watched"]
    assert seen[0].timeline.totals == seen[1].timeline.totals


PICK = """\
import tile_frontend as T


@T.jit(out_idx=[2], pass_configs={"tl.ascend_auto_sync": True})
def pick():
    @T.prim_func
    def main(x: T.Tensor((16, 64), "float32"), idx: T.Tensor((8,), "int32"),
             y: T.Tensor((8, 64), "float32")):
        with T.Kernel(1, threads=1):
            a = T.alloc_ub((64,), "float32")
            for i in T.serial(8):
                at = T.alloc_var("int32", init=0)
                at = at - idx[i]  # which bound keeps that above 0 is not found
                T.copy(x[at, :], a)
                T.copy(a, y[i, :])
    return main
"""


def test_a_fault_names_the_integers_that_were_made_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pick.py").write_text(PICK)
    assert main(["report", "--text", f"{tmp_path / 'pick.py'}:pick"]) == 1
    told = capsys.readouterr().err
    assert "random numbers stand in `idx`: --in gives nothing there" in told
    assert "hint: give what is an index: --in idx=i32[64]:arange" in told
    assert "hint: a tile that begins before its tensor is filled first" in told
    given = ["--in", "idx=i32[8]:zeros"]
    assert main(["report", "--text", f"{tmp_path / 'pick.py'}:pick", *given]) == 0
