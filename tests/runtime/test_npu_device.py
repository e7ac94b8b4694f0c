"""The NPU without an NPU: a fake bisheng and a fake torch.npu."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from hand_written import entry_for, func_of
from tile_ir import DEFAULT_TARGET, BuildError
from tile_runtime.devices.device import KernelFiles
from tile_runtime.devices.npu_device import NpuDevice
from tile_runtime.launcher.bind_arguments import ArgumentBinder
from tile_runtime.launcher.signature import signature_of

TEXT = """file 0 "k.py"
func "k" phase built @0:1:1 {
  tensor $A : float32[%M] @0:2:5
  scalar %n : int32
  scalar %x : float32
  scalar %l : int64
  launch blocks(1) %cid %vid threads any @0:8:5 {
  }
}
"""
# Stores what it was called with in the tensor.
KERNEL = """
#include <cstdint>
extern "C" void call(uint8_t* A, int32_t n, float x, int64_t l, int64_t M, void* stream) {
    float* a = reinterpret_cast<float*>(A);
    a[0] = n; a[1] = x; a[2] = l; a[3] = M; a[4] = reinterpret_cast<intptr_t>(stream);
}
"""
BISHENG = """#!/bin/sh
echo "$@" >> {log}
# The device's own options mean nothing to the host compiler.
args=""
for a in "$@"; do case "$a" in --npu-arch=*|-xasc|-l*|-L*) ;; --shared) args="$args -shared" ;;
  *) args="$args $a" ;; esac; done
exec g++ $args
"""


@pytest.fixture
def bisheng(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A bisheng that notes its command line and calls g++."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / "bisheng"
    program.parent.mkdir()
    program.write_text(BISHENG.format(log=log))
    program.chmod(0o755)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    return log


@pytest.mark.parametrize("headers", [True, False])
def test_compile_load_and_launch(
    bisheng: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, headers: bool
) -> None:
    if not headers:
        monkeypatch.setattr("tile_runtime.devices.npu_device.extension", lambda: None)
    func = func_of(TEXT)
    files = KernelFiles(tmp_path, ".cpp")
    files.source.write_text(KERNEL)
    files.entry.write_text(entry_for(func))
    device = NpuDevice()
    assert "bisheng" in device.identity() and "-fwrapv" in device.identity()
    device.compile((files.source, files.entry), files.library, tmp_path, DEFAULT_TARGET)
    assert bisheng.read_text().startswith("--npu-arch=dav-2201 -O2 -fwrapv -std=c++17 -xasc ")

    signature = signature_of(func, 4)
    launch = device.load(files, signature, func, DEFAULT_TARGET)
    bind = ArgumentBinder(signature, (), (), "cpu", func).bind
    stream = SimpleNamespace(npu_stream=77)
    monkeypatch.setattr(
        torch, "npu", SimpleNamespace(current_stream=lambda device: stream), raising=False
    )
    a = torch.zeros(6)
    launch(bind((a, -3, 0.5, 2**20)), None)
    assert a.tolist() == [-3.0, 0.5, 2.0**20, 6.0, 77.0, 0.0]
    launch(bind((a, 1, 2, 3)), 99)
    assert a.tolist() == [1.0, 2.0, 3.0, 6.0, 99.0, 0.0]


def test_a_library_that_can_not_be_loaded(bisheng: Path, tmp_path: Path) -> None:
    func = func_of(TEXT)
    files = KernelFiles(tmp_path, ".cpp")
    files.library.write_bytes(b"nothing")
    with pytest.raises(BuildError, match=r"kernel\.so can not be loaded"):
        NpuDevice().load(files, signature_of(func, 4), func, DEFAULT_TARGET)


def test_without_cann(bisheng: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.delenv("ASCEND_HOME", raising=False)
    with pytest.raises(BuildError, match="ASCEND_HOME_PATH is not set"):
        NpuDevice().compile((tmp_path / "k.cpp",), tmp_path / "k.so", tmp_path, DEFAULT_TARGET)
