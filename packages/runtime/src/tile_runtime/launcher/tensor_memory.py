"""Find tensors without memory that a kernel can read and write, and write the error for them.
A call uses this file only if it is not like the last one, or its memory can not be had."""

from __future__ import annotations

from typing import Any

import torch

from tile_ir import DType

# For those who trace or transform what calls kernels.
REGISTER = 'register it and call the operator: kernel.as_custom_op("ns::name")'


def seen_bytes(dtype: DType, elements: int) -> int:
    """Bytes of a tensor that a kernel sees. Of int4 torch has a byte for each element: the kernel
    has two elements in each, and so the first half of them."""
    return -(-elements * dtype.bits // 8)


def without_memory(value: torch.Tensor) -> tuple[str, str] | None:
    """Describe a tensor without numbers in memory, with a hint; None if it has them."""
    if is_fake(value):
        return (
            "a fake tensor, which has a shape and no values",
            f"a kernel computes values: pass real ones, or {REGISTER}",
        )
    if is_wrapped(value):
        return (
            "a tensor inside a transform of torch.func (vmap, grad, functionalize), which a kernel "
            "can not see through",
            f"call it outside, or {REGISTER}; for vmap alone, give it one more dimension",
        )
    if value.is_meta:
        return "a meta tensor, which has a shape and no values", f"pass real ones, or {REGISTER}"
    if value.is_quantized:
        return "a quantised tensor", "pass its values `.dequantize()` or its numbers `.int_repr()`"
    if value.is_nested:
        return "a nested tensor", "pass a dense tensor: `.to_padded_tensor(0)`"
    if value.layout is not torch.strided:
        layout = str(value.layout).removeprefix("torch.")
        return f"a tensor of layout {layout}", "pass a dense tensor: `.to_dense()`"
    if value.is_neg():
        return (
            "a negated view, whose memory holds the values with the other sign",
            "pass `.resolve_neg()`",
        )
    if value.is_conj():
        return "a conjugate view", "pass `.resolve_conj()`"
    if has_no_memory(value):
        return (
            "a tensor without memory of its own, as those that only wrap others or whose storage "
            "was freed",
            f"pass the tensors inside, or {REGISTER}",
        )
    return None


def is_real(value: torch.Tensor) -> bool:
    """Whether what torch allocated has memory."""
    return not (is_fake(value) or is_wrapped(value) or has_no_memory(value))


def has_no_memory(value: torch.Tensor) -> bool:
    """Whether there are elements and no address of them."""
    try:
        return value.data_ptr() == 0 and value.numel() > 0
    except RuntimeError:  # torch refuses the address of what has none
        return True


def same_size(left: int, right: int) -> bool:
    """Whether two sizes are equal; while torch traces, those that only a run decides are taken to
    be, and the run looks again."""
    same: Any = left == right
    if isinstance(same, torch.SymBool):
        from torch.fx.experimental.symbolic_shapes import guard_or_true

        return guard_or_true(same)
    return bool(same)


def is_fake(value: torch.Tensor) -> bool:
    """Whether it was made in FakeTensorMode, by its class's name: only its makers import that."""
    return any(c.__name__ == "FakeTensor" for c in type(value).__mro__)


def is_wrapped(value: torch.Tensor) -> bool:
    """Whether a transform of torch.func stands between the tensor and its memory."""
    asked = asks_for_wrapper()
    return bool(asked(value)) if asked is not None else False


def asks_for_wrapper() -> Any:
    """torch's test for wrapped tensors; None for a torch that has none."""
    functorch = getattr(torch._C, "_functorch", None)
    return getattr(functorch, "is_functorch_wrapped_tensor", None)
