"""From the call of a kernel to the device boundary and back, without a device: everything but the
device, its compiler and its runtime library is what a machine with an NPU runs (npu_double)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch
import vendor_headers

import npu_double
import tile_frontend as T
from npu_double import NpuDouble
from tile_codegen_ascendc import DEVICE_HEADER_DIR
from tile_ir import DEFAULT_TARGET, BuildError, CallError, KernelError
from tile_ir.switches import override
from tile_runtime.devices.cann import INCLUDES
from tile_runtime.devices.device import KernelFiles
from tile_runtime.devices.npu_device import NpuDevice
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.profiler import do_bench
from tile_runtime.simulator.build_simulator import include_directory

M, N = 16, 64


def scaled_sum() -> JITKernel:
    """C = s * A + B for any number of rows, by way of a workspace."""
    rows = T.symbolic("rows")

    @T.prim_func
    def scaled_sum(
        A: T.Tensor((rows, N), "float32"),
        s: T.float32,
        W: T.Tensor((rows, N), "float32"),
        B: T.Tensor((rows, N), "float32"),
        C: T.Tensor((rows, N), "float32"),
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            a = T.alloc_ub((1, N), "float32")
            b = T.alloc_ub((1, N), "float32")
            with T.Scope("V"):
                if vid == 0:
                    for i in T.serial(rows):
                        T.copy(A[i, 0], a)
                        T.copy(B[i, 0], b)
                        T.barrier_all()
                        T.tile.mul(a, a, s)
                        T.barrier_all()
                        T.copy(a, W[i, 0])
                        T.tile.add(a, a, b)
                        T.barrier_all()
                        T.copy(a, C[i, 0])
                        T.barrier_all()

    return T.compile(scaled_sum, out_idx=[-1], workspace_idx=[2])


def inputs(rows: int = M) -> tuple[torch.Tensor, float, torch.Tensor]:
    return torch.randn(rows, N), 2.5, torch.randn(rows, N)


def expected(a: torch.Tensor, s: float, b: torch.Tensor) -> torch.Tensor:
    return s * a + b


def launches(calls: list[str]) -> list[list[str]]:
    """Name, blocks, stream and arguments of each, as the runtime library gets them."""
    return [c.split()[1:] for c in calls if c.startswith("launch ")]


def test_command_line(machine: NpuDouble) -> None:
    before = len(machine.command_lines())
    kernel = scaled_sum()
    (line,) = machine.command_lines()[before:]
    home = machine.folder
    assert line.startswith(
        f"--npu-arch=dav-2201 -O2 -fwrapv -std=c++17 -xasc -I{home}/include "
        f"-I{home}/include/experiment/msprof -I{home}/include/experiment/runtime "
        f"-I{home}/pkg_inc -I{home}/pkg_inc/runtime -I{home}/pkg_inc/profiling -I"
    )
    libraries = "-lruntime -lascendcl -lm -ltiling_api -lplatform -lc_sec -ldl -fPIC --shared "
    assert f" -L{home}/lib64 " in line and libraries in line
    assert re.search(r"kernel\.cpp \S+entry\.cpp -o \S+kernel\.so$", line)
    assert kernel.timings.compile > 0


def test_the_chip_is_the_devices(machine: NpuDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    assert scaled_sum().target.name == "Ascend910B3"
    with override(target="sim"):
        assert scaled_sum().target.name == "Ascend910B2"
    monkeypatch.setenv("TILE_SOC", "Ascend910B1")
    assert scaled_sum().target.name == "Ascend910B1"
    monkeypatch.delenv("TILE_SOC")
    machine.npu.get_device_name = lambda device=None: "Ascend31"
    with pytest.raises(KernelError, match="'Ascend31', which is not in the chip table"):
        scaled_sum()


def test_a_call_is_queued_and_nothing_waits(machine: NpuDouble) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    machine.calls()
    c = kernel(a, s, b)
    calls = machine.calls()
    (launched,) = launches(calls)
    assert not any("Synchronize" in call for call in calls)
    name, blocks, stream, *words = launched
    assert (name, blocks) == ("scaled_sum_kernel", "1")
    assert int(stream, 16) == machine.npu.current_stream().npu_stream
    # Parameters in their order, the workspace among them, symbols, and the address by which cores
    # signal each other.
    scalar = torch.tensor(s).view(torch.int32).item()
    workspace, *_ = (t for _, t in machine.npu.memory.held if t.data_ptr() != c.data_ptr())
    pointers = [a.data_ptr(), scalar, workspace.data_ptr(), b.data_ptr(), c.data_ptr()]
    assert [int(w) for w in words] == [*pointers, M, 0xC2C000]
    assert not torch.equal(c, expected(a, s, b))
    machine.npu.synchronize()
    assert torch.equal(c, expected(a, s, b))


def test_the_stream_is_torchs_current_one_and_owns_what_is_allocated(machine: NpuDouble) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    side = machine.npu.Stream()
    for given in (False, True):
        machine.calls()
        machine.npu.memory.held.clear()
        if given:
            c = kernel(a, s, b, stream=side)
        else:
            with machine.npu.stream(side):
                c = kernel(a, s, b)
        (launched,) = launches(machine.calls())
        assert int(launched[2], 16) == side.npu_stream
        assert machine.npu.memory.streams() == [side, side]  # workspace and output
        side.synchronize()
        assert torch.equal(c, expected(a, s, b))


def test_a_stream_by_its_number(machine: NpuDouble) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    side = machine.npu.Stream()
    kernel(a, s, b, stream=machine.npu.current_stream().npu_stream)
    with pytest.raises(CallError, match="makes no stream of") as error:
        kernel(a, s, b, stream=side.npu_stream)
    assert error.value.slug == "call-stream" and "torch.npu.Stream" in str(error.value.hint)
    machine.npu.ExternalStream = {side.npu_stream: side}.get
    c = kernel(a, s, b, stream=side.npu_stream)
    side.synchronize()
    assert torch.equal(c, expected(a, s, b))
    machine.npu.synchronize()


def numbers() -> JITKernel:
    """Takes a number of each size; their sum is C."""

    @T.prim_func
    def numbers(
        C: T.Tensor((8,), "float32"),
        i8: T.int8,
        half: T.float16,
        i32: T.int32,
        truth: T.bool,
        i64: T.int64,
    ):
        with T.Kernel(1, is_npu=True) as (cid, vid):
            c = T.alloc_ub((8,), "float32")
            with T.Scope("V"):
                if vid == 0:
                    T.tile.fill(c, T.cast(half, "float32"))
                    T.barrier_all()
                    T.tile.add(c, c, T.cast(i8 + i32 + T.if_then_else(truth, 1, 0), "float32"))
                    T.barrier_all()
                    T.tile.add(c, c, T.cast(i64, "float32"))
                    T.barrier_all()
                    T.copy(c, C)

    return T.compile(numbers)


def test_numbers(machine: NpuDouble) -> None:
    kernel, c = numbers(), torch.zeros(8)
    for i8, half, i32, truth, i64 in ((-3, 0.5, 2**20, True, 2**22), (1, -2.0, -5, False, -7)):
        kernel(c, i8, half, i32, truth, i64)
        machine.npu.synchronize()
        assert c.tolist() == [i8 + half + i32 + truth + i64] * 8


def test_a_library_that_can_not_be_loaded(machine: NpuDouble, tmp_path: Path) -> None:
    kernel = scaled_sum()
    files = KernelFiles(tmp_path, ".cpp")
    files.library.write_bytes(b"nothing")
    with pytest.raises(BuildError, match=r"kernel\.so can not be loaded"):
        NpuDevice().load(files, kernel._built.signature, kernel.prim_func, DEFAULT_TARGET)


def test_without_cann(machine: NpuDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{machine.folder}/bin:/usr/bin:/bin")
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.delenv("ASCEND_HOME", raising=False)
    with pytest.raises(BuildError, match="ASCEND_HOME_PATH is not set"):
        scaled_sum()


def test_tensors_of_another_device(machine: NpuDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their device is the current one while the kernel is queued, and the one before it after."""
    kernel, (a, s, b) = scaled_sum(), inputs()
    seen: list[tuple[int, torch.device]] = []

    def stream_of(device: torch.device) -> object:
        seen.append((machine.npu.current_device(), device))
        return current()

    current = machine.npu.current_stream
    second = torch.device("cpu", 1)
    call = kernel._binder.bind((a, s, b))
    monkeypatch.setattr(machine.npu, "current_stream", stream_of)
    kernel._launch(call._replace(device=second))
    kernel._launch(call)
    assert seen == [(1, second), (0, torch.device("cpu"))]
    assert machine.npu.current_device() == 0
    machine.npu.synchronize()


@pytest.mark.parametrize("call", ["launch", "rtGetC2cCtrlAddr"])
def test_errors_of_the_runtime_library(machine: NpuDouble, call: str) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    for _ in range(3):  # by Python, and then as remembered
        machine.calls()
        machine.runtime.fail_next(call, 107003)
        with pytest.raises(BuildError) as error:
            kernel(a, s, b)
        found = error.value
        assert found.slug == "npu-launch" and found.loc is not None and found.loc.line > 1
        assert "`scaled_sum`: error 107003, the stream is one of another device" in found.message
        assert f"{call} failed in the double" in found.message
        assert found.hint == "give a stream of the tensors' device"
        # Cores that can not signal each other are not started.
        assert bool(launches(machine.calls())) == (call == "launch")
        c = kernel(a, s, b)  # and the next call is as any other
        machine.npu.synchronize()
        assert torch.equal(c, expected(a, s, b))


def test_an_unknown_code_and_what_others_left(machine: NpuDouble) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    machine.runtime.fail_next("aclrtCreateEvent", 207007)
    with pytest.raises(RuntimeError, match="207007"):
        machine.npu.Event()
    kernel(a, s, b)
    machine.runtime.fail_next("launch", 599999)
    with pytest.raises(BuildError, match="error 599999, launch failed in the double") as error:
        kernel(a, s, b)
    assert "rt_error_codes.h" in str(error.value.hint)
    machine.npu.synchronize()


def test_calls_are_remembered(machine: NpuDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    for _ in range(2):
        kernel(a, s, b)
    machine.npu.synchronize()
    assert kernel._repeat is not None

    def by_python(self: JITKernel, *arguments: object) -> None:
        raise AssertionError("the call is not the remembered one")

    monkeypatch.setattr(type(kernel._launch), "__call__", by_python)
    side = machine.npu.Stream()
    machine.calls()
    machine.npu.memory.held.clear()
    with machine.npu.stream(side):
        c = kernel(b, s, a)
    calls = machine.calls()
    (launched,) = launches(calls)
    assert int(launched[2], 16) == side.npu_stream
    assert int(launched[3]) == b.data_ptr() and int(launched[7]) == c.data_ptr()
    assert machine.npu.memory.streams() == [side, side]
    assert not any("Synchronize" in call for call in calls)
    side.synchronize()
    assert torch.equal(c, expected(b, s, a))


def test_a_graph_holds_launches(machine: NpuDouble) -> None:
    """While a stream is captured nothing runs and nothing that can not be captured is called; a
    replay does it all with the same memory."""
    kernel, (a, s, b) = scaled_sum(), inputs()
    for calls_before in (1, 2):  # the captured call by Python, and as remembered
        for _ in range(calls_before):
            kernel(a, s, b)
        machine.npu.synchronize()
        graph = machine.npu.NPUGraph()
        machine.calls()
        with machine.npu.graph(graph):
            first = kernel(a, s, b)
            second = kernel(first, s, b)
        assert len(launches(calls := machine.calls())) == 2
        assert not any("Synchronize" in call for call in calls)
        machine.npu.synchronize()
        for _ in range(2):
            a.copy_(torch.randn(M, N))
            graph.replay()
            machine.npu.synchronize()
            assert torch.equal(second, expected(expected(a, s, b), s, b))


@pytest.mark.vendor
def test_the_doubled_calls_are_the_vendors(tmp_path: Path) -> None:
    """CANN's headers declare the same functions with the same types."""
    home = Path(vendor_headers.toolkit()) / "aarch64-linux"
    double = Path(npu_double.__file__).parent
    header = tmp_path / "npu_double.h"
    shutil.copy(double / "include" / header.name, header)
    folders = (tmp_path, *(home / folder for folder in INCLUDES), include_directory())
    command = ["g++", "-std=c++17", "-fsyntax-only", *(f"-I{folder}" for folder in folders)]
    for source in (double / "runtime.cpp", DEVICE_HEADER_DIR / "tile" / "launch.h"):
        done = subprocess.run([*command, str(source)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_waiting_inside_a_capture_is_an_error(machine: NpuDouble) -> None:
    """The double refuses what the device refuses, so that the test above can fail."""
    with machine.npu.graph(machine.npu.NPUGraph()), pytest.raises(RuntimeError, match="107030"):
        machine.npu.current_stream().synchronize()


def test_times_are_those_of_events(machine: NpuDouble) -> None:
    kernel, (a, s, b) = scaled_sum(), inputs()
    # Every kernel of the double takes a millisecond.
    assert do_bench(lambda: kernel(a, s, b), warmup=2, rep=3) == 1.0
    assert do_bench(lambda: [kernel(a, s, b) for _ in range(3)], warmup=2, rep=3) == 3.0
    assert kernel.get_profiler().do_bench(warmup=1, rep=2, input_tensors=[a, s, b]) == 1.0
    calls = machine.calls()
    assert calls.count("aclrtRecordEvent") == 2 * calls.count("aclrtEventElapsedTime")
