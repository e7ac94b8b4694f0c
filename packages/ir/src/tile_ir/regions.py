"""Boxes of buffers, and what else an operation is applied to."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir.dtypes import DType
from tile_ir.expr import ZERO, Buffer, Expr, constant_value
from tile_ir.machine import Memory
from tile_ir.quick_init import quick_init


@quick_init
@dataclass(frozen=True, slots=True)
class Slice:
    """`extent` elements from `offset`, `stride` apart, along one dimension."""

    offset: Expr
    extent: Expr
    stride: int = 1


@quick_init
@dataclass(frozen=True, slots=True)
class Region:
    """A box of a buffer: one slice per dimension."""

    buffer: Buffer
    dims: tuple[Slice, ...]

    @staticmethod
    def whole(buffer: Buffer) -> Region:
        return Region(buffer, tuple(Slice(ZERO, d) for d in buffer.shape))

    @property
    def extents(self) -> tuple[Expr, ...]:
        return tuple(s.extent for s in self.dims)

    @property
    def memory(self) -> Memory:
        return self.buffer.memory

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    def static_extents(self) -> tuple[int, ...] | None:
        sizes = [constant_value(e) for e in self.extents]
        return None if any(s is None for s in sizes) else tuple(s for s in sizes if s is not None)

    def is_whole(self) -> bool:
        for s, size in zip(self.dims, self.buffer.shape, strict=True):
            if s.stride != 1 or (s.extent is not size and s.extent != size):
                return False
            if constant_value(s.offset) != 0:
                return False
        return True


Operand = Region | Expr | None
AttrValue = int | float | bool | str | None
