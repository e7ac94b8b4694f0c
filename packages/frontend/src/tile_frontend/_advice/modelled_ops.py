"""Build operations on tiles of given sizes, for the cost query alone."""

from __future__ import annotations

from tile_ir import OPS, Buffer, Const, DType, Loc, Memory, Op, Region, Slice, Target
from tile_ir.costs.timing import timing_of

NOWHERE = Loc("", 1, 1)


def tile(memory: Memory, dtype: DType, rows: int, columns: int) -> Buffer:
    """A matrix of one memory."""
    return Buffer("tile", memory, dtype, (Const(rows), Const(columns)), NOWHERE)


def corner(buffer: Buffer, rows: int, columns: int) -> Region:
    """The first rows and columns of a matrix."""
    return Region(buffer, tuple(Slice(Const(0), Const(size)) for size in (rows, columns)))


def operation(name: str, *operands: Region | Const) -> Op:
    """An operation with none of its options."""
    record = OPS[name]
    return Op(record, operands, (False,) * len(record.attrs), NOWHERE)


def cycles_from_hbm(size: float, target: Target) -> float:
    """Core cycles to read so many bytes from HBM at its full rate."""
    return size / (timing_of(target)["hbm_bandwidth"] * 1e3 / target.clock_mhz)
