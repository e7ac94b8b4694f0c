"""Lower one operation to operations of single pipes: by the rule of its name, or its operands."""

from __future__ import annotations

from tile_ir import (
    Body,
    Composite,
    Expr,
    KernelError,
    Memory,
    Op,
    Slice,
    accesses,
    constant_value,
    is_constant,
    linear_form,
    rewrite,
)
from tile_ir.analysis import Ranges
from tile_ir.ops.elementwise import fills_bytes
from tile_ir.ops.movement import COPY_GM_UB_PADDED
from tile_passes.lowering import LOWERINGS
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.fills import lower_fill
from tile_passes.lowering.partial_loads import lower_padded
from tile_passes.lowering.staging import (
    lower_flat_op,
    lower_overlapping,
    writes_what_it_reads,
)
from tile_passes.lowering.vector import in_rows, lower_vector_op


def lower_op(op: Op, known: Ranges, builder: Builder) -> Body:
    """Lower one operation. Raises KernelError for one that the hardware cannot do."""
    _check_registers(op, builder)
    if op.opdef.composite is Composite.YES:
        lowering = LOWERINGS[op.opdef.name]
        if not op.opdef.elementwise:
            return lowering(op, known, builder)
        # A row at a time, so that scratch is contiguous wherever the operands are not.
        rows = in_rows(op, builder)
        return rewrite(rows, lambda s: lowering(s, known, builder) if isinstance(s, Op) else s)
    if fills_bytes(op):
        return lower_fill(op, known, builder)
    if op.opdef is COPY_GM_UB_PADDED:
        return lower_padded(op, known, builder)
    on_vector = any(r.memory is Memory.UB for r in builder.regions(op))
    if op.opdef.staged and writes_what_it_reads(op):
        return lower_overlapping(op, known, builder)
    if on_vector and op.opdef.flat:
        return lower_flat_op(op, known, builder)
    if on_vector:
        return lower_vector_op(op, known, builder)
    return (op,)


def _check_registers(op: Op, builder: Builder) -> None:
    """Matrices in l0a and l0b are used in one size: the order of their fractals depends on it
    (docs/hardware/units.md#fractals). Of accumulators that are written whole columns of fractals
    are."""
    for region, access in accesses(op):
        if region.memory in (Memory.L0A, Memory.L0B):
            whole = len(builder.register_sizes[region.buffer]) == 1 and all(
                is_constant(s.offset, 0) for s in region.dims[-2:]
            )
            rule = "are used whole, or all of them in one size from the start"
            hint = "load what is multiplied: T.copy has real_k= and real_n=, T.mma k_actual= and "
            hint += "n_actual=; or allocate a buffer of the size of the slice"
        elif region.memory is Memory.L0C and access.writes:
            rows = zip(region.dims[-2:-1], region.buffer.shape[-2:-1], strict=True)
            whole = all(is_constant(s.offset, 0) and s.extent == size for s, size in rows)
            whole = whole and _in_fractals(region.dims[-1], region.buffer.shape[-1])
            rule = "are written whole, or in columns by the sixteen"
            hint = "allocate a buffer of the size of the slice; slots are leading dimensions"
        else:
            continue
        if not whole:
            raise KernelError(
                "sliced-register",
                f"{op.opdef.name}: `{region.buffer.name}` is sliced, but matrices in "
                f"{region.memory.value} {rule}",
                op.loc,
                hint,
            )


def _in_fractals(part: Slice, size: Expr) -> bool:
    """Whether no fractal of 16 columns is cut."""
    terms, constant = linear_form(part.offset)
    starts = all(number % 16 == 0 for number in (constant, *terms.values()))
    extent, columns = constant_value(part.extent), constant_value(size)
    if extent is None:
        # So many columns as the kernel finds out: the language asks for a multiple of 16.
        return starts
    if columns is None:
        return False
    return starts and (extent % 16 == 0 or (constant + extent == columns and not terms))
