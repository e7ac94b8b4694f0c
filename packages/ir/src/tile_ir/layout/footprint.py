"""How many bytes a buffer really takes: fractal memories round matrices up to whole fractals
(docs/hardware/memories.md#fractals; docs/rules/operations.md#layouts)."""

from __future__ import annotations

import math
from functools import lru_cache

from tile_ir.dtypes import DType
from tile_ir.machine import Memory
from tile_ir.nodes import Alloc, Buffer

# Rows of a fractal, which are 32 bytes each.
FRACTAL_ROWS = 16
# Bytes of l1 in which bias tables are filled (DataCopy from C1 to C2).
BIAS_UNIT = 64


def round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def k0_elements(dtype: DType) -> int:
    """Elements in the 32 bytes that make a fractal row."""
    return dtype.elements_in(32)


def matrix_footprint(memory: Memory, dtype: DType, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns as stored. Squares of 16x16 (32x32 for bytes) keep transposed loads of
    every type inside the buffer.

    An l1 matrix lies in zN order whichever layout is annotated: nZ says that it will be read
    transposed, and the load to l0 does that from zN.
    """
    k0 = k0_elements(dtype)
    match memory:
        case Memory.L0C:
            return round_up(rows, 16), round_up(columns, 16)
        case Memory.L1 | Memory.L0A | Memory.L0B:
            square = max(16, k0)
            return round_up(rows, square), round_up(columns, square)
    return rows, columns


def buffer_bytes(alloc: Alloc) -> int:
    """Bytes a buffer of static shape takes in its memory."""
    return _bytes(alloc.buffer)


@lru_cache(maxsize=16384)
def _bytes(buffer: Buffer) -> int:
    if buffer.memory in (Memory.UB, Memory.VAR):
        shape = buffer.static_shape()
        assert shape is not None, f"{buffer.name} must have a static shape"
        return buffer.dtype.bytes_of(math.prod(shape))
    slots, (rows, columns) = stored_matrix(buffer)
    return buffer.dtype.bytes_of(slots * rows * columns)


def share_bytes(a: Alloc, b: Alloc) -> bool:
    """Whether two buffers lie on common bytes; both have addresses."""
    assert a.address is not None and b.address is not None, "both are placed"
    return (
        a.buffer.memory is b.buffer.memory
        and a.address < b.address + buffer_bytes(b)
        and b.address < a.address + buffer_bytes(a)
    )


def stored_matrix(buffer: Buffer) -> tuple[int, tuple[int, int]]:
    """Number of matrices of a buffer and the size of one as it lies in memory. A bias table and a
    vector of l1, which is on its way to one, are a run of elements: of whole units in which the
    one is copied to the other, where half as many bytes of l1 may become twice as many."""
    slots, (rows, columns) = matrix_shape(buffer)
    if buffer.memory is Memory.BT:
        return 1, (1, round_up(slots * rows * columns, buffer.dtype.elements_in(2 * BIAS_UNIT)))
    if is_run(buffer):
        return 1, (1, round_up(columns, buffer.dtype.elements_in(BIAS_UNIT)))
    return slots, matrix_footprint(buffer.memory, buffer.dtype, rows, columns)


def is_run(buffer: Buffer) -> bool:
    """Whether the elements of a buffer of the cube core lie one after another."""
    return buffer.memory is Memory.BT or (buffer.memory is Memory.L1 and buffer.rank == 1)


def matrix_shape(buffer: Buffer) -> tuple[int, tuple[int, int]]:
    """Number of matrices (leading dimensions) and the size of one."""
    shape = buffer.static_shape()
    assert shape is not None, f"{buffer.name} must have a static shape"
    *leading, rows, columns = (1, *shape) if len(shape) < 2 else shape
    return math.prod(leading), (rows, columns)
