"""Results as types, shapes and bytes: what one process hands to another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

Array = np.ndarray[Any, Any]
# Types that NumPy lacks, or has with bytes of its own.
_WORDS = {"bfloat16": np.uint16, "bool": np.uint8}


def packed(tensors: Sequence[Any]) -> tuple[list[dict[str, Any]], bytes]:
    """Tensors as types and shapes, and their bytes one after the other; numbers as values."""
    described: list[dict[str, Any]] = []
    parts: list[bytes] = []
    for tensor in tensors:
        if isinstance(tensor, (bool, int, float)):
            described.append({"dtype": type(tensor).__name__, "value": tensor})
            continue
        plain = tensor.detach().to("cpu").contiguous()
        described.append(
            {"dtype": str(plain.dtype).removeprefix("torch."), "shape": [*plain.shape]}
        )
        parts.append(_bytes_of(plain))
    return described, b"".join(parts)


def _bytes_of(tensor: torch.Tensor) -> bytes:
    import torch

    if tensor.numel() == 0:
        return b""
    return tensor.reshape(-1).view(torch.uint8).numpy().tobytes()


def unpacked(described: Sequence[Mapping[str, Any]], data: bytes) -> list[tuple[str, Array]]:
    """The arrays, with the names of their types. ValueError where the bytes are not theirs."""
    found: list[tuple[str, Array]] = []
    offset = 0
    for one in described:
        name, shape = str(one["dtype"]), [int(n) for n in one["shape"]]
        dtype = np.dtype(_WORDS.get(name, name))
        count = math.prod(shape)
        array = np.frombuffer(data, dtype, count, offset).reshape(shape)
        offset += count * dtype.itemsize
        found.append((name, array))
    if offset != len(data):
        raise ValueError("results have other bytes than their shapes say")
    return found
