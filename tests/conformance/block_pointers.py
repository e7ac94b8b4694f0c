"""Block pointers of Triton for its interpreter: newer ones have none, and scripts still use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


def add_block_pointers() -> None:
    """Add what is missing to `triton.language`, in this process for good."""
    import triton.language as language
    from triton.language import core
    from triton.runtime.interpreter import interpreter_semantic

    semantic = {"_semantic": interpreter_semantic}

    def make_block_ptr(
        base: Any,
        shape: Sequence[Any],
        strides: Sequence[Any],
        offsets: Sequence[Any],
        block_shape: Sequence[Any],
        order: Sequence[int],
    ) -> BlockPointer:
        places = []
        for axis, (offset, size) in enumerate(zip(offsets, block_shape, strict=True)):
            others = tuple(slice(None) if a == axis else None for a in range(len(shape)))
            places.append(core.arange(0, size, **semantic)[others] + offset)
        return BlockPointer(base, tuple(shape), tuple(strides), tuple(places))

    def advance(pointer: BlockPointer, offsets: Sequence[Any]) -> BlockPointer:
        moved = tuple(p + o for p, o in zip(pointer.places, offsets, strict=True))
        return BlockPointer(pointer.base, pointer.shape, pointer.strides, moved)

    def load(
        pointer: Any,
        mask: Any = None,
        other: Any = None,
        boundary_check: Sequence[int] = (),
        padding_option: str = "",
        **options: Any,
    ) -> Any:
        if isinstance(pointer, BlockPointer):
            mask = pointer.inside(boundary_check)
            other = None if mask is None else 0.0
            pointer = pointer.elements
        return core.load(pointer, mask, other, **options, **semantic)

    def store(
        pointer: Any,
        value: Any,
        mask: Any = None,
        boundary_check: Sequence[int] = (),
        **options: Any,
    ) -> Any:
        if isinstance(pointer, BlockPointer):
            mask, pointer = pointer.inside(boundary_check), pointer.elements
        return core.store(pointer, value, mask, **options, **semantic)

    for function in (make_block_ptr, advance, load, store):
        setattr(language, function.__name__, function)


@dataclass(frozen=True)
class BlockPointer:
    """A block of a tensor: the places of its elements on each axis, as wide as the block there."""

    base: Any
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    places: tuple[Any, ...]

    @property
    def elements(self) -> Any:
        """A pointer to each."""
        found = self.base
        for place, stride in zip(self.places, self.strides, strict=True):
            found = found + place * stride
        return found

    @property
    def dtype(self) -> Any:
        return self.base.dtype

    def inside(self, axes: Sequence[int]) -> Any:
        """Which elements the tensor has, as far as these axes say; None if none does."""
        found = None
        for axis in axes:
            place = self.places[axis]
            here = (place >= 0) & (place < self.shape[axis])
            found = here if found is None else found & here
        return found
