"""Whether two runs of a kernel gave the same, up to the rounding of another order or function."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

# Of the largest value. Sums in another order, and functions that another unit computes.
_ALLOWED = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 3e-2, torch.float64: 1e-9}


def difference(found: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]) -> float:
    """The largest difference of any output in shares of what its type allows: at most 1 is right.
    Integers, infinities, and what is no number, are the same or `inf`."""
    if len(found) != len(wanted):
        return math.inf
    return max((_difference(a, b) for a, b in zip(found, wanted, strict=True)), default=0.0)


def _difference(found: torch.Tensor, wanted: torch.Tensor) -> float:
    if found.shape != wanted.shape or found.dtype is not wanted.dtype:
        return math.inf
    if not wanted.is_floating_point():
        same = torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))
        return 0.0 if same else math.inf
    left, right = found.double(), wanted.double()
    finite = right.isfinite()
    if not torch.equal(left.isfinite(), finite):
        return math.inf
    if not torch.equal(left[~finite].nan_to_num(nan=0.5), right[~finite].nan_to_num(nan=0.5)):
        return math.inf
    if not finite.any():
        return 0.0
    apart = (left[finite] - right[finite]).abs().max().item()
    allowed = _ALLOWED[wanted.dtype] * max(right[finite].abs().max().item(), 1e-30)
    return float(apart / allowed)
