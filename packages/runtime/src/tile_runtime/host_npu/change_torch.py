"""Change torch so that the device "npu" is the host."""

from __future__ import annotations

import sys

import torch
from torch.utils.backend_registration import rename_privateuse1_backend

from tile_ir import Target
from tile_runtime.host_npu.arithmetic import calculate_as_an_npu
from tile_runtime.host_npu.cuda_names import lead_cuda_to
from tile_runtime.host_npu.device_arguments import NAMES, lead_device_arguments_to_host
from tile_runtime.host_npu.device_module import npu_module
from tile_runtime.host_npu.process_groups import lead_process_groups_to_host
from tile_runtime.host_npu.tensor_moves import add_tensor_moves
from tile_runtime.host_npu.torch_npu_module import npu_operations, torch_npu_module


def change_torch(target: Target) -> None:
    """Change the torch of this process for good; the device has the properties of a chip."""
    # So that torch.device("npu") exists, which is a value scripts compare and pass on.
    rename_privateuse1_backend("npu")
    lead_device_arguments_to_host()
    add_tensor_moves()
    lead_process_groups_to_host()
    calculate_as_an_npu()
    npu = npu_module(target)
    torch._register_device_module("npu", npu)  # type: ignore[no-untyped-call]
    if "cuda" in NAMES:
        lead_cuda_to(npu)
    sys.modules["torch_npu"] = torch_npu_module(npu)
    torch.ops.npu = npu_operations()  # type: ignore[attr-defined]
