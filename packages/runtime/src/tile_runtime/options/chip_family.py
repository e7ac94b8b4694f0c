"""Which family of chips to compile for: A2, A3 or A5 (docs/language/index.md#entry-points)."""

from __future__ import annotations

import os
from typing import Any

from tile_ir import TARGETS
from tile_ir.switches import switch
from tile_runtime.options.code_generators import usual_target

# The beginning of a device name, and its family; the first that fits counts.
_FAMILIES = (
    ("Ascend950", "A5"), ("Ascend910_95", "A5"), ("Ascend910_93", "A3"), ("Ascend910C", "A3"),
    ("Ascend910", "A2"),
)  # fmt: skip
_UNKNOWN = "A3"  # where nothing tells the device (docs/language/index.md#entry-points)


def determine_platform(platform: str = "auto") -> str:
    """The family a script means: what it says, else TL_PLATFORM, else that of the device, which is
    the chip of the switch `soc` where there is no NPU."""
    if platform != "auto":
        return platform
    named = os.environ.get("TL_PLATFORM")
    if named:
        return named
    name = device_name()
    return family_of(name) if name is not None else _UNKNOWN


def determine_target(target: str = "auto", return_object: bool = False) -> str:
    """The target a script means: what it says, else the one whose source is emitted for "auto"."""
    return usual_target() if target == "auto" else target


def device_name() -> str | None:
    """The name of `torch.npu`'s device, None if it reports none; without `torch.npu` the simulated
    chip's name."""
    import torch

    npu: Any = getattr(torch, "npu", None)  # torch_npu adds it, or the stand-in for scripts
    if npu is None:
        return str(switch("soc"))
    return str(npu.get_device_properties(0).name) if npu.is_available() else None


def family_of(name: str) -> str:
    """The family of a chip by its name; A3 for one that is not known."""
    if name in TARGETS:
        return TARGETS[name].architecture
    return next((family for start, family in _FAMILIES if name.startswith(start)), _UNKNOWN)
