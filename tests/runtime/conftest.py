"""Fixtures for kernels whose Ascend C is written by hand, and for a machine with an NPU's double."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from forked_python import start_python
from kernel_compiler import quick_kernels as quick_kernels
from kernel_compiler import unoptimising as unoptimising

import npu_double
import tile_codegen_ascendc
import tile_passes
from hand_written import SAXPY, SAXPY_CPP, SAXPY_PYTHON, HandWritten, func_of
from npu_double import NpuDouble
from tile_ir import Func
from tile_runtime.child_processes import child_server


@pytest.fixture(autouse=True, scope="session")
def quick_children() -> Iterator[None]:
    """Children are forked from a process that begins with all imported."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(child_server, "start_process", start_python)
        yield


@pytest.fixture
def hand_written(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], HandWritten]:
    """Make every kernel compile to the given C++ from now on."""

    def install(source: str) -> HandWritten:
        stand_in = HandWritten(source)
        monkeypatch.setattr(tile_passes, "run_pipeline", stand_in.run_pipeline)
        monkeypatch.setattr(tile_codegen_ascendc, "CODE_GENERATOR", stand_in)
        return stand_in

    return install


@pytest.fixture
def saxpy(hand_written: Callable[[str], HandWritten]) -> Func:
    """C = s * A + B, whose body is in SAXPY_CPP."""
    hand_written(SAXPY_CPP)
    return func_of(SAXPY, saxpy=SAXPY_PYTHON)


@pytest.fixture(scope="session")
def cann(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up CANN folder."""
    return npu_double.make_cann_folder(tmp_path_factory.mktemp("machine") / "cann")


@pytest.fixture
def machine(cann: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NpuDouble]:
    """This machine with the double of an NPU, for which kernels are compiled."""
    with npu_double.installed(cann, monkeypatch) as double:
        yield double
