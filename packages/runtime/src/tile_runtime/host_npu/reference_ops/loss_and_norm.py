"""Cross entropy and normalisation."""

from __future__ import annotations

import torch
from torch.nn import functional


def npu_cross_entropy_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    lse_square_scale_for_zloss: float = 0.0,
    return_zloss: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Loss, logarithms of the probabilities, and two results of the z loss, which are empty."""
    if return_zloss:
        raise NotImplementedError("npu_cross_entropy_loss with return_zloss")
    logarithms = functional.log_softmax(input.float(), -1)
    loss = functional.nll_loss(logarithms, target.long(), weight, ignore_index=ignore_index,
                               reduction=reduction) if label_smoothing == 0 else (
        functional.cross_entropy(input.float(), target.long(), weight, ignore_index=ignore_index,
                                 reduction=reduction, label_smoothing=label_smoothing))  # fmt: skip
    empty = torch.empty(0)
    return loss.to(input.dtype), logarithms.to(input.dtype), empty, empty


def npu_rms_norm(
    self: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6
) -> tuple[torch.Tensor, torch.Tensor]:
    """The normalised tensor and one over the root of the mean square."""
    x = self.float()
    axes = tuple(range(-gamma.dim(), 0))
    scale = torch.rsqrt(x.square().mean(axes, keepdim=True) + epsilon)
    return (x * scale * gamma.float()).to(self.dtype), scale
