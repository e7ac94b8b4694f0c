"""Byte-accurate memories of the interpreter. Fresh on-chip memory is all ones: NaN in every float
type. Buffers with an address share bytes as they would on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tile_ir.diagnostics.errors import OutOfBounds
from tile_ir.dtypes import DType, from_bytes, to_bytes
from tile_ir.layout.footprint import buffer_bytes
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Alloc, Buffer, Region
from tile_ir.quick_dataclasses import dataclass
from tile_ir.target import Target


@dataclass(frozen=True, slots=True)
class Storage:
    """Elements of one buffer, flat, in their stored form."""

    elements: Any
    dtype: DType
    name: str

    def view(self, elements: Any, offset: int, extents: Sequence[int], steps: Sequence[int]) -> Any:
        """A strided window; raises OutOfBounds if any element lies outside."""
        if any(e == 0 for e in extents):
            return np.empty(tuple(extents), elements.dtype)
        last = offset + sum((e - 1) * s for e, s in zip(extents, steps, strict=True))
        if offset < 0 or last >= elements.size:
            message = f"`{self.name}` has {elements.size} elements, but elements {offset} to "
            message += f"{last} are accessed"
            raise OutOfBounds(message)
        size = elements.itemsize
        return np.lib.stride_tricks.as_strided(
            elements[offset:], tuple(extents), tuple(s * size for s in steps)
        )

    def read(self, offset: int, extents: Sequence[int], steps: Sequence[int]) -> Any:
        if not self.dtype.whole_bytes:
            numbers = from_bytes(self.elements, self.dtype)
            return self.view(numbers, offset, extents, steps).copy()
        return from_bytes(self.view(self.elements, offset, extents, steps).copy(), self.dtype)

    def write(self, offset: int, extents: Sequence[int], steps: Sequence[int], values: Any) -> None:
        if not self.dtype.whole_bytes:
            numbers = from_bytes(self.elements, self.dtype)
            self.view(numbers, offset, extents, steps)[...] = values
            self.elements[...] = to_bytes(numbers, self.dtype)
            return
        window = self.view(self.elements, offset, extents, steps)
        window[...] = np.broadcast_to(to_bytes(values, self.dtype), window.shape)


def on_chip_storage(allocs: Sequence[Alloc], target: Target) -> dict[Buffer, Storage]:
    """Fresh storage of one core for all its buffers."""
    memories: dict[Memory, Any] = {}
    result: dict[Buffer, Storage] = {}
    bytes_of: dict[Buffer, Any] = {}
    for alloc in sorted(allocs, key=lambda a: a.alias_of is not None):
        buffer = alloc.buffer
        if buffer.memory is Memory.GM:
            continue  # another description of an argument: see `views_of_arguments`
        size = buffer_bytes(alloc)
        if alloc.alias_of is not None:
            raw = bytes_of[alloc.alias_of][:size]
        elif alloc.address is not None and buffer.memory in target.capacity:
            if buffer.memory not in memories:
                memories[buffer.memory] = fresh(target.capacity[buffer.memory] + 4096)
            raw = memories[buffer.memory][alloc.address : alloc.address + size]
        else:
            raw = fresh(size)
        bytes_of[buffer] = raw
        stored = np.dtype(buffer.dtype.storage)
        usable = len(raw) // stored.itemsize * stored.itemsize
        result[buffer] = Storage(raw[:usable].view(stored), buffer.dtype, buffer.name)
    return result


def views_of_arguments(
    allocs: Sequence[Alloc], arguments: Mapping[Buffer, Storage]
) -> dict[Buffer, Storage]:
    """Storage of the tensors that name arguments again."""
    return {
        a.buffer: Storage(
            arguments[a.alias_of].elements.view(np.dtype(a.buffer.dtype.storage)),
            a.buffer.dtype,
            a.buffer.name,
        )
        for a in allocs
        if a.alias_of is not None and a.buffer.memory is Memory.GM
    }


def check_inside(region: Region, starts: Sequence[int], extents: Sequence[int]) -> None:
    """Raise OutOfBounds for a part of a buffer that leaves one of its dimensions."""
    sizes = region.buffer.static_shape()
    if sizes is None or not all(extents):
        return
    for number, (s, start, extent) in enumerate(zip(region.dims, starts, extents, strict=True)):
        end = start + (extent - 1) * s.stride
        if start < 0 or end >= sizes[number]:
            message = f"dimension {number} of `{region.buffer.name}` has {sizes[number]} elements, "
            message += f"but elements {start} to {end} are accessed"
            raise OutOfBounds(message)


def fresh(size: int) -> Any:
    return np.full(size, 0xFF, np.uint8)
