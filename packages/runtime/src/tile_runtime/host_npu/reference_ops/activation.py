"""Activation functions and their gradients."""

from __future__ import annotations

import torch
from torch.nn import functional

_FAST_GELU = 1.702


def npu_gelu(input: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    return functional.gelu(input.float(), approximate=approximate).to(input.dtype)


def npu_gelu_backward(
    dy: torch.Tensor, self: torch.Tensor, *, approximate: str = "none"
) -> torch.Tensor:
    gradient = torch.ops.aten.gelu_backward(dy.float(), self.float(), approximate=approximate)
    return gradient.to(self.dtype)  # type: ignore[no-any-return]


def npu_fast_gelu(input: torch.Tensor) -> torch.Tensor:
    x = input.float()
    return (x * torch.sigmoid(_FAST_GELU * x)).to(input.dtype)


def npu_silu(input: torch.Tensor) -> torch.Tensor:
    return functional.silu(input.float()).to(input.dtype)


def npu_swiglu(self: torch.Tensor, dim: int = -1) -> torch.Tensor:
    gate, value = self.float().chunk(2, dim)
    return (functional.silu(gate) * value).to(self.dtype)


def npu_swiglu_backward(
    grad_output: torch.Tensor, self: torch.Tensor, dim: int = -1
) -> torch.Tensor:
    gate, value = self.float().chunk(2, dim)
    # Scripts pass longer gradients: the device reads as many elements as there are, in a row.
    grad = grad_output.float().flatten()[: gate.numel()].view(gate.shape)
    sigmoid = torch.sigmoid(gate)
    grad_gate = grad * value * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat([grad_gate, grad * gate * sigmoid], dim).to(self.dtype)
