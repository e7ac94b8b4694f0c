"""What the doctor says of a machine with several NPUs, on made-up devices and a double of `npu-smi`."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_double.shmem_double import install_shmem
from tile_runtime.devices import shmem_library
from tile_runtime.tools.command_line import npu_findings, rank_findings

TOPOLOGY = """\
\x1b[4m           NPU0       NPU1       NPU2       CPU Affinity\x1b[0m
NPU0       X          HCCS       {kind}       144-167
NPU1       HCCS       X          HCCS       144-167
NPU2       {kind}       HCCS       X          0-23

Legend:

  X    = Self
  PHB  = Path traversing PCIe and the PCIe host bridge of a CPU.
  HCCS = Connection traversing HCCS.
"""


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Three devices, and no library."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for number in range(3):
        (folder / f"davinci{number}").touch()
    monkeypatch.setattr(npu_findings, "DEVICES", folder)
    monkeypatch.setattr(shmem_library, "_USUAL_PLACE", tmp_path / "usual")
    for name in (shmem_library.VARIABLE, rank_findings.PROCESSES, "ASCEND_RT_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    return folder


def _shown(kind: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """A tool that prints links."""
    tool = folder / "npu-smi"
    tool.write_text(f"#!/bin/sh\ncat <<'END'\n{TOPOLOGY.format(kind=kind)}END\n")
    tool.chmod(0o755)
    patch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def said() -> dict[str, tuple[bool, str, str]]:
    found = [check(False) for check in rank_findings.CHECKS]
    return {f.name: (f.works, f.detail, f.fix or "") for f in found if f is not None}


def test_one_device_needs_none_of_it(devices: Path) -> None:
    for number in (1, 2):
        (devices / f"davinci{number}").unlink()
    assert said() == {}


def test_the_library(devices: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    works, detail, fix = said()["SHMEM"]
    assert not works and "SHMEM_HOME_PATH names no folder" in detail and "set_env.sh" in fix
    install_shmem(monkeypatch, tmp_path)
    works, detail, fix = said()["SHMEM"]
    assert works and detail == f"{tmp_path}/shmem; ranks meet without TLS"


def test_links(devices: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "shows no links" in said()["links"][1]
    _shown("HCCS", tmp_path, monkeypatch)
    assert said()["links"] == (True, "HCCS between 3 devices", "")
    _shown("SIO ", tmp_path, monkeypatch)
    assert said()["links"] == (True, "HCCS and SIO between 3 devices", "")
    _shown("PHB ", tmp_path, monkeypatch)
    works, detail, fix = said()["links"]
    assert not works and detail == "PHB between NPU0 and NPU2: kernels do not reach over it"
    assert "ASCEND_RT_VISIBLE_DEVICES" in fix


def test_processes(devices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "ranks" not in said()
    monkeypatch.setenv(rank_findings.PROCESSES, "3")
    assert said()["ranks"] == (True, "3 processes for 3 devices", "")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "0,2")
    assert said()["ranks"] == (
        False, "3 processes for 2 devices", "torchrun --nproc-per-node 2",
    )  # fmt: skip
