"""The native parts are found, or built where they are missing."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tile_ir import BuildError
from tile_runtime.launcher import native
from tile_runtime.simulator import build_simulator
from tile_runtime.tools.command_line.doctor import check_launcher


@pytest.fixture
def without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python without Python.h, and no launcher in the package."""
    monkeypatch.setattr(native, "PREBUILT", tmp_path)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))


def test_without_headers_the_launcher_is_not_built(without_headers: None) -> None:
    with pytest.raises(BuildError, match="Python.h is missing") as caught:
        native.launcher_library()
    assert caught.value.slug == "no-python-headers"


def test_doctor_tells_that_headers_are_missing(without_headers: None) -> None:
    finding = check_launcher(False)
    assert not finding.works and finding.needed and "Python.h is missing" in finding.detail
    assert str(finding.fix).startswith("apt-get install python3-dev, or dnf install python3-devel")


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
    with build_simulator._BuildProgress("tile_simulator_runner", 3) as progress:
        for _ in range(3):
            progress.step()
    lines = [line.rstrip() for line in told.getvalue().replace("\r", "\n").splitlines()]
    first = "tile-ascend: building the runner of Ascend C sources, once for this machine ..."
    steps = [f"tile-ascend: {n} of 3 files compiled" for n in (1, 2, 3)]
    last = "tile-ascend: built after 20 s"
    shown = steps if terminal else steps[1:2]
    assert [line for line in lines if line] == [first, *shown, last]
