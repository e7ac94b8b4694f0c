"""Merges that need a second buffer."""

from __future__ import annotations

from tile_ir import Body, Const, Op, Region, Slice, element_count
from tile_ir.analysis import Ranges
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.staging import lower_flat_op
from tile_passes.lowering.vector import lower_vector_op


def lower_merge_top(op: Op, known: Ranges, builder: Builder) -> Body:
    """Both lists are merged in scratch; the first half goes back."""
    op = builder.with_scratch(op)
    dst, src, scratch = op.region("dst"), op.region("src"), op.region("scratch").buffer
    count = element_count(src)
    whole = Region(scratch, (Slice(Const(0), count * 2),))
    merge = builder.op("merge_sort", (whole, dst, src), op.loc)
    first = Region(scratch, (Slice(Const(0), count),))
    copy = builder.op("copy_ub_ub", (first, dst), op.loc)
    return (*lower_flat_op(merge, known, builder), *lower_vector_op(copy, known, builder))
