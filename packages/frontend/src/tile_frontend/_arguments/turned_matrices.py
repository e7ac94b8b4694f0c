"""Transpose the declarations of matrices that scripts for the next chip transpose in a copy.

On this chip loads from l1 can turn a matrix, and loads from gm cannot. Such scripts declare a
register that a product reads transposed, or a tile of l1 that a copy from gm turns. Both become the
transposed matrix, from their declaration on.
"""

from __future__ import annotations

from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Tile
from tile_ir import (
    OPS,
    AttrValue,
    Body,
    Buffer,
    KernelError,
    Memory,
    Op,
    Region,
    Stmt,
    check_op,
    rewrite,
)
from tile_ir.quick_dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class TurnedMatrix:
    """A tile with its buffer in the statements traced before, and the transposed one. Called with
    the whole body, it replaces the first by the second everywhere."""

    tile: Tile
    declared: Buffer
    buffer: Buffer

    def __call__(self, body: Body) -> Body:
        self.tile.renew(self.buffer)
        return rewrite(body, self._use)

    def region(self, declared: Region) -> Region:
        """The same part of the transposed matrix."""
        *front, rows, columns = declared.dims
        return Region(self.buffer, (*front, columns, rows))

    def _use(self, stmt: Stmt) -> Stmt:
        """The statement with the matrix turned. Raises KernelError for a use that can not."""
        if not isinstance(stmt, Op):
            return stmt
        mine = {
            stmt.opdef.operand_def(i).name
            for i, operand in enumerate(stmt.operands)
            if isinstance(operand, Region) and operand.buffer == self.declared
        }
        if not mine:
            return stmt
        copies = stmt.opdef is OPS["copy"]
        toggled = {"transpose"} if copies else {f"transpose_{name}" for name in mine}
        load = copies and "dst" in mine and stmt.region("src").memory is Memory.GM
        if load or not toggled <= {a.name for a in stmt.opdef.attrs}:
            raise KernelError(
                "matrix-order",
                f"`{self.declared.name}` is transposed in one place and as it is declared here",
                stmt.loc,
                "use two tiles",
            )
        operands = tuple(
            self.region(o) if isinstance(o, Region) and o.buffer == self.declared else o
            for o in stmt.operands
        )
        new = replace(stmt, operands=operands, attrs=_toggled(stmt, toggled))
        problem = check_op(new, current("T.gemm").target)
        if problem is not None:
            raise KernelError(problem.slug, problem.message, stmt.loc, problem.hint)
        return new


def _toggled(op: Op, names: set[str]) -> tuple[AttrValue, ...]:
    return tuple(
        (not value) if attr.name in names else value
        for attr, value in zip(op.opdef.attrs, op.attrs, strict=True)
    )


def turned(region: Region) -> Region:
    """The region of the transposed matrix that corresponds to a region of the declared one."""
    trace = current("a turned matrix")
    known = (c for c in trace.at_the_end if isinstance(c, TurnedMatrix))
    matrix = next((m for m in known if m.declared == region.buffer), None)
    if matrix is None:
        tile = next(t for t in trace.allocations if t.is_named and t.buffer == region.buffer)
        *front, rows, columns = region.buffer.shape
        new = replace(region.buffer, shape=(*front, columns, rows))
        matrix = TurnedMatrix(tile, region.buffer, new)
        trace.at_the_end.append(matrix)
    return matrix.region(region)
