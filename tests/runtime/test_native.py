"""The two launchers agree, and the native parts are found where they are."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hand_written import SAXPY_CPP, HandWritten
from tile_ir import BuildError, Func
from tile_ir.switches import override
from tile_runtime import SimulationError, compile
from tile_runtime.launcher import native
from tile_runtime.launcher.ctypes_launcher import CtypesLauncher
from tile_runtime.simulator import build_simulator
from tile_runtime.tools.command_line.doctor import check_launcher

A, B = torch.arange(8.0), torch.ones(8)


@pytest.fixture
def without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python without Python.h."""
    stand_in = CtypesLauncher(native.simulator_library())
    monkeypatch.setattr("tile_runtime.devices.simulator_device.launcher", lambda: stand_in)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))


def outcome(func: Func) -> tuple[str, str, int, int, str, str]:
    """What a failing kernel reports, without addresses."""
    with pytest.raises(SimulationError) as caught:
        compile(func, out_idx=2)(A, B, 1.0)
    f = caught.value.fault
    return f.kind, Path(f.file).name, f.line, f.block, f.core, f.api


def test_both_launchers_give_the_same(
    saxpy: Func,
    hand_written: Callable[[str], HandWritten],
    without_headers: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails = SAXPY_CPP.replace("// FAULT", "c.SetValue(N + 100, 1.0f);")
    prints = SAXPY_CPP.replace("// FAULT", 'AscendC::printf("s is %f\\n", s);')
    results, faults, texts = [], [], []
    for _ in range(2):
        hand_written(prints)
        with override(cache=False):
            results.append(compile(saxpy, out_idx=2)(A, B, 2.5))
            texts.append(capsys.readouterr().out)
            hand_written(fails)
            faults.append(outcome(saxpy))
        monkeypatch.setattr("tile_runtime.devices.simulator_device.launcher", native.launcher)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], 2.5 * A + B)
    assert texts[0] == texts[1] != "" and faults[0] == faults[1]
    module = native.launcher()
    for name in ("CHECKS_OFF", "CHECKS_DEVICE"):
        assert getattr(module, name) == getattr(CtypesLauncher, name)


def test_doctor_tells_that_headers_are_missing(without_headers: None) -> None:
    finding = check_launcher(False)
    assert not finding.works and not finding.needed
    assert finding.fix == "apt-get install python3-dev, or dnf install python3-devel"


def test_a_prebuilt_library_is_used_on_its_own_cpu(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(native, "PREBUILT", tmp_path)
    prebuilt = tmp_path / "libtile_simulator.so"
    prebuilt.write_text("")
    (tmp_path / "cpu").write_text("another")
    assert native.simulator_library() != prebuilt
    (tmp_path / "cpu").write_text(build_simulator.instruction_set()[0])
    assert native.simulator_library() == prebuilt


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (build_simulator.CompilerMissing("no"), "no-compiler"),
        (build_simulator.SimulatorBuildError("bad"), "simulator-build"),
        (PermissionError("closed"), "cache-folder"),
    ],
)
def test_builders_that_fail(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, slug: str
) -> None:
    def fail(may_build: bool) -> Path:
        raise error

    monkeypatch.setattr(build_simulator, "build_simulator", fail)
    with pytest.raises(BuildError) as caught:
        native.simulator_library()
    assert caught.value.slug == slug


def in_a_fresh_clone(folder: Path, code: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A process that has built nothing yet."""
    environment = {**os.environ, "TILE_CACHE_DIR": str(folder), **more}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_doctor_builds_nothing_unasked(tmp_path: Path) -> None:
    code = (
        "import sys; from tile_runtime.tools.command_line import main; code = main(['doctor']); "
        # What takes seconds to import.
        "assert not {'torch', 'networkx'} & set(sys.modules), 'imported'; sys.exit(code)"
    )
    done = in_a_fresh_clone(tmp_path, code)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    later = [line.split()[1] for line in lines if line.startswith("later ")]
    assert later == ["simulator", "launcher", "runner"]
    assert "`tile-ascend doctor --build`" in done.stdout
    assert lines[-1] == (
        "kernels run here on the simulator, once the first use has built what is marked `later`"
    )
    assert not list(tmp_path.glob("host-*"))


FIRST = """
import torch
import tile_frontend as T

@T.prim_func
def k(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=1, is_npu=True) as cid:
        T.barrier_all()

T.compile(k)
"""


def test_the_first_use_says_what_it_builds(tmp_path: Path) -> None:
    """Before anything else is compiled, the kernel included."""
    script, compiler = tmp_path / "first.py", tmp_path / "c++"
    script.write_text(FIRST)
    compiler.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo 1;; *) echo no >&2; exit 1;; esac\n'
    )
    compiler.chmod(0o755)
    code = f"import runpy; runpy.run_path({str(script)!r})"
    done = in_a_fresh_clone(tmp_path / "cache", code, TILE_CXX=str(compiler))
    lines = done.stderr.splitlines()
    assert lines[0] == (
        "tile-ascend: building the simulator (about two minutes), once for this machine ..."
    )
    assert re.fullmatch(r"tile-ascend: stopped after \d+ s", lines[1])
    assert any("error[simulator-build]: the simulator does not compile" in s for s in lines)


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_is_told(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    told = io.StringIO()
    monkeypatch.setattr(told, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", told)
    clock = iter([0.0, 1.0, 12.0, 13.0, 20.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with build_simulator._Progress("tile_simulator_runner", 3) as progress:
        for _ in range(3):
            progress.step()
    lines = [line.rstrip() for line in told.getvalue().replace("\r", "\n").splitlines()]
    first = "tile-ascend: building the runner of Ascend C sources, once for this machine ..."
    steps = [f"tile-ascend: {n} of 3 files compiled" for n in (1, 2, 3)]
    last = "tile-ascend: built after 20 s"
    shown = steps if terminal else steps[1:2]
    assert [line for line in lines if line] == [first, *shown, last]
