"""`clear_l0c`: only a product writes an accumulator, so zeros get there as one of zeros."""

from __future__ import annotations

from tile_ir import BOOL, FLOAT16, INT8, INT32, Body, Const, Memory, Op, Region
from tile_ir.analysis import Ranges
from tile_ir.ops.rules import static_matrix
from tile_passes.lowering.builder import Builder


def lower_clear_accumulator(op: Op, known: Ranges, builder: Builder) -> Body:
    """One step of k with zeroed registers, which overwrites."""
    dst, loc = op.region("dst"), op.loc
    sizes = static_matrix(dst)
    assert sizes is not None, "checked by the record"
    rows, columns = sizes
    # The type whose products the accumulator takes, and elements of k in one step of it.
    dtype, k = (INT8, 32) if dst.dtype == INT32 else (FLOAT16, 16)
    a = Region.whole(builder.scratch("zero_a", Memory.L0A, dtype, (rows, k), loc))
    b = Region.whole(builder.scratch("zero_b", Memory.L0B, dtype, (k, columns), loc))
    return (
        builder.op("zero_l0", (a,), loc),
        builder.op("zero_l0", (b,), loc),
        builder.op("mma", (a, b, dst, Const(True, BOOL)), loc),
    )
