"""Broadcasts of single bytes: no instruction repeats them, so they go through float16, which holds
every value of a byte."""

from __future__ import annotations

from tile_ir import FLOAT16, Body, Const, Op, Region, Slice
from tile_ir.analysis import Ranges
from tile_ir.ops.broadcast import broadcast_axis
from tile_ir.ops.rules import static_matrix
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.composed_steps import ComposedSteps, matrix_part
from tile_passes.lowering.region_parts import part_along

# Elements in working memory at a time, where the result has more, and rows are cut by so many.
_MOST_ELEMENTS = 8192
_ROWS = 16


def lower_broadcast_bytes(op: Op, known: Ranges, builder: Builder) -> Body:
    """Some rows at a time: those of a row repeated downwards are converted again and again."""
    steps = ComposedSteps(op, known, builder)
    dst, src, axis = op.region("dst"), op.region("src"), broadcast_axis(op)
    if axis == 2:
        steps.emit("copy_ub_ub", src, dst)
        return steps.lowered()
    rows, columns = static_matrix(dst) or (0, 0)
    values = steps.converted(src, FLOAT16, "values")
    most = min(rows, max(_ROWS, _MOST_ELEMENTS // columns // _ROWS * _ROWS))
    work = steps.matrix("rows", FLOAT16, most, columns)
    for row in range(0, rows, most):
        count = min(most, rows - row)
        part = matrix_part(work, count, columns)
        if axis == 1:
            of_rows = Region(values.buffer, (Slice(Const(row), Const(count)),))
            steps.emit("broadcast", part, of_rows, None, attrs=(1,))
        elif row == 0:
            steps.emit("broadcast", part, values, None, attrs=(0,))
        mode = steps.mode(FLOAT16, dst.dtype)
        steps.emit("cast", _rows(dst, row, count), part, None, attrs=(mode,))
    return steps.lowered()


def _rows(region: Region, first: int, count: int) -> Region:
    """Some rows of a matrix; a single row is all there is."""
    if len(region.dims) == 1:
        return region
    return part_along(region, -2, Const(first), Const(count))
