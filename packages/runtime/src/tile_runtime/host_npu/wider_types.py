"""Element types the NPU takes where torch on the cpu does not."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.nn import functional

# Loss functions whose classes may be of any integer type.
_CLASSIFY = ("cross_entropy", "nll_loss")


def accept_wider_types() -> None:
    """Convert them from now on."""
    for name in _CLASSIFY:
        _accept_int32_classes(name)


def _accept_int32_classes(name: str) -> None:
    original = getattr(functional, name)

    @functools.wraps(original)
    def accepting(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if target.dtype is torch.int32:
            target = target.long()
        return original(input, target, *args, **kwargs)

    setattr(functional, name, accepting)
