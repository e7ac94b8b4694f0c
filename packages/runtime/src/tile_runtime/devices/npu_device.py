"""Kernels on an Ascend NPU: compiled by bisheng, launched on torch_npu's current stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tile_ir import BuildError, Func, Target
from tile_runtime.cache.fingerprint import compiler_identity
from tile_runtime.devices.compile_device import (
    FLAGS,
    cann_home,
    device_command,
    find_device_compiler,
)
from tile_runtime.devices.compile_host import run_compiler
from tile_runtime.devices.device import KernelFiles, Launch
from tile_runtime.launcher.bind_arguments import Bound
from tile_runtime.launcher.native import extension
from tile_runtime.launcher.signature import Signature, TensorParam, launcher_kinds


@dataclass
class NpuDevice:
    """The NPU `torch.npu` is set to; `flags` follow those every kernel is compiled with, so that
    of two that contradict each other theirs holds."""

    flags: tuple[str, ...] = ()
    name: str = "npu"
    device_type: str = "npu"

    def identity(self) -> str:
        return f"{compiler_identity(find_device_compiler())} {' '.join((*FLAGS, *self.flags))}"

    def prepare(self) -> None:
        """CANN has everything."""

    def compile(
        self, sources: Sequence[Path], output: Path, headers: Path, target: Target
    ) -> None:
        command = device_command(
            find_device_compiler(), sources, output, [headers], cann_home(), target, self.flags
        )
        run_compiler(command, sources[0].name)

    def load(self, files: KernelFiles, signature: Signature, func: Func, target: Target) -> Launch:
        module = extension()
        if module is not None:
            try:
                kernel = module.Kernel(
                    str(files.library), "tile_entry", launcher_kinds(signature), simulated=False
                )
            except RuntimeError as error:
                what = f"{files.library} can not be loaded: {error}"
                raise BuildError("kernel-load", what) from None

            def enter(values: tuple[Any, ...], stream: int) -> None:
                error, _ = kernel.run(values, None, (), stream)
                if error is not None:
                    raise RuntimeError(error.text)

            return _NpuLaunch(enter)
        try:
            entry = ctypes.CDLL(str(files.library)).tile_entry
        except (OSError, AttributeError) as error:
            raise BuildError("kernel-load", f"{files.library} can not be loaded: {error}") from None
        return _NpuLaunch(_CtypesEntry(entry, signature))


class _NpuLaunch:
    """Queues a kernel on a stream, and waits for nothing."""

    def __init__(self, enter: Callable[[tuple[Any, ...], int], object]) -> None:
        self._enter = enter

    def remember(self, *described: Any) -> None:
        """Calls on a device are made by Python."""

    def native(self, call: Bound) -> Callable[[], object]:
        return lambda: self._enter(call.values, 0)

    def __call__(self, call: Bound, stream: Any) -> None:
        npu: Any = torch.npu  # type: ignore[attr-defined]
        queue = stream if stream is not None else npu.current_stream(call.device)
        self._enter(call.values, getattr(queue, "npu_stream", queue))


class _CtypesEntry:
    """Where Python's headers are missing: calls `tile_entry(void** args, void* stream)`; args[i]
    points at the i-th value."""

    def __init__(self, entry: Any, signature: Signature) -> None:
        entry.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        entry.restype = None
        self._entry = entry
        self._cells: list[Any] = [
            ctypes.c_void_p if isinstance(p, TensorParam) else _SCALARS[p.dtype.name]
            for p in signature.params
        ] + [ctypes.c_int64 for _ in signature.symbols]

    def __call__(self, values: tuple[Any, ...], stream: int) -> None:
        cells = [cell(value) for cell, value in zip(self._cells, values, strict=True)]
        array = (ctypes.c_void_p * max(len(cells), 1))(*(ctypes.addressof(c) for c in cells))
        self._entry(array, stream)


# float16 and bfloat16 scalars travel as float; the entry converts.
_SCALARS: dict[str, Any] = {
    "int8": ctypes.c_int8, "int16": ctypes.c_int16, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32, "uint64": ctypes.c_uint64, "bool": ctypes.c_bool,
    "float16": ctypes.c_float, "bfloat16": ctypes.c_float, "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}  # fmt: skip
