"""Change torch so that the device "npu" is the host."""

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


def change_torch(target: Target) -> None:
    """Change the torch of this process for good; the device has the properties of a chip."""
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
