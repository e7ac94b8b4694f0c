"""Define boxes of buffers, and the other operands of operations."""

from __future__ import annotations

from functools import lru_cache

from tile_ir.dtypes import DType
from tile_ir.expr import ZERO, Buffer, Expr, constant_value, constant_values
from tile_ir.interned import Shared, interned
from tile_ir.machine import Memory
from tile_ir.quick_dataclasses import dataclass


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Slice(Shared):
    """`extent` elements from `offset`, `stride` apart, along one dimension."""

    offset: Expr
    extent: Expr
    stride: int = 1


@interned()
@dataclass(frozen=True, slots=True, eq=False)
class Region(Shared):
    """A box of a buffer: one slice per dimension."""

    buffer: Buffer
    dims: tuple[Slice, ...]

    @staticmethod
    def whole(buffer: Buffer) -> Region:
        return Region(buffer, tuple(Slice(ZERO, d) for d in buffer.shape))

    @property
    def extents(self) -> tuple[Expr, ...]:
        return tuple([s.extent for s in self.dims])

    @property
    def memory(self) -> Memory:
        return self.buffer.memory

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    def static_extents(self) -> tuple[int, ...] | None:
        return _static_extents(self)

    def is_whole(self) -> bool:
        return _is_whole(self)


@lru_cache(maxsize=32768)
def _static_extents(region: Region) -> tuple[int, ...] | None:
    return constant_values(region.extents)


@lru_cache(maxsize=32768)
def _is_whole(region: Region) -> bool:
    for s, size in zip(region.dims, region.buffer.shape, strict=True):
        if s.stride != 1 or s.extent is not size or constant_value(s.offset) != 0:
            return False
    return True


Operand = Region | Expr | None
AttrValue = int | float | bool | str | None
