"""Stores of a tensor to a place of its own memory, which the NPU takes as they come where torch on
the cpu refuses them."""

from __future__ import annotations

import functools
from typing import Any

import torch

from tile_runtime.host_npu.residence import copied

_REFUSAL = "refer to a single memory location"


def accept_overlapping_stores() -> None:
    """`x[...] = y` reads all of `y` before it writes, from now on."""
    original = torch.Tensor.__setitem__

    @functools.wraps(original)
    def store(self: torch.Tensor, index: Any, value: Any) -> None:
        try:
            original(self, index, value)
        except RuntimeError as error:
            if _REFUSAL not in str(error) or not isinstance(value, torch.Tensor):
                raise
            original(self, index, copied(value))

    torch.Tensor.__setitem__ = store  # type: ignore[method-assign, assignment]
