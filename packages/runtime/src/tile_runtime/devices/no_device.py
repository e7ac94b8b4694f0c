"""Emit the sources of kernels where no device runs them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from tile_ir import Func, KernelError, Target
from tile_runtime.devices.device import KernelFiles, KernelLaunch
from tile_runtime.launcher.bind_arguments import ArgumentBinder, Bound
from tile_runtime.launcher.call_plan import CallPlan
from tile_runtime.launcher.remember_call import Repeat
from tile_runtime.launcher.signature import Signature


class NoDevice:
    """Compiles nothing; its tensors are those of the host."""

    name = "none"
    device_type = "cpu"

    def identity(self) -> str:
        return ""

    def prepare(self) -> None:
        """There is nothing to prepare."""

    def compile(self, sources: Sequence[Path], output: Path, headers: Path, target: Target) -> None:
        output.touch()

    def load(
        self, files: KernelFiles, signature: Signature, func: Func, target: Target
    ) -> KernelLaunch:
        return NoLaunch(func)


class NoLaunch:
    """Refuses to run a kernel."""

    def __init__(self, func: Func) -> None:
        self._func = func

    def __call__(self, call: Bound) -> None:
        raise KernelError(
            "not-run",
            f"`{self._func.name}` is compiled but not run: the switch target is none",
            self._func.loc,
            "unset TILE_TARGET to run it",
            sources=self._func.sources,
        )

    def on_stream(self, stream: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def remember(
        self, binder: ArgumentBinder, plan: CallPlan, arguments: tuple[Any, ...]
    ) -> Repeat | None:
        return None
