"""Kernels on an Ascend NPU: compiled by bisheng, launched on torch_npu's current stream."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import torch

from tile_ir import BuildError, CallError, Func, Target
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices.cann import cann_home, find_device_compiler
from tile_runtime.devices.compile_device import FLAGS, device_command
from tile_runtime.devices.compile_host import run_compiler
from tile_runtime.devices.device import KernelFiles, KernelLaunch
from tile_runtime.devices.launch_errors import launch_error
from tile_runtime.devices.shmem_library import asks_for_rank, shmem_identity, shmem_started
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.call_plan import CallPlan
from tile_runtime.launcher.native import extension
from tile_runtime.launcher.remember_call import Repeat, remember_call
from tile_runtime.launcher.signature import Signature, launcher_kinds


@dataclass
class NpuDevice:
    """The NPU `torch.npu` is set to; `flags` follow those every kernel is compiled with, so that
    of two that contradict each other theirs holds."""

    flags: tuple[str, ...] = ()
    name: ClassVar[str] = "npu"
    device_type: ClassVar[str] = "npu"

    def identity(self) -> str:
        words = (compiler_identity(find_device_compiler()), *FLAGS, *self.flags, shmem_identity())
        return " ".join(words)

    def prepare(self) -> None:
        """CANN has everything."""

    def compile(self, sources: Sequence[Path], output: Path, headers: Path, target: Target) -> None:
        command = device_command(
            find_device_compiler(), sources, output, [headers], cann_home(), target, self.flags
        )
        run_compiler(command, sources[0].name)

    def load(
        self, files: KernelFiles, signature: Signature, func: Func, target: Target
    ) -> KernelLaunch:
        kinds = launcher_kinds(signature)
        try:
            kernel = extension().Kernel(str(files.library), "tile_entry", kinds, simulated=False)
        except RuntimeError as error:
            raise BuildError("kernel-load", f"{files.library} can not be loaded: {error}") from None
        return _NpuLaunch(kernel, func, asks_for_rank(files.source))


class _NpuLaunch:
    """Queues a kernel on torch_npu's current stream of the tensors' device, and waits for nothing.

    torch's allocator provides the memory of a call, and gives memory of a stream to that stream
    alone until its work is done. So outputs and workspaces are allocated while the stream that the
    kernel runs on is the current one (`on_stream`), and may be dropped as soon as it is queued.
    `npu_stream` hands over the operations of torch that still wait in the host's task queue.
    """

    def __init__(self, kernel: Any, func: Func, ranked: bool) -> None:
        self._kernel = kernel
        self._func = func
        self._ranked = ranked

    def on_stream(self, stream: Any) -> AbstractContextManager[Any]:
        """Stream, or the number of one, on which kernels are queued meanwhile."""
        npu = _torch_npu()
        if not isinstance(stream, int):
            return npu.stream(stream)  # type: ignore[no-any-return]
        if stream == npu.current_stream().npu_stream:
            return nullcontext()
        if not hasattr(npu, "ExternalStream"):
            raise CallError(
                "call-stream",
                f"stream {stream} is a number, which this torch_npu makes no stream of",
                self._func.loc,
                "pass a torch.npu.Stream, or call the kernel inside `with torch.npu.stream(s):`",
                sources=self._func.sources,
            )
        return npu.stream(npu.ExternalStream(stream))  # type: ignore[no-any-return]

    def remember(
        self, binder: ArgumentBinder, plan: CallPlan, arguments: tuple[Any, ...]
    ) -> Repeat | None:
        """Calls like one with these arguments, while their device is the current one."""
        module, npu, device = extension(), _torch_npu(), plan.device

        def finish(call: Bound, error: Any, text: str) -> None:
            raise launch_error(error.kind, error.text, self._func)

        def stream() -> int | None:
            elsewhere = device.index not in (None, npu.current_device())
            return None if elsewhere else npu.current_stream().npu_stream

        kernel = self._kernel
        return remember_call(module, kernel, binder, plan, arguments, finish, stream)

    def __call__(self, call: Bound) -> None:
        """Queue the kernel. Raises BuildError with the message of the runtime library if it refuses
        the kernel, and CallError for a kernel that uses its rank in a process without one."""
        if self._ranked and not shmem_started():
            what = f"`{self._func.name}` uses its rank, and this process is no rank"
            hint = (
                "start a process for each device by torchrun, which calls tile_runtime.init_ranks"
            )
            raise CallError("ranks", what, self._func.loc, hint, sources=self._func.sources)
        npu, device = _torch_npu(), call.device
        elsewhere = device.index not in (None, npu.current_device())
        with npu.device(device) if elsewhere else nullcontext():
            stream = npu.current_stream(device).npu_stream
            error, _ = self._kernel.run(call.values, None, (), stream)
        if error is not None:
            raise launch_error(error.kind, error.text, self._func)


def _torch_npu() -> Any:
    """`torch.npu`, which torch_npu adds."""
    return torch.npu  # type: ignore[attr-defined]
