"""Load rows that begin a few elements before their tensor: the transfer pads them."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import (
    BLOCK_BYTES,
    INT32,
    ONE,
    OPS,
    Body,
    Const,
    Expr,
    If,
    Memory,
    Op,
    Slice,
    Target,
    Var,
    cast,
    ceildiv,
    check_op,
    conjunction,
    is_constant,
    maximum,
    minimum,
    simplify,
)
from tile_ir.layout.tile_copy import match_copy
from tile_ir.ops.movement import COPY_GM_UB_PADDED
from tile_ir.quick_dataclasses import dataclass
from tile_passes.free_names import FreeNames
from tile_passes.lowering.alignment import starts_at_blocks
from tile_passes.lowering.region_parts import in_loops, part_along, slice_at, with_dim


@dataclass(frozen=True, slots=True)
class PaddedRows:
    """Pads loads to ub. `least` is the least value that an expression surely has where the load
    stands."""

    least: Callable[[Expr], float]
    names: FreeNames
    target: Target

    def pads(self, op: Op) -> bool:
        """Whether a load may begin before its tensor in the last dimension, by a block at most, and
        its rows start at blocks of ub."""
        src, dst = op.region("src"), op.region("dst")
        most = -self.least(src.dims[-1].offset)
        if dst.memory is not Memory.UB or src.dtype is not dst.dtype:
            return False
        if not 0 < most <= dst.dtype.elements_in(BLOCK_BYTES):
            return False
        pairs = [(p.src_dim, p.dst_dim) for p in match_copy(src, dst)]
        if (len(src.dims) - 1, len(dst.dims) - 1) not in pairs:
            return False
        one, _ = self.one_matrix(op)
        inside = self.padded(one, cast(Const(0), INT32), one.region("src").dims[-1].extent, None)
        return starts_at_blocks(one.region("dst"), self.target) and (
            check_op(inside, self.target) is None
        )

    def load(self, op: Op) -> Body:
        """The load, matrix by matrix."""
        one, outer = self.one_matrix(op)
        return in_loops(outer, self.rows(one), op.loc)

    def one_matrix(self, op: Op) -> tuple[Op, list[tuple[Var, Expr]]]:
        """The load of one matrix, and the loops over those there are."""
        src, dst = op.region("src"), op.region("dst")
        loops: list[tuple[Var, Expr]] = []
        rows = [p for p in match_copy(src, dst) if p.dst_dim != len(dst.dims) - 1]
        for pair in rows[:-1]:
            var = Var(self.names.fresh("matrix"))
            extent = ONE if pair.dst_dim is None else dst.dims[pair.dst_dim].extent
            if is_constant(extent, 1):
                continue
            loops.append((var, extent))
            src = src if pair.src_dim is None else slice_at(src, pair.src_dim, var)
            dst = dst if pair.dst_dim is None else slice_at(dst, pair.dst_dim, var)
        return Op(op.opdef, (src, dst, *op.operands[2:]), op.attrs, op.loc), loops

    def rows(self, op: Op) -> Body:
        """The load of a matrix whose rows may end behind the tensor, too."""
        src, dst = op.region("src"), op.region("dst")
        s, size = src.dims[-1], src.buffer.shape[-1]
        unit = dst.dtype.elements_in(BLOCK_BYTES)
        left = simplify(maximum(-s.offset, 0))
        room = simplify(size - s.offset - s.extent)
        ends_late = self.least(room) < 0
        there = simplify((minimum(s.extent, size - s.offset) if ends_late else s.extent) - left)
        if self.least(there) > 0 and self.least(room) >= -unit:
            return (self.padded(op, left, there, None),)
        width = minimum(s.extent, ceildiv(simplify(left + there), unit) * unit)
        part = self.padded(op, left, there, simplify(width))
        pad = cast(Const(op.attr("pad_value") or 0), dst.dtype)
        empty = Op(OPS["fill"], (dst, pad), (), op.loc)
        cut: Body = (empty, If(simplify(there > 0), (part,), (), op.loc))
        whole = self.padded(op, left, simplify(s.extent - left), None)
        tests = [simplify(there > 0), *([simplify(room >= 0)] if ends_late else [])]
        return (If(conjunction(tests), (whole,), cut, op.loc),)

    def padded(self, op: Op, left: Expr, there: Expr, width: Expr | None) -> Op:
        """The load of so many elements of each row of gm, with `left` values before them; with a
        width, of the first columns only."""
        src, dst = op.region("src"), op.region("dst")
        inside = part_along(src, len(src.dims) - 1, left, there)
        if width is not None:
            last = len(dst.dims) - 1
            dst = with_dim(dst, last, Slice(dst.dims[last].offset, width))
        attrs = (float(op.attr("pad_value") or 0),)
        return Op(COPY_GM_UB_PADDED, (inside, dst, cast(left, INT32)), attrs, op.loc)
