"""`tile-ascend run`: scripts written for tilelang, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forked_python import run_python, tile_ascend
from kept_cases import kept

from tile_runtime.scripts.module import load_script
from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.run import TIMED_OUT

ADD = """\
import sys

import tilelang
import tilelang.language as T
import torch

tilelang.cache.clear_cache()
torch.set_default_device("npu")


@tilelang.jit(out_idx=[-1], target="pto")
def add_one(n):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a_ub = T.alloc_ub((64,), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.copy(A[0], a_ub)
                    T.barrier_all()
                    T.tile.add(a_ub, a_ub, 1.0)
                    T.barrier_all()
                    T.copy(a_ub, B[0])

    return main


if __name__ == "__main__":
    a = torch.randn(64)
    b = add_one(64)(a, torch.empty(64))
    torch.npu.synchronize()
    torch.testing.assert_close(b.cpu(), a.cpu() + 1)
    print(__file__, *sys.argv[1:], "Kernel Output Match!")
"""


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    program = "import sys; from tile_runtime.tools.command_line import main; sys.exit(main())"
    return run_python(["-c", program, *arguments], cwd)


def run(
    tmp_path: Path, text: str, *arguments: str, start: Callable[..., Any] = command
) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    options = [a for a in arguments if (a.startswith("--") and "=" in a) or a == "--time"]
    rest = [a for a in arguments if a not in options]
    done: subprocess.CompletedProcess[str] = start("run", *options, str(script), *rest)
    return done


def test_a_script_runs_as_it_is(tmp_path: Path) -> None:
    done = run(tmp_path, ADD, "--time", "x", "--flag")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{tmp_path}/script.py x --flag Kernel Output Match!\n"
    warning, line, head, columns, row = done.stderr.splitlines()
    assert warning.startswith(
        f"{tmp_path}/script.py:14: KernelWarning: target 'pto' is not supported"
    )
    assert line.strip().startswith("def main(")
    assert "modelled time" in head and columns.split()[0] == "kernel"
    assert row.split()[:2] == ["main", "1"] and float(row.split()[2]) > 0


IN_PROCESSES = """\
import multiprocessing
import subprocess
import sys
import sys

import tilelang.language as T
import torch


def on_device(n):
    from tilelang.utils.target import determine_platform

    import tvm
    return str(torch.ones(n).npu().sum().item()), determine_platform.__name__, tvm.__name__


if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(on_device, [3]))
    program = "import tilelang, tilelang.language as T; print(T.copy.__name__, tilelang.__version__)"
    subprocess.run([sys.executable, "-c", program], check=True)
"""


def test_what_a_script_starts_has_its_imports(tmp_path: Path) -> None:
    """Workers of multiprocessing and pytest, and other Python processes."""
    done = run(tmp_path, IN_PROCESSES, start=tile_ascend)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "[('3.0', 'determine_platform', 'tvm')]"
    assert second.split()[0] == "copy"


@pytest.mark.parametrize("built", [False, True])
def test_a_build_that_is_to_come_is_told_before_the_script_starts(
    built: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not built:
        monkeypatch.setenv("TILE_CACHE_DIR", str(tmp_path / "nothing"))
    done = run(tmp_path, "import sys; print('first line', file=sys.stderr)")
    comes = "tile-ascend: the first kernel builds the simulator, once for this machine\n"
    assert done.stderr == ("" if built else comes) + "first line\n"


def test_torch_is_imported_by_the_script_alone(tmp_path: Path) -> None:
    """It takes most of the start; torch_npu brings it."""
    text = "import sys, tilelang\nprint('torch' in sys.modules)\nimport torch_npu\n"
    done = run(tmp_path, text + "import torch\nprint(torch_npu.npu is torch.npu)")
    assert done.stdout == "False\nTrue\n", done.stderr


def test_exit_codes_are_those_of_the_script(tmp_path: Path) -> None:
    scripts = [("import sys; sys.exit(7)", 7), ("raise SystemExit('no')", 1), ("", 0)]
    for text, code in kept(scripts, least=1):
        assert run(tmp_path, text).returncode == code


def test_the_script_finds_what_python_would_give_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 4\n")
    text = (
        "import sys, beside, __main__\nprint(__name__, sys.argv, sys.path[0], beside.VALUE,"
        " __file__, __main__.__file__ == __file__, __main__.beside is beside)\n"
        "def f(x: 1 + 1): ...\nprint(f.__annotations__)"
    )
    script = tmp_path / "script.py"
    script.write_text(text)
    (tmp_path / "elsewhere").mkdir()
    ours = command("run", "../script.py", "1", cwd=tmp_path / "elsewhere")
    theirs = subprocess.run(
        [sys.executable, "../script.py", "1"], capture_output=True, text=True,
        cwd=tmp_path / "elsewhere",
    )  # fmt: skip
    assert ours.stdout == theirs.stdout, ours.stderr


def test_a_script_with_a_kernel_knows_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of the current folder, whose path is its name: scripts look for others near them."""
    (tmp_path / "of_this_folder.py").write_text("NEAR = __file__\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    script = load_script(Path("of_this_folder.py"))
    assert Path(script.NEAR) == tmp_path / "of_this_folder.py"


def test_a_module_of_a_package_runs_as_python_would_run_it(tmp_path: Path) -> None:
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("SIZE = 64\n")
    text = ADD.replace("import torch\n", "import torch\n\nfrom .sizes import SIZE\n", 1)
    (package / "add.py").write_text(text.replace("add_one(64)", "add_one(SIZE)"))
    done = tile_ascend("run", "-m", "kernels.add", "x", "-v", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{package}/add.py x -v Kernel Output Match!\n"
    (package / "add.py").write_text("from .nothing import SIZE\n")
    done = tile_ascend("run", "-m", "kernels.add", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].endswith('add.py", line 1, in <module>'), done.stderr
    assert tile_ascend("run", "-m", "kernels.nothing", cwd=tmp_path).returncode == 1


def test_an_exception_shows_the_frames_of_the_script_only(tmp_path: Path) -> None:
    done = run(tmp_path, "def f():\n    raise ValueError('wrong')\n\n\nf()\n")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith('script.py", line 5, in <module>')
    assert lines[-1] == "ValueError: wrong"
    assert "tile_runtime" not in done.stderr


def test_a_mistake_in_the_kernel_is_told_at_its_line(tmp_path: Path) -> None:
    text = ADD.replace("T.tile.add(a_ub, a_ub, 1.0)", "T.tile.ad(a_ub, a_ub, 1.0)")
    done = run(tmp_path, text, start=tile_ascend)
    assert done.returncode == 1
    assert "script.py:21:28: error[unknown-name]" in done.stderr
    assert "did you mean `add`?" in done.stderr
    assert "tile_frontend" not in done.stderr


@pytest.mark.exhaustive
def test_a_script_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    text = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\nchild.wait()"
    )
    done = run(tmp_path, text, "--timeout=10")
    assert done.returncode == TIMED_OUT
    assert "error[timeout]" in done.stderr and "after 10 s" in done.stderr
    state = Path(f"/proc/{int(done.stdout)}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"


def test_a_script_that_dies_is_told_apart(tmp_path: Path) -> None:
    done = run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert done.returncode == 128 + 9
    assert "error[script-died]" in done.stderr and "SIGKILL" in done.stderr


def test_options_become_switches(tmp_path: Path) -> None:
    text = (
        "import torch\nfrom tile_ir.switches import switch\n"
        "p = torch.npu.get_device_properties('npu')\n"
        "print(switch('check'), switch('soc'), switch('lax_calls'), p.name, p.cube_core_num,"
        " p.vector_core_num)"
    )
    done = run(tmp_path, text, "--check=off", "--soc=Ascend910B3", start=tile_ascend)
    assert done.stdout.split() == ["off", "Ascend910B3", "True", "Ascend910B3", "20", "40"]


def test_wrong_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("")
    assert main(["run", str(tmp_path / "none.py")]) == 1
    assert main(["run", "--soc", "Ascend910B22", str(script)]) == 1
    assert "did you mean" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["run", "--timeout", "0", str(script)])
    assert os.environ.get("TILE_SOC") is None
