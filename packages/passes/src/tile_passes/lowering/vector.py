"""Vector operations: strided operands become loops over contiguous rows, scratch becomes a buffer,
and a scalar read from ub waits for the vector pipe."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import For, KernelError, Op, Region, Slice
from tile_ir.bounds import linear_form, simplify
from tile_ir.expr import Const, Expr, Load, Var, constant_value, walk
from tile_ir.geometry import active_dims, element_offset, is_contiguous, squeezed
from tile_ir.machine import Memory
from tile_ir.nodes import Body, LoopKind, Operand, Stmt
from tile_ir.verifier import misalignment
from tile_ir.walk import Ranges
from tile_passes.lowering.builder import Builder


def lower_vector_op(op: Op, known: Ranges, builder: Builder) -> Body:
    """One vector operation as operations on contiguous, aligned runs of elements."""
    prepared = builder.with_scratch(op)
    before = _scalar_reads(prepared, builder)
    if prepared is not op and prepared.opdef.scratch(prepared):
        # Earlier vector work may still use the same scratch bytes.
        before = (*before, builder.barrier("v", op.loc))
    rows = _rows(prepared, builder) if op.opdef.elementwise else (prepared,)
    return (*before, *rows) if before or rows != (op,) else (op,)


def _scalar_reads(op: Op, builder: Builder) -> Body:
    """A scalar operand read from ub needs everything before it done (language.md, 3.5)."""
    reads_ub = any(
        isinstance(part, Load) and part.buffer.memory is Memory.UB
        for operand in op.operands
        if isinstance(operand, Expr)
        for part in walk(operand)
    )
    return (builder.barrier_all(op.loc),) if reads_ub else ()


def _rows(op: Op, builder: Builder) -> Body:
    regions = list(builder.regions(op))
    if all(is_contiguous(r) for r in regions):
        for r in regions:
            _check_alignment(op, r, builder)
        return (op,)
    shapes = {squeezed(r) for r in regions}
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
    rank = len(shapes.pop())
    inner = next(
        m for m in range(rank, -1, -1) if all(is_contiguous(_inner(r, m)) for r in regions)
    )
    variables = [builder.scalar("row") for _ in range(rank - inner)]
    operands = tuple(_at_row(o, variables) if isinstance(o, Region) else o for o in op.operands)
    for before, after in zip(op.operands, operands, strict=True):
        if isinstance(before, Region) and isinstance(after, Region):
            _check_alignment(op, after, builder)
    body: Body = (replace(op, operands=operands),)
    for depth in range(rank - inner - 1, -1, -1):
        extent = squeezed(regions[0])[depth]
        loop: Stmt = For(variables[depth], Const(0), extent, LoopKind.SERIAL, body, op.loc)
        body = (loop,)
    return body


def _inner(region: Region, count: int) -> Region:
    """The region with only its last `count` active dimensions left."""
    fixed = active_dims(region)[: len(active_dims(region)) - count]
    dims = tuple(Slice(s.offset, Const(1)) if i in fixed else s for i, s in enumerate(region.dims))
    return Region(region.buffer, dims)


def _at_row(operand: Operand, variables: list[Var]) -> Operand:
    assert isinstance(operand, Region), "checked by the caller"
    dims = list(operand.dims)
    for position, var in zip(active_dims(operand), variables, strict=False):
        s = dims[position]
        dims[position] = Slice(simplify(s.offset + var * s.stride), Const(1))
    return Region(operand.buffer, tuple(dims))


def _check_alignment(op: Op, region: Region, builder: Builder) -> None:
    """Vector operands start at whole blocks; a row pitch that is none cannot work either."""
    if region.memory is not Memory.UB:
        return
    block, size = builder.target.block_bytes, region.dtype.size
    terms, _ = linear_form(element_offset(region))
    start = misalignment(region, builder.target)
    odd_pitch = [f for f in terms.values() if f * size % block]
    if start is None and not (odd_pitch and _is_row_step(region, odd_pitch[0])):
        return
    found = (
        f"starts at byte {start}"
        if start is not None
        else (f"has rows {odd_pitch[0] * size} bytes apart")
    )
    raise KernelError(
        "operand-alignment",
        f"{op.opdef.name}: `{region.buffer.name}` {found}, expected a multiple of {block} bytes",
        op.loc,
        f"start slices and rows at multiples of {block // size} elements",
    )


def _is_row_step(region: Region, factor: int) -> bool:
    """Whether the odd factor is the pitch of a dimension, so that some row is surely misaligned."""
    step = 1
    for dim in reversed(region.buffer.shape):
        if step == factor and step > 1:
            return True
        step *= constant_value(dim) or 1
    return False
