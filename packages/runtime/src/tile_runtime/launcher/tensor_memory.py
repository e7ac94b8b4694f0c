"""Which tensors have memory of their own that a kernel can read and write, and what to say of those
that have none. Asked only when a call is not like the last one, or its memory can not be had."""

from __future__ import annotations

import torch

from tile_ir import DType


def seen_bytes(dtype: DType, elements: int) -> int:
    """Bytes of a tensor that a kernel sees. Of int4 torch has a byte for each element: the kernel
    has two elements in each, and so the first half of them."""
    return -(-elements * dtype.bits // 8)


def without_memory(value: torch.Tensor) -> tuple[str, str] | None:
    """What the tensor is instead of numbers in memory, and what to do; None if it is just that."""
    if is_fake(value):
        return (
            "a fake tensor, which has a shape and no values",
            "a kernel computes values: call it outside FakeTensorMode, or with real tensors",
        )
    if is_wrapped(value):
        return (
            "a tensor inside a transform of torch.func (vmap, grad, functionalize), which a kernel "
            "can not see through",
            "call the kernel outside the transform; for vmap, give it one more dimension",
        )
    if value.layout is not torch.strided:
        layout = str(value.layout).removeprefix("torch.")
        return f"a tensor of layout {layout}", "pass a dense tensor: `.to_dense()`"
    if value.is_nested:
        return "a nested tensor", "pass a dense tensor: `.to_padded_tensor(0)`"
    if value.is_neg():
        return (
            "a negated view, whose memory holds the values with the other sign",
            "pass `.resolve_neg()`",
        )
    return None


def is_fake(value: torch.Tensor) -> bool:
    """Whether it was made in FakeTensorMode. Its class is loaded only by those who make one."""
    return any(c.__name__ == "FakeTensor" for c in type(value).__mro__)


def is_wrapped(value: torch.Tensor) -> bool:
    """Whether a transform of torch.func stands between the tensor and its memory."""
    functorch = getattr(torch._C, "_functorch", None)
    asked = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return bool(asked(value)) if asked is not None else False


__all__ = ["is_fake", "is_wrapped", "without_memory"]
