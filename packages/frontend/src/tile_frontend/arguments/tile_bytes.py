"""The bytes of a tile of another type, where an operation takes bytes: the bits of a mask, which
scripts also keep in tiles of float16 or float32 (docs/rules/operations.md#masks)."""

from __future__ import annotations

from tile_frontend.tracing.trace import current
from tile_frontend.tracing.values import Tile
from tile_ir import FLOAT16, FLOAT32, UINT8, Access, Memory, Operand, OperandDef, Region, Slice

_FLOATS = (FLOAT16, FLOAT32)


def in_bytes(definition: OperandDef, operand: Operand) -> Operand:
    """The operand, or its bytes if it takes bytes and is a tile of floats. What is read as bytes
    has been written so: numbers are no mask."""
    if not (definition.as_bytes and isinstance(operand, Region) and operand.dtype in _FLOATS):
        return operand
    last = operand.dims[-1]
    in_ub = operand.memory in (Memory.UB, Memory.SHARED)
    if not in_ub or last.stride != 1 or operand.buffer.static_shape() is None:
        return operand
    allocations = current("view").allocations
    found = next((a for a in allocations if a.tile.buffer is operand.buffer), None)
    if found is None:
        return operand
    root, size = found.alias_of or found.tile, operand.dtype.size
    seen = _bytes_of(found.tile, root, new=definition.access is not Access.READ)
    if seen is None:
        return operand
    part = Slice(last.offset * size, last.extent * size)
    return Region(seen.buffer, (*operand.dims[:-1], part))


def _bytes_of(tile: Tile, root: Tile, new: bool) -> Tile | None:
    """Another name for a tile, as bytes; the same one each time."""
    trace = current("view")
    dims = (*tile.dims[:-1], tile.dims[-1] * tile.element.size)
    for other in trace.allocations:
        if other.alias_of is root and other.tile.element is UINT8 and other.tile.dims == dims:
            return other.tile
    if not new:
        return None
    seen = Tile(tile.memory, UINT8, dims, trace.here)
    trace.allocate(seen)
    trace.allocations[-1].alias_of = root
    return seen


__all__ = ["in_bytes"]
