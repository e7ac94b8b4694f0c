"""Where kernels run: what a device is, and the choice between simulator and NPU."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tile_ir import BuildError, Func, Target
from tile_ir.switches import switch

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import Bound
    from tile_runtime.launcher.signature import Signature


@dataclass(frozen=True, slots=True)
class KernelFiles:
    """Files of a compiled kernel, all in one folder; `suffix` is that of its sources."""

    folder: Path
    suffix: str

    @property
    def source(self) -> Path:
        return self.folder / f"kernel{self.suffix}"

    @property
    def entry(self) -> Path:
        return self.folder / f"entry{self.suffix}"

    @property
    def library(self) -> Path:
        return self.folder / "kernel.so"

    @property
    def lowered(self) -> Path:
        return self.folder / "kernel.tir"


class Launch(Protocol):
    """Runs a loaded kernel once: the simulator to its end, an NPU until it is queued."""

    def __call__(self, call: Bound, stream: Any) -> None: ...


class Device(Protocol):
    """Compiles, loads and runs kernels. `device_type` is torch's word for it."""

    name: str
    device_type: str

    def identity(self) -> str:
        """Everything besides the sources that decides what `compile` makes."""

    def prepare(self) -> None:
        """Make what all kernels need, once for this machine; it may take a while, and says so.
        BuildError if it can not be made."""

    def compile(self, sources: Sequence[Path], output: Path, headers: Path) -> None:
        """Make a shared object of sources that include from `headers`. BuildError if the compiler
        is missing or fails."""

    def load(self, files: KernelFiles, signature: Signature, func: Func, target: Target) -> Launch:
        """Load a shared object. BuildError if it can not be loaded."""


def current_device(compile_flags: Sequence[str] = (), simulate: bool = False) -> Device:
    """The device the switch `backend` chooses, where the caller does not ask to `simulate`;
    `auto` is the NPU if there is one. The flags are for the compiler of an NPU.

    Raises BuildError when an NPU is asked for and there is none.
    """
    wanted = "simulator" if simulate else switch("backend")
    if wanted == "simulator" or (wanted == "auto" and not npu_available()):
        from tile_runtime.devices.simulator_device import SimulatorDevice

        return SimulatorDevice()
    problem = npu_problem()
    if problem is not None:
        raise BuildError(
            "no-npu",
            f"the switch backend asks for an npu, but {problem}",
            hint="unset TILE_BACKEND or set it to simulator",
        )
    from tile_runtime.devices.npu_device import NpuDevice

    return NpuDevice(tuple(compile_flags))


def npu_available() -> bool:
    """Whether torch_npu is installed and sees a device."""
    return npu_problem() is None


@functools.lru_cache(maxsize=1)
def npu_problem() -> str | None:
    """Why no NPU can be used, or None if one can."""
    if find_spec("torch_npu") is None:
        return "torch_npu is not installed"
    import torch

    try:
        import torch_npu  # noqa: F401
    except (ImportError, OSError, RuntimeError) as error:
        return f"torch_npu can not be imported: {error}"
    npu = getattr(torch, "npu", None)
    if npu is None or not npu.is_available():
        return "torch_npu sees no device"
    return None
