"""`torch_npu` and `torch.ops.npu`: the operations in `reference_ops`, under both names."""

from __future__ import annotations

from types import ModuleType

from tile_runtime.host_npu.device_module import StandIn
from tile_runtime.host_npu.reference_ops import activation, attention, experts, loss_and_norm

OPERATIONS = {
    name: value
    for room in (activation, attention, experts, loss_and_norm)
    for name, value in vars(room).items()
    if name.startswith("npu_")
}


def npu_operations() -> ModuleType:
    """`torch.ops.npu`."""
    module = StandIn("torch.ops.npu", "Operations of torch_npu, computed on the host.")
    vars(module).update(OPERATIONS)
    return module


def torch_npu_module(npu: ModuleType) -> ModuleType:
    """`torch_npu`, whose `npu` is `torch.npu`."""
    module = StandIn("torch_npu", "torch_npu where there is no NPU.")
    vars(module).update(OPERATIONS, npu=npu, __version__="0")
    return module
