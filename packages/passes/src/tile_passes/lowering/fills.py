"""Fills of single bytes: the instruction writes pairs, so what is left of an odd number is for
the scalar unit."""

from __future__ import annotations

from tile_ir import (
    Body,
    Const,
    Expr,
    Op,
    Region,
    Slice,
    active_dims,
    cast,
    constant_value,
    is_constant,
    is_contiguous,
    simplify,
)
from tile_ir.analysis import Ranges
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.packed_rows import store_everywhere
from tile_passes.lowering.region_parts import with_dim
from tile_passes.lowering.vector import lower_vector_op


def lower_fill(op: Op, known: Ranges, builder: Builder) -> Body:
    """The part that is surely pairs, and the rest."""
    pairs, rest = _in_pairs(op.region("dst"))
    if rest is None:
        return lower_vector_op(op, known, builder)
    value = op.operands[1] if len(op.operands) > 1 else Const(0)
    assert isinstance(value, Expr), "a fill has a scalar"
    single = store_everywhere(rest, cast(value, rest.dtype), op, builder)
    if pairs is None:
        return single
    vector = replace(op, operands=(pairs, *op.operands[1:]))
    return (*lower_vector_op(vector, known, builder), *single)


def _in_pairs(region: Region) -> tuple[Region | None, Region | None]:
    """The part of a region whose runs have an even number of bytes, and the rest: of one run the
    last of its outermost slices, of rows that lie apart the last column."""
    dims = active_dims(region)
    inner = constant_value(region.dims[dims[-1]].extent) if dims else 1
    if region.dtype.bits > 8:
        return region, None
    if not dims:
        return None, region
    last = len(region.dims) - 1
    apart = dims[-1] != last and not is_contiguous(region)
    if apart or region.dims[dims[-1]].stride != 1:
        return None, region  # single bytes that lie apart
    if is_contiguous(region):
        sizes = [constant_value(region.dims[d].extent) for d in dims]
        if any(size is not None and size % 2 == 0 for size in sizes):
            return region, None
        return _cut(region, dims[0])
    return (region, None) if inner is not None and inner % 2 == 0 else _cut(region, dims[-1])


def _cut(region: Region, dim: int) -> tuple[Region | None, Region]:
    """A dimension's even part and what is left of it."""
    whole = region.dims[dim]
    even = simplify(whole.extent // 2 * 2)
    last = Slice(simplify(whole.offset + even), simplify(whole.extent - even), whole.stride)
    rest = with_dim(region, dim, last)
    if is_constant(even, 0):
        return None, rest
    return with_dim(region, dim, replace(whole, extent=even)), rest
