"""The two launchers agree, and the native parts are found where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from hand_written import SAXPY_CPP, HandWritten
from tile_ir import BuildError, Func
from tile_ir.switches import override
from tile_runtime import SimulationError, build_simulator, compile, native
from tile_runtime.cli.doctor import check_launcher
from tile_runtime.ctypes_launcher import CtypesLauncher
from tile_runtime.fingerprint import cpu_digest

A, B = torch.arange(8.0), torch.ones(8)


@pytest.fixture
def without_headers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python without Python.h."""
    stand_in = CtypesLauncher(native.simulator_library())
    monkeypatch.setattr("tile_runtime.simulator_backend.launcher", lambda: stand_in)
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
        monkeypatch.setattr("tile_runtime.simulator_backend.launcher", native.launcher)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], 2.5 * A + B)
    assert texts[0] == texts[1] != "" and faults[0] == faults[1]
    module = native.launcher()
    for name in ("CHECKS_OFF", "CHECKS_DEVICE"):
        assert getattr(module, name) == getattr(CtypesLauncher, name)


def test_doctor_tells_that_headers_are_missing(without_headers: None) -> None:
    finding = check_launcher()
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
    (tmp_path / "cpu").write_text(cpu_digest())
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
    def fail() -> Path:
        raise error

    monkeypatch.setattr(build_simulator, "build_simulator", fail)
    with pytest.raises(BuildError) as caught:
        native.simulator_library()
    assert caught.value.slug == slug
