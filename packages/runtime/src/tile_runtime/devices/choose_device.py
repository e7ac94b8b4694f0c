"""Which device kernels are for: the simulator, or an NPU if there is one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib.util import find_spec

from tile_ir import BuildError
from tile_ir.switches import switch
from tile_runtime.devices.device import Device


def current_device(compile_flags: Sequence[str] = (), simulate: bool = False) -> Device:
    """The device the switch `target` chooses, where the caller does not ask to `simulate`;
    `auto` is the NPU if there is one. The flags are for the compiler of an NPU.

    Raises BuildError when an NPU is asked for and there is none.
    """
    wanted = "sim" if simulate else switch("target")
    if wanted == "sim" or (wanted == "auto" and not npu_available()):
        from tile_runtime.devices.simulator_device import SimulatorDevice

        return SimulatorDevice()
    problem = npu_problem()
    if problem is not None:
        raise BuildError(
            "no-npu",
            f"the switch target asks for an npu, but {problem}",
            hint="unset TILE_TARGET or set it to sim",
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
