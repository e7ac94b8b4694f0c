"""Whether two descriptions of one memory agree on where everything lies.

A view names the bytes of a buffer again in the order of its elements. In ub and gm that is the
order of the bytes; matrices of l1 lie in fractals, columns of 32 bytes one after another
(docs/hardware/memories.md#fractals), so that only some shapes find each piece of a row where it is.
"""

from __future__ import annotations

import math
from typing import Any

from tile_ir.expr import Binary, Const, Expr
from tile_ir.layout.footprint import is_run, stored_matrix
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Buffer

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
