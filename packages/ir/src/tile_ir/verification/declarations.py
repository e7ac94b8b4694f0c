"""Check the buffers that a function declares."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tile_ir.diagnostics.errors import Diagnostic
from tile_ir.expr import constant_value
from tile_ir.layout.footprint import buffer_bytes, same_places, same_size
from tile_ir.location import Loc
from tile_ir.machine import PACKED_MEMORIES, Memory
from tile_ir.nodes import Alloc, Buffer
from tile_ir.target import Target


class Demands(NamedTuple):
    """The requirements of a chip and a phase for allocations."""

    target: Target
    open_memories: bool
    addresses: bool


# Hardly a pass changes them.
@lru_cache(maxsize=1024)
def are_right(
    tensors: tuple[Buffer, ...], allocs: tuple[Alloc, ...], demands: Demands
) -> frozenset[Buffer] | None:
    """All buffers of a function if nothing is wrong with them, else None."""
    names: set[str] = set()
    if any(of_tensors(tensors, names)) or any(of_allocs(allocs, tensors, names, demands)):
        return None
    return frozenset([*tensors, *[a.buffer for a in allocs]])


def of_tensors(tensors: tuple[Buffer, ...], names: set[str]) -> Iterator[Diagnostic]:
    """The errors of parameters; `names` takes in their names."""
    for tensor in tensors:
        yield from _name(tensor, names)
        if any(not size.dtype.is_integer for size in tensor.shape):
            message = f"the shape of `{tensor.name}` has a size that is not an integer"
            yield Diagnostic("tensor-shape", message, tensor.loc)
            continue
        yield from packed_rows(tensor)
        if tensor.memory is not Memory.GM:
            yield Diagnostic("tensor-memory", f"`{tensor.name}` must be in gm", tensor.loc)


def of_allocs(
    allocs: tuple[Alloc, ...], tensors: tuple[Buffer, ...], names: set[str], demands: Demands
) -> Iterator[Diagnostic]:
    """The errors of allocations, given the tensors and the names in use."""
    for alloc in allocs:
        buffer, root = alloc.buffer, alloc.alias_of
        yield from _name(buffer, names)
        impossible = list(packed_rows(buffer))
        if impossible:
            yield from impossible
            continue
        if buffer.memory is Memory.GM and (root is not None or demands.open_memories):
            rooms = [a.buffer for a in allocs if a.alias_of is None]
            yield from _view(alloc, root, (*tensors, *rooms)) if root is not None else ()
            continue
        yield from _allocation(buffer, alloc.address, alloc.loc, demands)
        if root is not None:
            yield from _alias(alloc, root, allocs)
        if alloc.address is not None and buffer.static_shape() is not None:
            yield from _placement(buffer, alloc.address, buffer_bytes(alloc), demands.target)


def _name(buffer: Buffer, names: set[str]) -> Iterator[Diagnostic]:
    if buffer.name in names:
        yield Diagnostic("name-twice", f"buffer `{buffer.name}` is declared twice", buffer.loc)
    names.add(buffer.name)


def _allocation(
    buffer: Buffer, address: int | None, loc: Loc, demands: Demands
) -> Iterator[Diagnostic]:
    if buffer.memory is Memory.GM:
        yield Diagnostic("alloc-memory", f"`{buffer.name}` cannot be allocated in gm", loc)
    if buffer.static_shape() is None:
        message = f"the shape of `{buffer.name}` must be known at compile time"
        yield Diagnostic("alloc-shape", message, loc)
    elif min(buffer.static_shape() or (0,)) < 0:
        yield Diagnostic("alloc-shape", f"the shape of `{buffer.name}` has a size below 0", loc)
    if buffer.memory in (Memory.SHARED, Memory.FRAGMENT) and not demands.open_memories:
        yield Diagnostic("phase-memory", f"the memory of `{buffer.name}` is still open", loc)
    needs_address = demands.addresses and buffer.memory is not Memory.VAR
    if needs_address and address is None:
        yield Diagnostic("phase-address", f"`{buffer.name}` has no address", loc)


def _placement(buffer: Buffer, address: int, size: int, target: Target) -> Iterator[Diagnostic]:
    if buffer.memory not in target.capacity:
        return
    capacity = target.capacity[buffer.memory]
    alignment = target.alignment[buffer.memory]
    if address % alignment:
        message = f"`{buffer.name}` is at {address} in {buffer.memory.value}, expected a "
        message += f"multiple of {alignment}"
        yield Diagnostic("address-alignment", message, buffer.loc)
    if address < 0 or address + size > capacity:
        message = f"`{buffer.name}` takes bytes {address} to {address + size} of "
        message += f"{buffer.memory.value}, which has {capacity}"
        yield Diagnostic("address-range", message, buffer.loc)


def _alias(alloc: Alloc, root: Buffer, allocs: tuple[Alloc, ...]) -> Iterator[Diagnostic]:
    name = alloc.buffer.name
    found = next((a for a in allocs if a.buffer is root), None)
    if found is None or found.alias_of is not None:
        what = "an alias itself" if found is not None else "not allocated"
        yield Diagnostic("alias", f"`{name}` aliases `{root.name}`, which is {what}", alloc.loc)
    elif {alloc.buffer.memory, root.memory} == {Memory.L1}:
        if not (same_size(alloc.buffer, root) and same_places(alloc.buffer, root)):
            message = f"`{name}` and `{root.name}` lie in different orders"
            yield Diagnostic("alias", message, alloc.loc)
    elif not {alloc.buffer.memory, root.memory} <= {Memory.UB, Memory.SHARED, Memory.FRAGMENT}:
        yield Diagnostic("alias", f"`{name}` and `{root.name}` are not both in ub", alloc.loc)
    elif buffer_bytes(alloc) > buffer_bytes(found):
        message = f"`{name}` has {buffer_bytes(alloc)} bytes, but `{root.name}` only "
        message += f"{buffer_bytes(found)}"
        yield Diagnostic("alias", message, alloc.loc)
    elif alloc.address != found.address:
        yield Diagnostic("alias", f"`{name}` is not where `{root.name}` is", alloc.loc)


def _view(alloc: Alloc, root: Buffer, tensors: tuple[Buffer, ...]) -> Iterator[Diagnostic]:
    """Another description of a whole tensor."""
    name = alloc.buffer.name
    if root not in tensors:
        yield Diagnostic("alias", f"`{name}` is no view of a parameter", alloc.loc)
    elif not same_size(alloc.buffer, root):
        yield Diagnostic("alias", f"`{name}` has not the size of `{root.name}`", alloc.loc)


def packed_rows(buffer: Buffer) -> Iterator[Diagnostic]:
    """Elements that share bytes lie where units take them, and rows of them end with a byte."""
    if buffer.dtype.whole_bytes:
        return
    if buffer.memory not in PACKED_MEMORIES:
        message = f"`{buffer.name}` is {buffer.dtype}, which is no type of {buffer.memory.value}"
        yield Diagnostic("packed-memory", message, buffer.loc)
        return
    columns = constant_value(buffer.shape[-1])
    if columns is not None and columns * buffer.dtype.bits % 8:
        message = f"rows of `{buffer.name}` have {columns} elements, but two elements of "
        message += f"{buffer.dtype} share a byte"
        yield Diagnostic("odd-elements", message, buffer.loc)
