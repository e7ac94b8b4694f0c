"""Stores that the NPU takes where torch on the cpu refuses them: of a tensor to a place of its own
memory, and of a number that wraps in the type of the tensor."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tile_runtime.host_npu.residence import copied

_REFUSAL = "refer to a single memory location"
_OVERFLOW = "without overflow"


def accept_overlapping_stores() -> None:
    """`x[...] = y` reads all of `y` before it writes, and a whole number wraps, from now on."""
    original = torch.Tensor.__setitem__

    @functools.wraps(original)
    def store(self: torch.Tensor, index: Any, value: Any) -> None:
        try:
            original(self, index, value)
        except RuntimeError as error:
            if _REFUSAL in str(error) and isinstance(value, torch.Tensor):
                original(self, index, copied(value))
            elif _OVERFLOW in str(error) and isinstance(value, int):
                original(self, index, torch.tensor(value).to(self.dtype))
            else:
                raise

    torch.Tensor.__setitem__ = store  # type: ignore[method-assign, assignment]
