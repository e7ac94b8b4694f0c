"""What the doctor says of a machine with an NPU, on made-up CANN folders and the double of torch_npu:
each thing that can be missing is named, with what to do."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
import torch

from npu_double import NpuDouble
from tile_runtime.devices import cann as cann_folder
from tile_runtime.devices import choose_device
from tile_runtime.tools.command_line import main, npu_findings

INI = """[SoCInfo]
ai_core_cnt=20
cube_core_cnt=20
vector_core_cnt=40
memory_size=
"""


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What this machine really has is out of sight."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "davinci_manager").touch()
    monkeypatch.setattr(npu_findings, "DEVICES", tmp_path / "dev")
    monkeypatch.setattr(cann_folder, "_USUAL_PLACES", (str(tmp_path / "usual"),))
    for variable in ("ASCEND_HOME_PATH", "ASCEND_HOME"):
        monkeypatch.delenv(variable, raising=False)


def said(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str, str]]:
    """Mark, detail and fix of each line about the NPU, by its name."""
    assert main(["doctor"]) == 0
    found: dict[str, tuple[str, str, str]] = {}
    name = ""
    for line in capsys.readouterr().out.splitlines():
        mark, *rest = re.split(r"\s{2,}", line)
        if not mark:
            found[name] = (*found[name][:2], rest[0].removeprefix("fix: "))
        elif rest:
            name = rest[0]
            found[name] = (mark, rest[1], "")
    return found


def test_nothing_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    found = said(capsys)
    for name, detail, fix in (
        ("NPU driver", "no ", "--device=/dev/davinci0"),
        ("CANN", "ASCEND_HOME_PATH is not set, and no usual folder", "install the toolkit"),
        ("bisheng", "not on PATH", "install CANN's toolkit"),
        ("torch_npu", "torch_npu is not installed", "pip install 'tile-runtime[npu]'"),
        ("NPU", "torch_npu is not installed", "npu-smi"),
    ):
        assert found[name][0] == "absent"
        assert detail in found[name][1] and fix in found[name][2]


def test_all_is_there(machine: NpuDouble, capsys: pytest.CaptureFixture[str]) -> None:
    (npu_findings.DEVICES / "davinci0").touch()
    assert main(["doctor", "--build"]) == 0
    text = capsys.readouterr().out
    assert "absent" not in text
    assert text.endswith("kernels run here on the simulator and on the NPU\n")
    found = said(capsys)
    assert found["NPU driver"][1] == "davinci0"
    assert found["CANN"][1] == f"8.1.RC1 in {machine.folder} (ASCEND_HOME_PATH)"
    assert found["bisheng"][1] == f"{machine.folder}/bin/bisheng: double of bisheng"
    cores = "1 x Ascend910B3, 20 cube and 40 vector cores"
    assert found["NPU"][1] == f"{cores}; kernels are compiled for Ascend910B3"


def test_set_env_was_not_sourced(
    machine: NpuDouble, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.setattr(cann_folder, "_USUAL_PLACES", (str(machine.folder),))
    mark, detail, fix = said(capsys)["CANN"]
    assert mark == "absent" and "ASCEND_HOME_PATH is not set" in detail
    assert fix.startswith(f"source {machine.folder}/set_env.sh")


def test_parts_of_cann_are_missing(
    machine: NpuDouble,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = tmp_path / "cann"
    shutil.copytree(machine.folder, home, symlinks=True)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (home / "include/experiment/runtime/runtime/rt_ffts.h").unlink()
    (home / "lib64/libplatform.so").unlink()
    (home / "bin/bisheng").write_text("#!/bin/sh\nexit 126\n")
    found = said(capsys)
    missing = f"8.1.RC1 in {home} lacks runtime/rt_ffts.h, lib64/libplatform.so"
    assert found["CANN"][:2] == ("absent", missing)
    assert found["bisheng"][1] == f"{home}/bin/bisheng does not run: exit code 126"
    (home / "compiler/version.info").unlink()
    assert said(capsys)["CANN"][1].startswith(f"of unknown version in {home}")
    (home / "aarch64-linux").mkdir()
    (home / "aarch64-linux/ascend_toolkit_install.info").write_text("arch=x\nversion=8.2.0\n")
    assert said(capsys)["CANN"][1].startswith(f"8.2.0 in {home}")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home / "nowhere"))
    assert "which is no folder" in said(capsys)["CANN"][1]


def test_torch_npu_without_a_device(
    machine: NpuDouble, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(machine.npu), "is_available", lambda self: False)
    choose_device.npu_problem.cache_clear()
    monkeypatch.setenv("TILE_TARGET", "sim")
    found = said(capsys)
    assert found["torch_npu"][0] == "ok"
    assert found["NPU"][:2] == ("absent", "torch_npu sees no device")
    monkeypatch.setitem(sys.modules, "torch_npu", None)
    choose_device.npu_problem.cache_clear()
    assert found["torch_npu"][0] == "ok" and said(capsys)["torch_npu"][0] == "absent"


def test_cores_and_chips(
    machine: NpuDouble, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILE_SOC", "Ascend910B1")
    mark, detail, fix = said(capsys)["NPU"]
    assert mark == "absent" and "compiled for Ascend910B1 with more cores" in detail
    assert fix.startswith("unset TILE_SOC")
    monkeypatch.delenv("TILE_SOC")
    # Where torch_npu does not tell, the chip's file in CANN does, or else the chip table.
    silent = type("Silent", (), {})()
    monkeypatch.setattr(torch.npu, "get_device_properties", lambda device: silent)
    monkeypatch.setattr(torch.npu, "get_device_name", lambda device=None: "Ascend910B9")
    mark, detail, fix = said(capsys)["NPU"]
    assert mark == "absent" and "Ascend910B9 is not in the chip table" in detail
    assert "set TILE_SOC to the nearest of Ascend910B1" in fix
    data = machine.folder / "aarch64-linux" / "data" / "platform_config"
    data.mkdir(parents=True)
    (data / "Ascend910B9.ini").write_text(INI)
    monkeypatch.setenv("TILE_SOC", "Ascend910B4")
    told = "1 x Ascend910B9, 20 cube and 40 vector cores; kernels are compiled for Ascend910B4"
    assert said(capsys)["NPU"][1] == told
    shutil.rmtree(machine.folder / "aarch64-linux")
