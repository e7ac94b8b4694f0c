"""`torch.npu` and `torch_npu` on a machine without an NPU: the device "npu" is the host.

Tensors stay on the cpu. Every way to name a device (`device="npu"`, `.npu()`, `.to("npu:0")`,
`torch.set_default_device`, generators) is led there, see `device_arguments`; going to the device
and back copies, see `tensor_moves`. Not here: kernels, which run on the simulator (`devices`).
"""

from __future__ import annotations

import sys

import torch
from torch.utils.backend_registration import rename_privateuse1_backend

from tile_ir import Target
from tile_runtime.host_npu.device_arguments import lead_device_arguments_to_host
from tile_runtime.host_npu.device_module import npu_module
from tile_runtime.host_npu.half_products import speed_up_half_products
from tile_runtime.host_npu.overlapping_stores import accept_overlapping_stores
from tile_runtime.host_npu.rounded_functions import round_functions_once
from tile_runtime.host_npu.tensor_moves import add_tensor_moves
from tile_runtime.host_npu.torch_npu_module import npu_operations, torch_npu_module
from tile_runtime.host_npu.wider_types import accept_wider_types

_done = False


def install(target: Target) -> None:
    """Provide them in this process for good, with the properties of a chip."""
    global _done
    if _done:
        return
    _done = True
    # So that torch.device("npu") exists, which is a value scripts compare and pass on.
    rename_privateuse1_backend("npu")
    lead_device_arguments_to_host()
    add_tensor_moves()
    accept_wider_types()
    accept_overlapping_stores()
    speed_up_half_products()
    round_functions_once()
    npu = npu_module(target)
    torch._register_device_module("npu", npu)  # type: ignore[no-untyped-call]
    sys.modules["torch_npu"] = torch_npu_module(npu)
    torch.ops.npu = npu_operations()  # type: ignore[attr-defined]
