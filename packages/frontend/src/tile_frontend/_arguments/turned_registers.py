"""Registers that scripts declare as they lie in l1, for a product that reads them transposed: here
the load turns a matrix, so such a register is the transposed one from the beginning."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Tile
from tile_ir import OPS, Body, Buffer, KernelError, Op, Region, Stmt, buffers_of, rewrite


@dataclass(frozen=True, slots=True)
class TurnedRegister:
    """A register with the buffer that stands for it in what was traced before, and the transposed
    one. Called with the whole body, it says what loads it."""

    tile: Tile
    declared: Buffer
    buffer: Buffer

    def __call__(self, body: Body) -> Body:
        self.tile.renew(self.buffer)
        return rewrite(body, self._load)

    def region(self, declared: Region) -> Region:
        """The same part of the transposed matrix."""
        *front, rows, columns = declared.dims
        return Region(self.buffer, (*front, columns, rows))

    def _load(self, stmt: Stmt) -> Stmt:
        """The statement with the load turned. Raises KernelError for another use."""
        if not isinstance(stmt, Op) or self.declared not in buffers_of(stmt):
            return stmt
        if stmt.opdef is not OPS["copy"] or stmt.region("dst").buffer != self.declared:
            raise KernelError(
                "register-order",
                f"`{self.declared.name}` is read transposed by one product and as it is elsewhere",
                stmt.loc,
                "load it into two registers",
            )
        operands = (stmt.operands[0], self.region(stmt.region("dst")), *stmt.operands[2:])
        names = [a.name for a in stmt.opdef.attrs]
        attrs = tuple(
            (not value) if name == "transpose" else value
            for name, value in zip(names, stmt.attrs, strict=True)
        )
        return replace(stmt, operands=operands, attrs=attrs)


def turned(region: Region) -> Region:
    """A part of a register as a product reads it, whose text says that it is transposed."""
    trace = current("T.gemm")
    known = (c for c in trace.at_the_end if isinstance(c, TurnedRegister))
    register = next((r for r in known if r.declared == region.buffer), None)
    if register is None:
        tile = next(t for t in trace.allocations if t.is_named and t.buffer == region.buffer)
        *front, rows, columns = region.buffer.shape
        new = replace(region.buffer, shape=(*front, columns, rows))
        register = TurnedRegister(tile, region.buffer, new)
        trace.at_the_end.append(register)
    return register.region(region)
