"""Build copies with rows of their own stride, of fractals, and for a shorter product
(docs/rules/copies.md#fractals)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tile_frontend._arguments.build_op import build_op
from tile_frontend._arguments.operand_regions import cut
from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import integer_expr, known_integer, unexpected
from tile_frontend._tracing.trace import current
from tile_frontend._tracing.values import Pending
from tile_ir import (
    FRACTAL_ROWS,
    OPS,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    KernelError,
    Load,
    LoopKind,
    Memory,
    Op,
    Region,
    Slice,
    active_dims,
    constant_value,
    k0_elements,
    simplify,
    strides,
    walk_ops,
)  # fmt: skip  # fmt: skip
from tile_ir.ops.movement import is_fractals


def copy_with_stride(
    src: Region | Load, dst: Region | Load, stride: Any, options: Mapping[str, Any]
) -> Pending:
    """A row at a time: the last dimension of the tile on chip is a row, those before it count them.
    Where gm ends, a row is cut as in every copy; an l1 matrix is not zeroed before.

    Raises Fault where not exactly one side is in gm, and where the tensor has more dimensions than
    one and the stride is no multiple of the size of its rows.
    """
    trace = current("copy")
    if (known_integer(stride) or 0) < 0:
        raise unexpected("copy: stride", stride, "a number of elements")
    pitch = integer_expr("copy: stride", stride, "a number of elements")
    sides = {"src": src, "dst": dst}
    outside = [name for name, side in sides.items() if side.buffer.memory is Memory.GM]
    inside = "dst" if outside == ["src"] else "src"
    tile = sides[inside]
    if len(outside) != 1 or not isinstance(tile, Region):
        raise Fault(
            "copy-option", "copy: stride is only for copies between gm and a tile", None, "stride"
        )
    rows = [d for d in active_dims(tile) if d != len(tile.dims) - 1]
    counters = [trace.loop_variable("row") for _ in rows]
    number: Expr = Const(0)
    dims = list(tile.dims)
    for dim, counter in zip(rows, counters, strict=True):
        old = dims[dim]
        number = number * old.extent + counter
        dims[dim] = Slice(simplify(old.offset + counter * old.stride), Const(1))
    regions = {
        outside[0]: _row_in_gm(sides[outside[0]], simplify(number), pitch, tile.dims[-1].extent),
        inside: Region(tile.buffer, tuple(dims)),
    }
    pending = build_op(OPS["copy"], {**regions, **options}, "copy")
    for dim, counter in zip(reversed(rows), reversed(counters), strict=True):
        body, count = (pending.stmt,), tile.dims[dim].extent
        pending.stmt = For(counter, Const(0), count, LoopKind.SERIAL, body, trace.here)
    return pending


def _row_in_gm(side: Region | Load, number: Expr, pitch: Expr, columns: Expr) -> Region:
    """The row of that number: in a flat tensor any elements, in others one of its own rows."""
    buffer = side.buffer
    starts = side.indices if isinstance(side, Load) else tuple(s.offset for s in side.dims)
    dims = [Slice(simplify(start), Const(1)) for start in starts]
    dims[-1] = replace(dims[-1], extent=columns)
    if len(dims) == 1:
        dims[0] = Slice(simplify(starts[0] + number * pitch), columns)
        return Region(buffer, tuple(dims))
    step, size = constant_value(pitch), constant_value(strides(buffer)[-2])
    if step is None or size is None or step % size:
        raise Fault(
            "copy-option",
            f"copy: `{buffer.name}` has {len(dims)} dimensions, but the stride is no multiple of "
            "the elements of its rows",
            "declare the tensor with one dimension: it may have any stride",
            "stride",
        )
    dims[-2] = Slice(simplify(starts[-2] + number * (step // size)), Const(1))
    return Region(buffer, tuple(dims))


def copy_of_fractals(src: Region | Load, dst: Region | Load, options: Mapping[str, Any]) -> Pending:
    """src is a tensor [columns of fractals, rows of fractals, 16, elements of 32 bytes], or the
    index of a first fractal; dst the l1 matrix of so many rows and columns. Nothing is cut at the
    edge of the tensor.

    Raises Fault for any other src, and for an option that this path has not.
    """
    for name, value in options.items():
        if value not in (None, False):
            raise Fault("copy-option", f"copy: {name} is not for tiles in NZ order", argument=name)
    if not isinstance(dst, Region):
        message = f"copy: dst is an element of `{dst.buffer.name}`, expected a tile of l1"
        raise Fault("copy-extent", message, argument="dst")
    fractals = _from_first(src, dst) if isinstance(src, Load) else src
    if not is_fractals(fractals):
        height, width = FRACTAL_ROWS, k0_elements(src.buffer.dtype)
        raise Fault(
            "shape-mismatch",
            f"copy: `{src.buffer.name}` has no fractals of {height} rows of {width} elements in "
            "gm, as nz=True says",
            f"its shape ends in [columns // {width}, rows // {height}, {height}, {width}], and "
            "whole fractals are copied",
            "src",
        )
    return build_op(OPS["copy_gm_l1_nz"], {"src": fractals, "dst": dst}, "copy")


def _from_first(first: Load, dst: Region) -> Region:
    """So many fractals as the tile has."""
    height, width = FRACTAL_ROWS, k0_elements(first.buffer.dtype)
    rows, columns = ((Const(1),) * 2 + dst.extents)[-2:]
    sizes = (simplify(columns // width), simplify(rows // height), Const(height), Const(width))
    rank = len(first.indices)
    extents = (*(Const(1) for _ in range(rank - 4)), *sizes[-rank:])
    return Region(first.buffer, tuple(map(Slice, first.indices, extents)))


# The dimension of k and that of n.
_DIMENSIONS: Mapping[Memory, Mapping[str, int]] = {
    Memory.L0A: {"real_k": -1},
    Memory.L0B: {"real_k": -2, "real_n": -1},
}


@dataclass(frozen=True, slots=True)
class RegisterExtents:
    """What a copy said of its registers."""

    sizes: Mapping[str, Expr]
    turned: bool

    @staticmethod
    def of(given: Mapping[str, Any], turned: bool) -> RegisterExtents:
        """Raises Fault for what is no number."""
        known = {n: integer_expr(f"copy: {n}", v) for n, v in given.items() if v is not None}
        return RegisterExtents(known, turned)

    def cut(self, src: Region, dst: Region, memory: Memory) -> tuple[Region, Region]:
        """Both sides cut to what a product reads of a `dst` in this memory."""
        for name, dim in _DIMENSIONS.get(memory, {}).items():
            if name not in self.sizes or min(len(src.dims), len(dst.dims)) < 2:
                continue
            size, have = self.sizes[name], constant_value(dst.extents[dim])
            number = constant_value(size)
            if number is not None and have is not None and not 0 < number <= have:
                message = f"copy: {name} is {number}, but `{dst.buffer.name}` has {have}"
                raise Fault("attribute-value", message, argument=name)
            src = cut(src, -3 - dim if self.turned else dim, size)
            dst = cut(dst, dim, size)
        return src, dst

    def cut_open(self, op: Op, body: Body) -> Op:
        """A copy to a buffer whose memory is open, cut as the products of the body read it. Raises
        KernelError where no product says which operand the buffer is."""
        src, dst = op.region("src"), op.region("dst")
        found = set(_memories(body, dst.buffer))
        if len(found) != 1:
            raise KernelError(
                "open-register",
                f"copy: {next(iter(self.sizes))} is about what a product reads, but no "
                f"product says whether `{dst.buffer.name}` is its left or its right operand",
                op.loc,
                "allocate it with T.alloc_L0A or T.alloc_L0B",
            )
        try:
            sides = self.cut(src, dst, found.pop())
        except Fault as fault:
            raise KernelError(fault.slug, fault.message, op.loc, fault.hint) from None
        return replace(op, operands=(*sides, *op.operands[2:]))


def _memories(body: Body, buffer: Buffer) -> Iterator[Memory]:
    """The memories of registers that uses of the buffer ask for."""
    for op in walk_ops(body):
        for i, operand in enumerate(op.operands):
            memories = op.opdef.operand_def(i).memories
            if isinstance(operand, Region) and operand.buffer is buffer and len(memories) == 1:
                yield from memories & _DIMENSIONS.keys()
