"""Loads into a part of an l1 matrix. A load changes the part it names and nothing else
(docs/language/rules.md#edges). Two effects reach beyond it: a first load from the origin clears
the whole matrix, and the DMA fills the last block of 32 bytes of each row with zeros
(docs/hardware/units.md#transfers)."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import (
    ZERO,
    Clipped,
    Diagnostic,
    Expr,
    KernelError,
    Op,
    Region,
    Slice,
    Stmt,
    binary,
    constant_value,
    is_constant,
    k0_elements,
    simplify,
    written_buffers,
)
from tile_ir.layout.footprint import is_run
from tile_ir.ops.movement import loads_l1
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import with_dim


def fitted_to_matrix(op: Op, c: Clipped, builder: Builder) -> Clipped:
    """The load with the part that it clears: all of the matrix where no value of another statement
    lies in it yet, else the named part; nothing where what is read is written before. It has whole
    blocks where it would clear others' values."""
    named, matrix = op.region("dst"), c.dst.buffer
    c = _in_whole_blocks(op, c, builder)
    first = all(is_constant(s.offset, 0) for s in named.dims[-2:])
    if not first or any(_others(op, rest, builder) for rest in _around(named)):
        return c
    whole = tuple(Slice(ZERO, simplify(size)) for size in matrix.shape[-2:])
    complete = c.complete
    pairs = zip(named.dims[-2:], whole, strict=True)
    covers = [binary("==", simplify(s.extent), size.extent) for s, size in pairs]
    if not all(is_constant(all_of_it, True) for all_of_it in covers) and not builder.filled(matrix):
        for all_of_it in covers:
            complete = binary("and", complete, all_of_it)
    fill = Region(matrix, (*named.dims[:-2], *whole))
    return replace(c, complete=complete, fill=None if is_constant(complete, True) else fill)


def _others(op: Op, part: Region, builder: Builder) -> list[tuple[Stmt, Region]]:
    return [(s, r) for s, r in builder.writes_before(op, part) if s is not op]


def _around(named: Region) -> list[Region]:
    """The rest of the matrix: rows below the part, and columns beside it."""
    found = []
    for dim in range(max(len(named.dims) - 2, 0), len(named.dims)):
        s, size = named.dims[dim], named.buffer.shape[dim]
        rest = Slice(simplify(s.offset + s.extent), simplify(size - s.offset - s.extent))
        if not is_constant(rest.extent, 0):
            dims = [*named.dims[:-2], *(Slice(ZERO, n) for n in named.buffer.shape[-2:])]
            dims[dim] = rest
            found.append(Region(named.buffer, tuple(dims)))
    return found


def _in_whole_blocks(op: Op, c: Clipped, builder: Builder) -> Clipped:
    """A part that ends inside a block of 32 bytes whose rest holds others' values: loaded to the
    end of the block where these are the same elements of gm, else an error."""
    named = op.region("dst")
    if is_run(named.buffer):
        return c
    s, size = named.dims[-1], named.buffer.shape[-1]
    unit = k0_elements(named.dtype)
    end, columns = constant_value(simplify(s.offset + s.extent)), constant_value(size)
    if end is not None and (end % unit == 0 or end == columns):
        return c
    start = simplify(s.offset + s.extent)
    limit = Slice(start, simplify(size - start)) if end is None else _slice(end, unit, columns)
    tail = Region(named.buffer, (*named.dims[:-1], limit))
    others = _others(op, tail, builder)
    if not others:
        return c
    wider = _widened(op, c, others, limit.extent, builder)
    if wider is not None:
        return wider
    message = (
        f"copy: a part of `{named.buffer.name}` ends inside 32 bytes of its rows, and what was "
        "loaded behind it becomes zero there"
    )
    hint = f"end parts at multiples of {unit} columns, or load this part first"
    if end is not None:
        raise KernelError("fractal-alignment", message, op.loc, hint)
    builder.remarks.append(Diagnostic("fractal-alignment", message, op.loc, hint, "warning"))
    return c


def _slice(end: int, unit: int, columns: int | None) -> Slice:
    stop = -(-end // unit) * unit
    stop = stop if columns is None else min(stop, columns)
    return Slice(simplify(ZERO + end), simplify(ZERO + (stop - end)))


def _widened(
    op: Op,
    c: Clipped,
    others: Sequence[tuple[Stmt, Region]],
    more: Expr,
    builder: Builder,
) -> Clipped | None:
    """The load with so many columns more, if that gives those the values they have: all others
    loaded them from the same places of a tensor that the kernel does not write."""
    src = op.region("src")
    same = all(isinstance(s, Op) and loads_l1(s) and _shift(s) == _shift(op) for s, _ in others)
    extent = simplify(c.dst.dims[-1].extent + more)
    room = constant_value(simplify(src.buffer.shape[-1] - src.dims[-1].offset - extent))
    written = written_buffers(builder.writes.func.launch.body)
    if not same or c.fill is not None or src.buffer in written or room is None or room < 0:
        return None
    src, dst = (with_dim(r, -1, replace(r.dims[-1], extent=extent)) for r in (c.src, c.dst))
    return replace(c, src=src, dst=dst)


def _shift(op: Op) -> tuple[object, ...]:
    """From which place of which tensor the first element of the buffer would come."""
    src, dst = op.region("src"), op.region("dst")
    away = (
        simplify(a.offset - b.offset) for a, b in zip(src.dims[-2:], dst.dims[-2:], strict=True)
    )
    slots = tuple(simplify(s.offset) for s in (*src.dims[:-2], *dst.dims[:-2]))
    return src.buffer, slots, tuple(away)
