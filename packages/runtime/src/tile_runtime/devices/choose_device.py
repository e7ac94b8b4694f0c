"""Which device kernels are for, the simulator or an NPU if there is one, and which chip that is."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from tile_ir import BuildError
from tile_ir.switches import is_chosen, switch
from tile_runtime.devices.device import Device

NO_DEVICE = "torch_npu sees no device"


def current_device(compile_flags: Sequence[str] = (), simulate: bool = False) -> Device:
    """The device that the switch `target` chooses, unless the caller sets `simulate`;
    `auto` is the NPU if there is one, `none` no device at all. The flags are for the
    compiler of an NPU.

    Raises BuildError if the switch names an NPU and there is none.
    """
    if switch("target") == "none":
        from tile_runtime.devices.no_device import NoDevice

        return NoDevice()
    if _simulated(simulate):
        from tile_runtime.devices.simulator_device import SimulatorDevice

        return SimulatorDevice()
    problem = npu_problem()
    if problem is not None:
        raise BuildError(
            "no-npu",
            f"the switch target requires an npu, but {problem}",
            hint="unset TILE_TARGET or set it to sim",
        )
    from tile_runtime.devices.npu_device import NpuDevice

    return NpuDevice(tuple(compile_flags))


def chip_name(simulate: bool = False) -> str:
    """The chip to compile for: that of the switch `soc`. If the switch is not set and the device is
    an NPU, the device's own."""
    if is_chosen("soc") or _simulated(simulate) or not npu_available():
        return str(switch("soc"))
    import torch

    npu: Any = vars(torch)["npu"]  # torch_npu adds it
    return str(npu.get_device_name())


def _simulated(simulate: bool) -> bool:
    wanted = "sim" if simulate else switch("target")
    return wanted in ("sim", "none") or (wanted == "auto" and not npu_available())


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
        return NO_DEVICE
    return None
