"""Loads into a part of a ub tile that holds other values too. The DMA writes whole blocks of 32
bytes (docs/hardware/units.md#rows-of-ub), the language only what it names
(docs/language/rules.md#edges): the last, incomplete block of each row goes through a buffer of the
compiler's own."""

from __future__ import annotations

from tile_ir import (
    BLOCK_BYTES,
    ONE,
    ZERO,
    AttrValue,
    Body,
    Expr,
    If,
    KernelError,
    Memory,
    Op,
    Region,
    Slice,
    Stmt,
    active_dims,
    constant_value,
    element_count,
    element_offset,
    is_constant,
    is_contiguous,
    linear_form,
    round_up,
    simplify,
)
from tile_ir.analysis import Ranges
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import part_along
from tile_passes.lowering.vector import lower_vector_op


def overwrites_others(op: Op, builder: Builder) -> bool:
    """Whether the load may overwrite another statement's value behind the region it names."""
    named = op.region("dst")
    if op.region("src").memory is not Memory.GM or named.memory is not Memory.UB:
        return False
    behind = _behind(named)
    return behind is not None and bool(builder.writes_before(op, behind))


def _behind(named: Region) -> Region | None:
    """The region that shares a block with the end of some row of this one; None if nothing does."""
    dims, shape = active_dims(named), named.buffer.shape
    last, unit = len(shape) - 1, named.dtype.elements_in(BLOCK_BYTES)
    pitch = constant_value(shape[last])
    part = named.dims[last]
    if not dims or dims[-1] == last or pitch == 1:
        if simplify(part.offset + part.extent) == simplify(shape[last]):
            packed = pitch is None or pitch % unit != 0
            return _rows_behind(named) if packed and not _ends_at_a_block(named) else None
        extent = constant_value(part.extent)
        if extent is not None and extent % unit == 0:
            return None
        end = simplify(part.offset + part.extent)
    else:  # one element of each row
        end = simplify(part.offset + 1)
    rest = Slice(end, simplify(shape[last] - end))
    if pitch is None or pitch % unit:
        return Region.whole(named.buffer)
    return Region(named.buffer, (*named.dims[:last], rest))


def _ends_at_a_block(named: Region) -> bool:
    """Whether packed rows fill whole blocks, from the first on."""
    unit = named.dtype.elements_in(BLOCK_BYTES)
    count = constant_value(element_count(named))
    terms, constant = linear_form(element_offset(named))
    return (
        count is not None
        and is_contiguous(named)
        and all(number % unit == 0 for number in (count, constant, *terms.values()))
    )


def _rows_behind(named: Region) -> Region | None:
    """Of packed rows, those behind the last one."""
    for dim, (s, size) in enumerate(zip(named.dims, named.buffer.shape, strict=True)):
        end = simplify(s.offset + s.extent)
        if end != simplify(size):
            rest = Slice(end, simplify(size - end))
            whole = tuple(Slice(ZERO, n) for n in named.buffer.shape[dim + 1 :])
            return Region(named.buffer, (*named.dims[:dim], rest, *whole))
    return None


def load_exactly(
    op: Op, src: Region, dst: Region, attrs: tuple[AttrValue, ...], known: Ranges, builder: Builder
) -> Body:
    """The load of rows that start at blocks, without a byte more: whole blocks as they are, the
    rest through a buffer with a block for each row. One run of several rows goes through a buffer
    as a whole."""
    if not dst.dtype.whole_bytes:
        raise KernelError(
            "partial-load",
            f"copy: `{dst.buffer.name}` keeps {dst.dtype} elements behind those that are loaded, "
            "in the same 32 bytes, which a load overwrites",
            op.loc,
            f"load multiples of {dst.dtype.elements_in(BLOCK_BYTES)} elements, or load this part "
            "first",
        )
    unit, dims = dst.dtype.elements_in(BLOCK_BYTES), active_dims(dst)
    last = len(dst.dims) - 1
    if len(dims) > 1 and is_contiguous(dst) and is_contiguous(src):
        return _through(op, src, dst, _sizes(dst), attrs, known, builder)
    rows = [d for d in dims if d != last]
    height = constant_value(dst.buffer.shape[rows[-1]]) if rows else 1
    assert height is not None, "tiles of ub have a static shape"
    if dims and last not in dims:  # a column: every element has a block
        return _through(op, src, dst, (height, unit), attrs, known, builder)
    extent = dst.dims[last].extent
    whole = simplify(extent // unit * unit)
    rest = simplify(extent - whole)
    steps: list[Stmt] = []
    if not is_constant(whole, 0):
        direct = builder.op(
            "copy_gm_ub", (_columns(src, ZERO, whole), _columns(dst, ZERO, whole)), op.loc, *attrs
        )
        steps += _where(whole, (direct,), op)
    if not is_constant(rest, 0):
        tail = _columns(src, whole, rest), _columns(dst, whole, rest)
        steps += _where(rest, _through(op, *tail, (height, unit), attrs, known, builder), op)
    return tuple(steps)


def lower_padded(op: Op, known: Ranges, builder: Builder) -> Body:
    """The load of padded rows, by way of a buffer of the compiler's own if a value stands behind
    them in the last block of a row."""
    dst = op.region("dst")
    if not overwrites_others(op, builder):
        return (op,)
    sizes = _sizes(dst)
    stage = builder.scratch("rows", Memory.UB, dst.dtype, (*sizes[:-1], _in_blocks(dst)), op.loc)
    dims = [dst.dims[d] for d in active_dims(dst)]
    tile = Region(stage, tuple(Slice(ZERO, s.extent) for s in dims))
    load = replace(op, operands=(op.operands[0], tile, *op.operands[2:]))
    moved = builder.op("copy_ub_ub", (tile, dst), op.loc)
    return (load, *lower_vector_op(moved, known, builder))


def _in_blocks(region: Region) -> int:
    """The columns of a tile with room for rows of the region."""
    columns = constant_value(region.buffer.shape[-1])
    assert columns is not None, "tiles of ub have a static shape"
    return round_up(columns, region.dtype.elements_in(BLOCK_BYTES))


def _where(extent: Expr, steps: Body, op: Op) -> Body:
    """The steps where there is something to move."""
    if constant_value(extent) is not None:
        return steps
    return (If(simplify(extent) > 0, steps, (), op.loc),)


def _through(
    op: Op,
    src: Region,
    dst: Region,
    sizes: tuple[int, ...],
    attrs: tuple[AttrValue, ...],
    known: Ranges,
    builder: Builder,
) -> Body:
    """By way of a buffer of the compiler's own, whose last dimension is that of the tile, or one
    element of which each row moves."""
    stage = builder.scratch("blocks", Memory.UB, dst.dtype, sizes, op.loc)
    dims, last = active_dims(dst), len(dst.dims) - 1
    extents: list[Expr] = [dst.dims[d].extent for d in dims]
    if not dims or dims[-1] != last:
        extents.append(ONE)
    extents = [*[ONE] * (len(sizes) - len(extents)), *extents]
    tile = Region(stage, tuple(Slice(ZERO, e) for e in extents))
    load = builder.op("copy_gm_ub", (src, tile), op.loc, *attrs)
    moved = builder.op("copy_ub_ub", (tile, dst), op.loc)
    return (load, *lower_vector_op(moved, known, builder))


def _sizes(region: Region) -> tuple[int, ...]:
    return tuple(constant_value(region.buffer.shape[d]) or 1 for d in active_dims(region))


def _columns(region: Region, first: Expr, extent: Expr) -> Region:
    """Some columns of the region, which run along its last active dimension."""
    return part_along(region, (active_dims(region) or (len(region.dims) - 1,))[-1], first, extent)
