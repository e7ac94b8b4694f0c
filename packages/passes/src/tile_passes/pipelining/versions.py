"""Give buffers several versions, and let statements name the one that they access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tile_ir import (
    Alloc,
    Buffer,
    Const,
    Expr,
    Load,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    Store,
    buffer_bytes,
    buffers_of,
    map_own_expressions,
    rebuild,
)

# The buffer with its versions, and the number of the one that is accessed.
Version = tuple[Buffer, Expr]


def own_in_version(stmt: Stmt, version: Mapping[Buffer, Version]) -> Stmt:
    """The statement with these versions of buffers; statements inside it stay."""
    if version.keys().isdisjoint(buffers_of(stmt)):
        return stmt

    def element(e: Expr) -> Expr:
        inside = rebuild(e, element)
        if isinstance(inside, Load) and inside.buffer in version:
            buffer, number = version[inside.buffer]
            return Load(buffer, (number, *inside.indices))
        return inside

    new = map_own_expressions(stmt, element)
    match new:
        case Op(operands=operands):
            return replace(new, operands=tuple(_operand(o, version) for o in operands))
        case Store(buffer=buffer, indices=indices) if buffer in version:
            whole, number = version[buffer]
            return replace(new, buffer=whole, indices=(number, *indices))
    return new


def _operand(operand: Operand, version: Mapping[Buffer, Version]) -> Operand:
    if not isinstance(operand, Region) or operand.buffer not in version:
        return operand
    buffer, number = version[operand.buffer]
    return Region(buffer, (Slice(number, Const(1)), *operand.dims))


def with_versions(buffer: Buffer, count: int, align: int) -> Buffer:
    """The buffer with a first dimension more. Versions begin where a transfer may: a buffer in ub
    that ends elsewhere gets more rows."""
    shape = buffer.static_shape()
    if buffer.memory is Memory.GM or shape is None:
        return replace(buffer, shape=(Const(count), *buffer.shape))
    rows, *rest = shape or (1,)
    if buffer.memory is Memory.UB:
        while buffer_bytes(_alloc(buffer, (rows, *rest))) % align:
            rows += 1
    return replace(buffer, shape=tuple(map(Const, (count, rows, *rest))))


def _alloc(buffer: Buffer, shape: tuple[int, ...]) -> Alloc:
    return Alloc(replace(buffer, shape=tuple(map(Const, shape))), buffer.loc)


__all__ = ["Version", "own_in_version", "with_versions"]
