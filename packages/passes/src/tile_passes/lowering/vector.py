"""Vector operations: strided operands become rows of one instruction, or loops over contiguous
rows; scratch becomes a buffer."""

from __future__ import annotations

from tile_ir import (
    Body,
    Const,
    Expr,
    KernelError,
    Op,
    Region,
    Slice,
    Var,
    active_dims,
    constant_value,
    is_contiguous,
    simplify,
    squeezed,
)
from tile_ir.analysis import Ranges
from tile_ir.layout.row_form import dims_outside, is_run, product, row_form
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.alignment import check_alignment
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import in_loops, slice_at


def lower_vector_op(op: Op, known: Ranges, builder: Builder) -> Body:
    """One vector operation as operations on aligned runs of elements, or on rows of such."""
    prepared = builder.with_scratch(op)
    rows = in_rows(prepared, builder) if op.opdef.elementwise else _whole(prepared, builder)
    return rows if rows != (op,) else (op,)


def _whole(op: Op, builder: Builder) -> Body:
    """An operation that handles rows itself: its regions only have to start at whole blocks, if
    even that."""
    for region in () if op.opdef.inside_blocks else builder.regions(op):
        check_alignment(op, region, builder)
    return (op,)


def in_rows(op: Op, builder: Builder) -> Body:
    """An elementwise operation on contiguous operands or as a `RowForm`, inside loops over rows if
    it needs any."""
    # Scratch is not walked: every row uses all of it, once the row before is done with it.
    scratch = op.scratch
    regions = [r for r in builder.regions(op) if r is not scratch]
    if all(is_contiguous(r) for r in regions):
        for r in regions:
            check_alignment(op, r, builder)
        return (op,)
    # Contiguous vectors may stand beside strided matrices: they are walked in step.
    matrices = [r for r in regions if not is_run(r)]
    has_count = any(
        d.name == "count" and o is not None
        for d, o in zip(op.opdef.operands, op.operands, strict=False)
    )
    if len({squeezed(m) for m in matrices}) != 1 or has_count:
        strided = next(r for r in regions if not is_contiguous(r))
        raise KernelError(
            "strided-operand",
            f"{op.opdef.name}: `{strided.buffer.name}` is not contiguous, so all operands need the "
            "same shape",
            op.loc,
            "slice the operands alike, or copy the slice to a buffer of its own",
        )
    shape, outside = squeezed(matrices[0]), dims_outside(matrices)
    unnamed = ([Var("row")] * loops for loops in range(outside))
    loops = next((len(v) for v in unnamed if _is_one_step(_walked(op, shape, v))), outside)
    variables = [builder.scalar("row") for _ in range(loops)]
    one_step = _walked(op, shape, variables)
    for before, after in zip(op.operands, one_step.operands, strict=True):
        if isinstance(after, Region) and before is not scratch:
            check_alignment(op, after, builder, variables)
    return in_loops(zip(variables, shape, strict=False), (one_step,), op.loc)


def _walked(op: Op, shape: tuple[Expr, ...], variables: list[Var]) -> Op:
    """The operation on one element of the first dimensions, those that have a variable."""
    outer, inside = shape[: len(variables)], product(shape[len(variables) :])
    operands = tuple(
        _at_row(o, variables, outer, inside) if isinstance(o, Region) and o is not op.scratch else o
        for o in op.operands
    )
    return replace(op, operands=operands)


def _is_one_step(op: Op) -> bool:
    """Whether instructions that step from row to row are fewer than rows, as far as can be seen."""
    form = row_form(op)
    if form is None:
        return False
    rows, pieces = constant_value(form.rows), form.issues
    return rows is None or pieces is None or pieces < rows


def _at_row(region: Region, variables: list[Var], outer: tuple[Expr, ...], per_row: Expr) -> Region:
    """The part of an operand that belongs to one row."""
    if is_run(region):
        index: Expr = Const(0)
        for var, extent in zip(variables, outer, strict=True):
            index = index * extent + var
        start = simplify(region.dims[0].offset + index * per_row)
        return Region(region.buffer, (Slice(start, per_row),))
    for position, var in zip(active_dims(region), variables, strict=False):
        region = slice_at(region, position, var)
    return region
