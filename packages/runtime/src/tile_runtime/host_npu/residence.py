"""Which tensors are surely on the device, so that going there once more is no copy.

A mark lies on a storage, which all views share. The result of an operation on marked tensors is not
marked, unless it keeps their memory; other results are copied as if they came from the host.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

_MARK = "_is_on_npu"
_clone = torch.Tensor.clone


def on_device(result: Any) -> Any:
    """The tensor, known to be on the device from now on."""
    if isinstance(result, torch.Tensor) and result.layout is torch.strided:
        setattr(result.untyped_storage(), _MARK, True)
    return result


def is_on_device(tensor: Any) -> bool:
    strided = isinstance(tensor, torch.Tensor) and tensor.layout is torch.strided
    return strided and getattr(tensor.untyped_storage(), _MARK, False)


def copied(tensor: torch.Tensor, **kwargs: Any) -> torch.Tensor:
    """A copy that is nowhere in particular."""
    return _clone(tensor, **kwargs)


def keep_clones_where_they_are() -> None:
    """A clone is on the device if the original is."""

    @functools.wraps(_clone)
    def clone(self: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        result = _clone(self, **kwargs)
        if is_on_device(self):
            on_device(result)
        return result

    torch.Tensor.clone = clone  # type: ignore[method-assign, assignment]
