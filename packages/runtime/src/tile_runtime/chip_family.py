"""Which family of chips to compile for: A2, A3 or A5 (language.md, section 3.20)."""

from __future__ import annotations

import os
from typing import Any

from tile_ir import TARGETS
from tile_ir.switches import switch
from tile_runtime.backend import npu_available

# The beginning of a device name, and its family; the first that fits counts.
_FAMILIES = (
    ("Ascend950", "A5"), ("Ascend910_95", "A5"), ("Ascend910_93", "A3"), ("Ascend910C", "A3"),
    ("Ascend910", "A2"),
)  # fmt: skip


def determine_platform(platform: str = "auto") -> str:
    """The family a script means: what it says, else TL_PLATFORM, else that of the device, which is
    the chip of the switch `soc` where there is no NPU."""
    if platform != "auto":
        return platform
    named = os.environ.get("TL_PLATFORM")
    if named:
        return named
    return family_of(device_name())


def device_name() -> str:
    """The name of the NPU, or of the chip that is simulated."""
    if not npu_available():
        return str(switch("soc"))
    import torch

    npu: Any = vars(torch)["npu"]  # torch_npu adds it
    return str(npu.get_device_name())


def family_of(name: str) -> str:
    """The family of a chip by its name; A3 for one that is not known."""
    if name in TARGETS:
        return TARGETS[name].architecture
    return next((family for start, family in _FAMILIES if name.startswith(start)), "A3")
