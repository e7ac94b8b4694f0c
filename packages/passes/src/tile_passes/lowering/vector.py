"""Vector operations: strided operands become loops over contiguous rows, scratch becomes a
buffer."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import For, KernelError, Op, Region, Slice
from tile_ir.analysis.affine import simplify
from tile_ir.analysis.intervals import Ranges
from tile_ir.expr import Const, Expr, Var
from tile_ir.geometry import active_dims, is_contiguous, squeezed
from tile_ir.nodes import Body, LoopKind
from tile_passes.lowering.alignment import check_alignment
from tile_passes.lowering.builder import Builder


def lower_vector_op(op: Op, known: Ranges, builder: Builder) -> Body:
    """One vector operation as operations on contiguous, aligned runs of elements."""
    prepared = builder.with_scratch(op)
    rows = in_rows(prepared, builder) if op.opdef.elementwise else _whole(prepared, builder)
    return rows if rows != (op,) else (op,)


def _whole(op: Op, builder: Builder) -> Body:
    """An operation that handles rows itself: its regions only have to start at whole blocks."""
    for region in builder.regions(op):
        check_alignment(op, region, builder)
    return (op,)


def in_rows(op: Op, builder: Builder) -> Body:
    """An elementwise operation on contiguous operands, inside loops over rows if it needs any."""
    # Scratch is not walked: every row uses all of it, once the row before is done with it.
    scratch = op.scratch
    regions = [r for r in builder.regions(op) if r is not scratch]
    if all(is_contiguous(r) for r in regions):
        for r in regions:
            check_alignment(op, r, builder)
        return (op,)
    # Contiguous vectors may stand beside strided matrices: they are walked in step.
    shapes = {squeezed(r) for r in regions if not _is_vector(r)}
    has_count = any(
        d.name == "count" and o is not None
        for d, o in zip(op.opdef.operands, op.operands, strict=False)
    )
    if len(shapes) != 1 or has_count:
        strided = next(r for r in regions if not is_contiguous(r))
        raise KernelError(
            "strided-operand",
            f"{op.opdef.name}: `{strided.buffer.name}` is not contiguous, so all operands need the "
            "same shape",
            op.loc,
            "slice the operands alike, or copy the slice to a buffer of its own",
        )
    shape = shapes.pop()
    matrices = [r for r in regions if not _is_vector(r)]
    inner = next(
        m for m in range(len(shape), -1, -1) if all(is_contiguous(_inner(r, m)) for r in matrices)
    )
    outer, per_row = shape[: len(shape) - inner], _product(shape[len(shape) - inner :])
    variables = [builder.scalar("row") for _ in outer]
    operands = tuple(
        _at_row(o, variables, outer, per_row) if isinstance(o, Region) and o is not scratch else o
        for o in op.operands
    )
    for before, after in zip(op.operands, operands, strict=True):
        if isinstance(before, Region) and isinstance(after, Region) and before is not after:
            check_alignment(op, after, builder, walked_in_rows=_is_vector(before))
    one_row = replace(op, operands=operands)
    body: Body = (one_row,)
    for var, extent in zip(reversed(variables), reversed(outer), strict=True):
        body = (For(var, Const(0), extent, LoopKind.SERIAL, body, op.loc),)
    return body


def _is_vector(region: Region) -> bool:
    """A contiguous region of a one-dimensional buffer: its elements can be cut into rows."""
    return region.buffer.rank == 1 and is_contiguous(region)


def _product(extents: tuple[Expr, ...]) -> Expr:
    total: Expr = Const(1)
    for e in extents:
        total = total * e
    return simplify(total)


def _inner(region: Region, count: int) -> Region:
    """The region with only its last `count` active dimensions left."""
    fixed = active_dims(region)[: len(active_dims(region)) - count]
    dims = tuple(Slice(s.offset, Const(1)) if i in fixed else s for i, s in enumerate(region.dims))
    return Region(region.buffer, dims)


def _at_row(region: Region, variables: list[Var], outer: tuple[Expr, ...], per_row: Expr) -> Region:
    """The part of an operand that belongs to one row."""
    if _is_vector(region):
        index: Expr = Const(0)
        for var, extent in zip(variables, outer, strict=True):
            index = index * extent + var
        start = simplify(region.dims[0].offset + index * per_row)
        return Region(region.buffer, (Slice(start, per_row),))
    dims = list(region.dims)
    for position, var in zip(active_dims(region), variables, strict=False):
        s = dims[position]
        dims[position] = Slice(simplify(s.offset + var * s.stride), Const(1))
    return Region(region.buffer, tuple(dims))
