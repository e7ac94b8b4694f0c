"""Gathers the hardware has no instruction for."""

from __future__ import annotations

from tile_ir import Body, Const, Op, Region, Slice, element_count
from tile_ir.analysis import Ranges
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.staging import lower_flat_op
from tile_passes.lowering.vector import lower_vector_op


def lower_gather_elements(op: Op, known: Ranges, builder: Builder) -> Body:
    """Indices become byte offsets in scratch: the script's indices stay as they are."""
    op = builder.with_scratch(op)
    src, index = op.region("src"), op.region("index")
    offsets = Region(op.region("scratch").buffer, (Slice(Const(0), element_count(index)),))
    shift = Const(src.dtype.size.bit_length() - 1)
    shifted = builder.op("bitwise_lshift", (offsets, index, shift), op.loc)
    gathered = builder.op("gather", (op.operand("dst"), src, offsets, Const(0)), op.loc)
    return (*lower_vector_op(shifted, known, builder), *lower_flat_op(gathered, known, builder))
