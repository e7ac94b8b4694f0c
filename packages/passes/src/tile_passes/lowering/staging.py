"""Operands of operations that take one run of elements: what is no run, or starts inside a block,
is moved to a buffer of the compiler's own before the operation, and back behind it. So is what is
written into what is read."""

from __future__ import annotations

from tile_ir import (
    Body,
    Const,
    Expr,
    KernelError,
    Load,
    Memory,
    Op,
    Operand,
    Overlap,
    Region,
    Slice,
    Stmt,
    Store,
    accesses,
    active_dims,
    constant_value,
    element_count,
    element_offset,
    is_contiguous,
    linear_form,
    overwriting,
    simplify,
)
from tile_ir.analysis import Ranges
from tile_ir.layout.overlap import overlap
from tile_ir.ops.rules import elements_bound
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import element_of, in_loops
from tile_passes.lowering.vector import lower_vector_op


def lower_flat_op(op: Op, known: Ranges, builder: Builder) -> Body:
    """The operation between the moves its operands need; without any it is a plain one."""
    before: list[Stmt] = []
    after: list[Stmt] = []
    operands: list[Operand] = list(op.operands)
    for i, operand in enumerate(op.operands):
        definition = op.opdef.operand_def(i)
        if not isinstance(operand, Region) or _is_run(operand, builder):
            continue
        name = definition.name if not definition.variadic else f"{definition.name}_{i}"
        stage = builder.staging(name, operand.dtype, elements_bound(operand), op.loc)
        count = element_count(operand)
        run = Region(stage, (Slice(Const(0), count),))
        if definition.access.reads:
            before += _move(operand, run, op, known, builder)
        if definition.access.writes:
            _whole(op, definition.name, operand)
            after += _move(run, operand, op, known, builder)
        operands[i] = run
    if not before and not after:
        return lower_vector_op(op, known, builder)
    moved = replace(op, operands=tuple(operands))
    return (*before, *lower_vector_op(moved, known, builder), *after)


def lower_overlapping(op: Op, known: Ranges, builder: Builder) -> Body:
    """An operation that writes into what it reads, through a buffer of the compiler's own."""
    i, dst = next(
        (i, o)
        for i, o in enumerate(op.operands)
        if isinstance(o, Region) and op.opdef.operand_def(i).access.writes
    )
    name = op.opdef.operand_def(i).name
    stage = builder.staging(name, dst.dtype, elements_bound(dst), op.loc)
    run = Region(stage, (Slice(Const(0), element_count(dst)),))
    moved = replace(op, operands=(*op.operands[:i], run, *op.operands[i + 1 :]))
    before = () if overwriting(op) is True else _move(dst, run, op, known, builder)
    after = _move(run, dst, op, known, builder)
    return (*before, *lower_vector_op(moved, known, builder), *after)


def writes_what_it_reads(op: Op) -> bool:
    """Whether what is written may share elements with another operand."""
    written = [r for r, access in accesses(op) if access.writes]
    return any(
        other is not target and overlap(target, other) is not Overlap.NONE
        for target in written
        for other, _ in accesses(op)
    )


def _is_run(region: Region, builder: Builder) -> bool:
    """Whether the operation can take the region as it is. The start of a mask is only what can be
    proved; other types are the user's to align."""
    if region.memory is not Memory.UB:
        return True
    return is_contiguous(region) and (region.dtype.size > 1 or _aligned(region, builder))


def _aligned(region: Region, builder: Builder) -> bool:
    """Whether the region surely starts at a block."""
    terms, constant = linear_form(element_offset(region))
    size, block = region.dtype.size, builder.target.alignment[Memory.UB]
    return all(factor * size % block == 0 for factor in (constant, *terms.values()))


def _whole(op: Op, name: str, region: Region) -> None:
    """Require that all of a region that is moved back was written."""
    needed = op.opdef.uses(op).get(name) if op.opdef.uses is not None else None
    if needed is not None and simplify(needed) != element_count(region):
        raise KernelError(
            "strided-operand",
            f"{op.opdef.name}: `{region.buffer.name}` is not contiguous, and how much of it is "
            "written is only known at run time",
            op.loc,
            "write to a buffer of its own, then copy",
        )


def _move(src: Region, dst: Region, op: Op, known: Ranges, builder: Builder) -> Body:
    """One of both is the stage. Rows that start at blocks go with vector copies; bytes that do not,
    one by one with the scalar unit."""
    tile = dst if is_contiguous(src) and src.buffer.rank == 1 and _is_run(src, builder) else src
    if tile.dtype.size == 1 and not _rows_aligned(tile, builder):
        return _bytes(src, dst, tile, op, builder)
    copy = builder.op("copy_ub_ub", (src, dst), op.loc)
    return lower_vector_op(copy, known, builder)


def _rows_aligned(tile: Region, builder: Builder) -> bool:
    """Whether every row of a strided region starts at a block, and its run in the stage too."""
    block = builder.target.alignment[Memory.UB]
    dims = active_dims(tile)
    row = constant_value(tile.dims[dims[-1]].extent) if dims else 1
    pitches = [constant_value(d) for d in tile.buffer.shape[-1:]] if len(dims) > 1 else []
    whole = all(size is not None and size % block == 0 for size in (*pitches, row))
    return _aligned(tile, builder) and (is_contiguous(tile) or whole)


def _bytes(src: Region, dst: Region, tile: Region, op: Op, builder: Builder) -> Body:
    dims = active_dims(tile)
    variables = [builder.scalar("byte") for _ in dims]
    extents = [tile.dims[dim].extent for dim in dims]
    flat: Expr = Const(0)
    for extent, var in zip(extents, variables, strict=True):
        flat = flat * extent + var
    inside = (simplify(flat),)
    outside = element_of(tile, dict(zip(dims, variables, strict=True)))
    from_, to = (outside, inside) if tile is src else (inside, outside)
    store = Store(dst.buffer, to, Load(src.buffer, from_), op.loc)
    return in_loops(zip(variables, extents, strict=True), (store,), op.loc)
