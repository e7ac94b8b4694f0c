"""Reductions the vector unit does not have: of types it only converts or folds, and of rows that
start inside blocks of 32 bytes."""

from __future__ import annotations

from tile_ir import (
    BFLOAT16,
    BLOCK_BYTES,
    FLOAT16,
    FLOAT32,
    INT16,
    INT32,
    Body,
    Const,
    DType,
    Op,
    Region,
    round_up,
)
from tile_ir.analysis import Ranges
from tile_ir.ops.reduce import is_packed, reduced_axis
from tile_ir.ops.rules import static_matrix
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.composed_steps import ComposedSteps, matrix_part

_FOLD = {"reduce_sum": "add", "reduce_max": "max", "reduce_min": "min"}


def lower_composed_reduction(op: Op, known: Ranges, builder: Builder) -> Body:
    """bfloat16 through float32, bytes through float16 or, since sums wrap, int16; integers by
    folding halves; rows that lie packed are picked apart first."""
    steps = _Steps(op, known, builder)
    src, dst = op.region("src"), op.region("dst")
    name = op.opdef.called
    rows, columns = static_matrix(src) or (0, 0)
    kept = rows if reduced_axis(op) == 1 else columns
    kind = _work_type(src.dtype, name)
    work = steps.rows_in_blocks(src, kind, rows, columns)
    if kind.is_float:
        result = steps.vector("result", kind, kept)
        axis = 1 if reduced_axis(op) == 1 else 0
        steps.emit(name, matrix_part(work, rows, columns), result, None, attrs=(axis, True))
    elif reduced_axis(op) == 1:
        result = steps.fold_columns(_FOLD[name], work, rows, columns)
    else:
        result = steps.fold_rows(_FOLD[name], work, rows, columns)
    if op.attr("clear") is False:
        if src.dtype is BFLOAT16:  # as a result of its own it would be rounded
            result = steps.converted(steps.converted(result, BFLOAT16, "narrow"), kind, "result")
        old = steps.converted(dst, kind, "old")
        steps.emit(_FOLD[name], result, result, old)
    steps.into(result, dst)
    return steps.lowered()


def _work_type(dtype: DType, name: str) -> DType:
    if dtype is BFLOAT16:
        return FLOAT32
    if dtype.size == 1:
        return INT16 if name == "reduce_sum" else FLOAT16
    return dtype


class _Steps(ComposedSteps):
    """Those of a reduction."""

    def rows_in_blocks(self, src: Region, kind: DType, rows: int, columns: int) -> Region:
        """A copy of the matrix in the type, whose rows start at whole blocks."""
        work = self.matrix("rows", kind, rows, columns)
        if not is_packed(src):
            self.convert(src, matrix_part(work, rows, columns))
            return work
        if src.dtype is not kind:
            src = self.converted(src, kind, "run")
        pitch = round_up(columns, BLOCK_BYTES // kind.size)
        places = self.matrix("places", INT32, rows, pitch)
        starts = self.matrix("starts", INT32, rows, pitch)
        line, column = self.vector("line", INT32, pitch), self.vector("column", INT32, rows)
        size = Const(kind.size)
        self.emit("arith_progression", line, Const(0), size, None)
        self.emit("arith_progression", column, Const(0), Const(columns * kind.size), None)
        self.emit("broadcast", matrix_part(places, rows, pitch), line, None, attrs=(0,))
        self.emit("broadcast", matrix_part(starts, rows, pitch), column, None, attrs=(1,))
        self.emit("add", places, places, starts)
        self.emit("min", places, places, Const((rows * columns - 1) * kind.size))
        self.emit("gather", work, src, matrix_part(places, rows, pitch), Const(0))
        return work

    def fold_rows(self, fold: str, work: Region, rows: int, columns: int) -> Region:
        while rows > 1:
            half = rows // 2
            first, last = (matrix_part(work, half, columns, row) for row in (0, rows - half))
            self.emit(fold, first, first, last)
            rows -= half
        return matrix_part(work, 1, columns)

    def fold_columns(self, fold: str, work: Region, rows: int, columns: int) -> Region:
        """Halves onto halves down to one block; its elements, a column at a time."""
        unit = BLOCK_BYTES // work.dtype.size
        while columns > unit:
            half = round_up(-(-columns // 2), unit)
            first, last = (matrix_part(work, rows, columns - half, 0, at) for at in (0, half))
            self.emit(fold, first, first, last)
            columns = half
        _, pitch = static_matrix(work) or (0, 0)
        places = self.vector("places", INT32, rows)
        self.emit("arith_progression", places, Const(0), Const(pitch * work.dtype.size), None)
        result = self.vector("result", work.dtype, rows)
        self.emit("gather", result, work, places, Const(0))
        for column in range(1, columns):
            other = self.vector("other", work.dtype, rows)
            self.emit("gather", other, work, places, Const(column * work.dtype.size))
            self.emit(fold, result, result, other)
        return result

    def into(self, result: Region, dst: Region) -> None:
        """The result as it is stored: a sum of bytes wraps, where conversions saturate."""
        if dst.dtype.size == 1 and result.dtype is INT16:
            if dst.dtype.limits()[0]:
                self.emit("bitwise_lshift", result, result, Const(8))
                self.emit("bitwise_rshift", result, result, Const(8))
            else:
                self.emit("bitwise_and", result, result, Const(255), None)
        self.convert(result, dst)
