"""Vector operations one after another in working memory of the compiler's: what several composites
are made of."""

from __future__ import annotations

from dataclasses import field

from tile_ir import (
    BLOCK_BYTES,
    FLOAT16,
    AttrValue,
    Body,
    Const,
    DType,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    is_contiguous,
    round_up,
)
from tile_ir.analysis import Ranges
from tile_ir.ops.rules import static_matrix
from tile_ir.quick_dataclasses import dataclass
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.staging import lower_flat_op
from tile_passes.lowering.vector import lower_vector_op


def matrix_part(region: Region, rows: int, columns: int, row: int = 0, column: int = 0) -> Region:
    """Some rows and columns of a matrix."""
    dims = (Slice(Const(row), Const(rows)), Slice(Const(column), Const(columns)))
    return Region(region.buffer, dims)


@dataclass(eq=False)
class ComposedSteps:
    """Operations that replace `op`."""

    op: Op
    known: Ranges
    builder: Builder
    steps: list[Op] = field(default_factory=list)

    def mode(self, source: DType, dtype: DType) -> str:
        modes = self.builder.target.conversions[source.name, dtype.name]
        return "cast_rint" if "RINT" in modes else "cast_none"

    def emit(self, name: str, *operands: Operand, attrs: tuple[AttrValue, ...] = ()) -> None:
        self.steps.append(self.builder.op(name, operands, self.op.loc, *attrs))

    def lowered(self) -> Body:
        result: list[Stmt] = []
        for step in self.steps:
            lower = lower_flat_op if step.opdef.flat else lower_vector_op
            result.extend(lower(step, self.known, self.builder))
        return tuple(result)

    def vector(self, name: str, dtype: DType, size: int) -> Region:
        stage = self.builder.staging(name, dtype, size, self.op.loc)
        return Region(stage, (Slice(Const(0), Const(size)),))

    def matrix(self, name: str, dtype: DType, rows: int, columns: int) -> Region:
        """Rows of whole blocks."""
        pitch = round_up(columns, BLOCK_BYTES // dtype.size)
        return Region.whole(self.builder.staged_matrix(name, dtype, rows, pitch, self.op.loc))

    def converted(self, value: Region, kind: DType, name: str) -> Region:
        if value.dtype is kind:
            return value
        rows, columns = static_matrix(value) or (0, 0)
        result = self.vector(name, kind, rows * columns)
        self.convert(value, result)
        return result

    def convert(self, src: Region, dst: Region) -> None:
        """Values that both types hold, or to nearest."""
        between = {src.dtype.size, dst.dtype.size} == {1, 2} and FLOAT16 not in (
            src.dtype, dst.dtype,
        )  # fmt: skip
        if src.dtype is dst.dtype:
            self.emit("copy_ub_ub", src, dst)
        elif between:
            rows, columns = static_matrix(src) or (0, 0)
            if is_contiguous(src):
                part = self.vector("middle", FLOAT16, rows * columns)
            else:
                part = matrix_part(self.matrix("middle", FLOAT16, rows, columns), rows, columns)
            self.emit("cast", part, src, None, attrs=(self.mode(src.dtype, FLOAT16),))
            self.emit("cast", dst, part, None, attrs=(self.mode(FLOAT16, dst.dtype),))
        else:
            self.emit("cast", dst, src, None, attrs=(self.mode(src.dtype, dst.dtype),))
