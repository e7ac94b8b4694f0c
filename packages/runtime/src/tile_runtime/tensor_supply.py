"""Input tensors for a kernel nobody has given any: what a profiler runs it with."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tile_ir import KernelError
from tile_runtime.check_arguments import TORCH_DTYPES
from tile_runtime.signature import TensorParam

if TYPE_CHECKING:
    import torch

    from tile_runtime.kernel import JITKernel


class TensorSupplyType(Enum):
    """How inputs are filled; `Auto` is small random numbers that suit the type."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


_SEED = 0
# Small, so that sums of products stay exact in 16 bits where they can be.
_LARGEST_INTEGER = 4


def supply_tensors(
    kernel: JITKernel, supply: TensorSupplyType = TensorSupplyType.Auto
) -> list[torch.Tensor]:
    """One tensor for each input of the kernel, the same ones at every call.

    Raises KernelError when a shape is not known before the call or a parameter is a scalar.
    """
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    return [_filled(p, supply, generator).to(kernel.device_type) for p in input_shapes(kernel)]


def input_shapes(kernel: JITKernel) -> list[TensorParam]:
    """The tensors a caller passes. KernelError if one has no size yet."""
    given = {*kernel.out_idx, *kernel.workspace_idx}
    declared = len(kernel.prim_func.params)
    found: list[TensorParam] = []
    for i, param in enumerate(kernel.params[:declared]):
        if i in given:
            continue
        if not isinstance(param, TensorParam) or not all(isinstance(d, int) for d in param.dims):
            raise KernelError(
                "no-tensor-supply",
                f"`{param.name}` of `{kernel.prim_func.name}` has no size or value before the call",
                kernel.prim_func.loc,
                "pass the inputs: input_tensors=[...] or supply_prog=...",
                sources=kernel.prim_func.sources,
            )
        found.append(param)
    return found


def _filled(param: TensorParam, supply: TensorSupplyType, generator: Any) -> torch.Tensor:
    import torch

    shape = [int(d) for d in param.dims if isinstance(d, int)]
    dtype = TORCH_DTYPES[param.dtype.name]
    if supply is TensorSupplyType.Zero:
        return torch.zeros(shape, dtype=dtype)
    if supply is TensorSupplyType.One:
        return torch.ones(shape, dtype=dtype)
    if supply is TensorSupplyType.Integer or not dtype.is_floating_point:
        low = 0 if dtype in (torch.bool, torch.uint8) else -_LARGEST_INTEGER
        high = 2 if dtype is torch.bool else _LARGEST_INTEGER + 1
        return torch.randint(low, high, shape, generator=generator).to(dtype)
    if supply is TensorSupplyType.Uniform:
        return (torch.rand(shape, generator=generator) * 2 - 1).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)
