"""The options that `jit` and `compile` share, and the chip that they choose."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tile_ir import TARGETS, KernelError, Target, did_you_mean
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.devices.choose_device import chip_name, current_device
from tile_runtime.devices.device import Device

Indices: TypeAlias = "int | Sequence[int] | None"
Flags: TypeAlias = "Sequence[str] | str | None"

# How kernels of other systems are called from Python; here there is one way.
_BACKENDS = ("auto", "cython", "ctypes", "nvrtc", "torch", "tvm_ffi", "dlpack")


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Arguments `jit` and `compile` share."""

    out_idx: Indices = None
    workspace_idx: Indices = None
    target: str = "auto"
    platform: str = "auto"
    execution_backend: str = "cython"
    verbose: bool = False
    pass_configs: Mapping[Any, Any] | None = None
    debug_root_path: str | os.PathLike[str] | None = None
    # Further options of the device compiler; the simulator has no use for them.
    compile_flags: Flags = None
    run_mode: str | None = None


def resolve_target(options: CompileOptions) -> Target:
    """The chip to compile for: that of the switch `soc` or of the device, or the first of the
    platform's family.

    Raises KernelError for what this compiler does not make.
    """
    if options.execution_backend not in _BACKENDS:
        raise KernelError(
            "execution-backend",
            f"execution_backend {options.execution_backend!r} is not supported, expected 'cython'",
            hint="leave it out; TILE_TARGET chooses between sim and npu",
        )
    soc = chip_name(simulate=options.run_mode == "sim")
    if soc not in TARGETS:
        raise KernelError(
            "soc",
            f"the switch soc or the device is {soc!r}, which is not in the chip table",
            hint=did_you_mean(soc, TARGETS) or f"one of {', '.join(TARGETS)}",
        )
    target = TARGETS[soc]
    if options.platform in ("auto", target.architecture):
        return target
    for candidate in TARGETS.values():
        if candidate.architecture == options.platform:
            return candidate
    families = sorted({t.architecture for t in TARGETS.values()})
    raise KernelError(
        "platform",
        f"platform {options.platform!r} is not supported, "
        f"expected 'auto', {' or '.join(repr(f) for f in families)}",
    )


def device_of(options: CompileOptions) -> Device:
    """Where the kernel runs, and with which options of its compiler it is made."""
    if options.run_mode not in (None, "auto", "npu", "sim"):
        raise KernelError(
            "run-mode",
            f"run_mode {options.run_mode!r} is not supported, expected 'npu' or 'sim'",
            hint="leave it out; TILE_TARGET chooses between sim and npu",
        )
    flags = options.compile_flags or ()
    words = tuple(shlex.split(flags) if isinstance(flags, str) else flags)
    if not all(isinstance(word, str) for word in words):
        raise KernelError(
            "compile-flags",
            f"compile_flags is {flags!r}, expected a string or a list of strings",
        )
    return current_device(words, simulate=options.run_mode == "sim")
