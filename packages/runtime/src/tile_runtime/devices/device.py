"""The interface of devices, which compile, load and run kernels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tile_ir import Func, Target
from tile_ir.quick_dataclasses import dataclass

if TYPE_CHECKING:
    from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
    from tile_runtime.launcher.call_plan import CallPlan
    from tile_runtime.launcher.remember_call import Repeat
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


class KernelLaunch(Protocol):
    """Runs a loaded kernel once: the simulator to its end, an NPU until it is queued."""

    def __call__(self, call: Bound) -> None: ...

    def on_stream(self, stream: Any) -> AbstractContextManager[Any]:
        """While it is entered, calls are queued on a stream, and allocate there."""

    def remember(
        self, binder: ArgumentBinder, plan: CallPlan, arguments: tuple[Any, ...]
    ) -> Repeat | None:
        """Return a faster path for calls like one with these arguments, as long as no observer and
        no stream is set; None if there is none."""


class Device(Protocol):
    """Compiles, loads and runs kernels. `device_type` is torch's word for it."""

    @property
    def name(self) -> str: ...

    @property
    def device_type(self) -> str: ...

    def identity(self) -> str:
        """Everything besides the sources and the chip that decides what `compile` makes."""

    def prepare(self) -> None:
        """Make what all kernels need, once for this machine; it may take a while, and says so.
        BuildError if it can not be made."""

    def compile(self, sources: Sequence[Path], output: Path, headers: Path, target: Target) -> None:
        """Make a shared object of sources that include from `headers`, for a chip. BuildError if
        the compiler is missing or fails."""

    def load(
        self, files: KernelFiles, signature: Signature, func: Func, target: Target
    ) -> KernelLaunch:
        """Load a shared object. BuildError if it can not be loaded."""
