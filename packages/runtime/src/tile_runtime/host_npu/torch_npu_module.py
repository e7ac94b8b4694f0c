"""`torch_npu` and `torch.ops.npu`: the operations in `reference_ops`, under both names."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tile_ir import did_you_mean
from tile_runtime.host_npu.device_module import StandIn
from tile_runtime.host_npu.reference_ops import (
    activation,
    attention,
    experts,
    inference,
    loss_and_norm,
)

OPERATIONS = {
    name: value
    for room in (activation, attention, experts, inference, loss_and_norm)
    for name, value in vars(room).items()
    if name.startswith("npu_")
}


class Operations(StandIn):
    """A module of operations; a missing one raises an error that names the operation."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("npu_", "_npu_")):
            return super().__getattr__(name)
        hint = did_you_mean(name, OPERATIONS) or "compute the reference with torch"
        raise AttributeError(
            f"the operation {self.__name__}.{name} is not computed where there is no NPU; {hint}"
        )


def npu_operations() -> ModuleType:
    """`torch.ops.npu`."""
    module = Operations("torch.ops.npu", "Operations of torch_npu, computed on the host.")
    vars(module).update(OPERATIONS)
    return module


def torch_npu_module(npu: ModuleType) -> ModuleType:
    """`torch_npu`, whose `npu` is `torch.npu`."""
    module = Operations("torch_npu", "torch_npu where there is no NPU.")
    vars(module).update(OPERATIONS, npu=npu, __version__="0")
    return module
