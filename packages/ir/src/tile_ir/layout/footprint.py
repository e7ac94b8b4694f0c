"""Compute the bytes that buffers take, and whether two views of one memory agree on places.

Fractal memories round matrices up to whole fractals (docs/hardware/units.md#fractals;
docs/language/rules.md#products).

A view names the bytes of a buffer again in the order of its elements. In ub and gm that is the
order of the bytes. Matrices of l1 lie in fractals, columns of 32 bytes one after another, so that
only some shapes preserve the place of each piece of a row.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from tile_ir.dtypes import DType
from tile_ir.expr import Binary, Const, Expr
from tile_ir.lazy import np
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
    """Number of matrices of a buffer and the size of one as it lies in memory. A bias table is a
    run of elements, and so is a vector of l1 on its way to one. Both are whole units of the copy
    between them, in which half as many bytes of l1 may become twice as many."""
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


ROW_BYTES = 32


def same_size(a: Buffer, b: Buffer) -> bool:
    """Whether both have as many bits, as far as symbols show it."""
    return _bits(a) == _bits(b)


def same_places(a: Buffer, b: Buffer) -> bool:
    """Whether every byte of one, in the order of its elements, is the same byte of the other."""
    if a.memory is not Memory.L1:
        return True
    if is_run(a) and is_run(b):
        return True
    width = math.gcd(ROW_BYTES, _row_bytes(a), _row_bytes(b))
    return bool(np.array_equal(_places(a, width), _places(b, width)))


def _bits(buffer: Buffer) -> tuple[int, tuple[str, ...]]:
    number, symbols = buffer.dtype.bits, []
    for size in buffer.shape:
        for factor in _factors(size):
            if isinstance(factor, Const):
                number *= int(factor.value)
            else:
                symbols.append(repr(factor))
    return number, tuple(sorted(symbols))


def _factors(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op == "*":
        return [*_factors(e.left), *_factors(e.right)]
    return [e]


def _row_bytes(buffer: Buffer) -> int:
    return buffer.dtype.bytes_of((buffer.static_shape() or (0,))[-1])


def _places(buffer: Buffer, width: int) -> Any:
    """The byte at which each piece of `width` bytes lies, in the order of the elements."""
    shape = buffer.static_shape()
    assert shape is not None, f"{buffer.name} must have a static shape"
    if is_run(buffer):
        return np.arange(_row_bytes(buffer) // width) * width
    _, (stored_rows, stored_columns) = stored_matrix(buffer)
    *leading, rows = shape[:-1]
    byte = np.arange(_row_bytes(buffer) // width) * width
    column = byte // ROW_BYTES * (stored_rows * ROW_BYTES) + byte % ROW_BYTES
    row = np.arange(rows) * ROW_BYTES
    slot = np.arange(math.prod(leading)) * buffer.dtype.bytes_of(stored_rows * stored_columns)
    return (slot[:, None, None] + row[None, :, None] + column[None, None, :]).reshape(-1)
