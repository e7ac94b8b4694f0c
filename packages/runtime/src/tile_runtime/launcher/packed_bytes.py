"""Tensors of bytes for parameters of four bits: two elements in a byte, the even one in its low
half, as libraries pack them that have no type for it."""

from __future__ import annotations

from typing import Any

import torch

from tile_ir import DType
from tile_runtime.launcher.tensor_memory import seen_bytes

_BYTES = (torch.int8, torch.uint8)
_PER_BYTE = 2


def is_packed(dtype: DType, value: torch.Tensor) -> bool:
    """Whether a tensor for a parameter of this type has its elements in bytes."""
    return dtype.bits * _PER_BYTE == 8 and value.dtype in _BYTES and value.dim() > 0


def sizes_in_elements(dtype: DType, value: torch.Tensor) -> tuple[Any, ...]:
    """The shape of a tensor, counted in elements of the parameter."""
    if not is_packed(dtype, value):
        return tuple(value.shape)
    return (*value.shape[:-1], _PER_BYTE * value.shape[-1])


def bytes_passed(dtype: DType, value: torch.Tensor) -> int:
    """Bytes of a tensor that a kernel sees."""
    return value.numel() if is_packed(dtype, value) else seen_bytes(dtype, value.numel())


def how_to_pass(name: str, dtype: DType, wanted: torch.dtype) -> str:
    """Return the expression that converts a tensor to the parameter's type."""
    if dtype.bits >= 8:
        return f"pass `{name}.to({wanted})`"
    return (
        f"pass `({name}[..., ::2] & 15 | {name}[..., 1::2] << 4).to(torch.int8)`, "
        "two elements in a byte"
    )


def two_in_a_byte(dtype: DType) -> str:
    """Return a note on the sizes of a parameter, if they are not those of its bytes."""
    return "; a tensor of int8 has two elements in each byte" if dtype.bits < 8 else ""
