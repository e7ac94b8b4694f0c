"""How a tuner looks for the fastest configuration (docs/use/tuning.md)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from tile_ir import KernelError, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import SWITCHES, override, switch
from tile_runtime.devices.choose_device import current_device
from tile_runtime.devices.device import Device
from tile_runtime.jit_kernels.tensor_supply import TensorSupplyType
from tile_runtime.tuning.trial import Measuring

OBJECTIVES = ("auto", "modelled", "device")
# What decides nothing about a time, only who looks for it and for how long.
_NOT_JUDGING = ("timeout", "executor", "most", "sampler", "objective", "do_not_specialize")


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How candidates are checked and timed; names and defaults are those of
    docs/language/index.md#entry-points. `executor` is "processes", "here", an executor, or what
    has a
    method `get_executor`, such as a client of dask."""

    warmup: float = 25
    rep: float = 100
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Any] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[..., Any] | None = None
    timeout: float = 100
    executor: Executor | Any = "processes"
    objective: str = "auto"
    most: int | None = None
    sampler: str | None = None
    do_not_specialize: tuple[str, ...] = ()

    @property
    def checks(self) -> bool:
        return self.ref_prog is not None and not self.skip_check

    def on_device(self) -> bool:
        """Whether time is that of an NPU. KernelError for an objective that does not exist."""
        if self.objective not in OBJECTIVES:
            raise KernelError(
                "tuning-option", f"objective {self.objective!r} is not one a tuner has",
                hint=did_you_mean(self.objective, OBJECTIVES) or f"one of {', '.join(OBJECTIVES)}",
            )  # fmt: skip
        if self.objective == "auto":
            return current_device().name == "npu"
        return self.objective == "device"

    def device(self) -> Device:
        """Where candidates run. BuildError if that is an NPU and there is none."""
        with override(target=self._target()):
            return current_device()

    def measuring(self) -> Measuring:
        return Measuring(
            self.on_device(), self.warmup, self.rep, self.rtol, self.atol,
            self.max_mismatched_ratio, self.checks and self.manual_check_prog is not None,
        )  # fmt: skip

    def switches(self, apart: bool) -> dict[str, Any]:
        """The current switches, for candidates. Candidates write no files, and a process that is
        ended when its time is up needs no other limit."""
        found = {name: switch(name) for name in SWITCHES}
        timeout = 0 if apart else max(1, round(self.timeout))
        return {**found, "target": self._target(), "timeout": timeout, "timings": "",
                "dump_ir": "", "time": False}  # fmt: skip

    def judged(self) -> str:
        """The options that a time depends on, as text; a function counts by its source, if there is
        one."""
        texts = [f"device={self.on_device()}"]
        for name in sorted(set(self.__dataclass_fields__) - set(_NOT_JUDGING)):
            value = getattr(self, name)
            if callable(value) and not isinstance(value, type):
                try:
                    value = inspect.getsource(value)
                except (OSError, TypeError):
                    value = getattr(value, "__qualname__", type(value).__name__)
            texts.append(f"{name}={value}")
        return "\n".join(texts)

    def _target(self) -> str:
        return "npu" if self.on_device() else "sim"
