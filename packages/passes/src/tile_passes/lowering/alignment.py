"""Where regions may start: at whole blocks in ub, at whole fractals in the cube memories."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import (
    BLOCK_BYTES,
    ONE,
    ZERO,
    Buffer,
    Const,
    KernelError,
    Memory,
    Op,
    Region,
    Target,
    Var,
    active_dims,
    constant_value,
    element_offset,
    is_constant,
    is_contiguous,
    k0_elements,
    linear_form,
    misalignment,
    round_up,
    simplify,
    strides,
    substitute,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder


def check_alignment(op: Op, region: Region, builder: Builder, rows: Sequence[Var] = ()) -> None:
    """Raise KernelError for a region of ub that surely starts inside a block, or whose rows do.

    `rows` are variables of loops of the compiler's: an odd step of theirs means a misaligned row.
    An offset the user computes may be fine: the simulator checks it.
    """
    if region.memory is not Memory.UB:
        return
    if all(is_constant(s.offset, 0) for s in region.dims):
        return  # nearly always: buffers start at blocks
    block = builder.target.alignment[Memory.UB]
    unit = region.dtype.elements_in(block)
    start = misalignment(region, builder.target)
    steps = [*(row_step(region, row) for row in rows), odd_pitch(region, builder.target)]
    pitch = next((step for step in steps if step % unit), 0)
    if start is None and not pitch:
        return
    apart = f"has rows {pitch * region.dtype.bits // 8} bytes apart"
    found = apart if start is None else f"starts at byte {start}"
    raise KernelError(
        "operand-alignment",
        f"{op.opdef.name}: `{region.buffer.name}` {found}, expected a multiple of {block} bytes",
        op.loc,
        f"start slices and rows at multiples of {unit} elements",
    )


def odd_pitch(region: Region, target: Target) -> int:
    """How many elements the rows of the buffer lie apart, if the region starts at some row and some
    of these surely start inside a block; else 0."""
    unit = region.dtype.elements_in(target.alignment[Memory.UB])
    terms, _ = linear_form(element_offset(region))
    odd = next((abs(f) for f in terms.values() if f % unit), 0)
    return odd if _is_row_pitch(region, odd) else 0


def starts_at_blocks(region: Region, target: Target) -> bool:
    """Whether all rows of a region in ub surely start at whole blocks."""
    if region.memory is not Memory.UB or region.is_whole():
        return True
    unit = region.dtype.elements_in(target.alignment[Memory.UB])
    terms, start = linear_form(element_offset(region))
    steps = [start, *terms.values()]
    last = len(region.dims) - 1
    if not is_contiguous(region):
        active = active_dims(region)
        steps += [constant_value(strides(region.buffer)[d]) or 1 for d in active if d != last]
        if active and active[-1] != last:
            return False
    return all(step % unit == 0 for step in steps)


def with_padded_rows(tile: Buffer) -> Buffer | None:
    """The tile with a pitch of whole blocks; None where its rows begin at blocks, or none is longer
    than a block."""
    unit = tile.dtype.elements_in(BLOCK_BYTES)
    columns = constant_value(tile.shape[-1]) if tile.shape and tile.dtype.whole_bytes else None
    if columns is None or columns % unit == 0 or columns < unit:
        return None
    return replace(tile, shape=(*tile.shape[:-1], Const(round_up(int(columns), unit))))


def row_step(region: Region, row: Var) -> int:
    """Elements from where the region starts in one iteration of a loop over `row` to the next; 0 if
    that is not known."""
    offset = element_offset(region)
    first, second = (substitute(offset, {row: n}) for n in (ZERO, ONE))
    step = constant_value(simplify(second - first))
    return step if isinstance(step, int) else 0


def _is_row_pitch(region: Region, factor: int) -> bool:
    """Whether the odd factor is the pitch of a dimension, so that some row is surely misaligned."""
    step = 1
    for dim in reversed(region.buffer.shape):
        if step == factor and step > 1:
            return True
        step *= constant_value(dim) or 1
    return False


def check_fractals(op: Op, regions: Sequence[Region]) -> None:
    """Raise KernelError for a matrix that is surely not cut at fractals: 16 rows, 32 bytes (16
    columns of l0c). Rows of one fractal column lie one after another, so only loads to l0 need
    whole fractals of rows."""
    loads_l0 = any(r.memory is Memory.L1 for r in regions[:1])
    for region in regions:
        if region.memory in (Memory.GM, Memory.UB) or len(region.dims) < 2:
            continue
        columns = 16 if region.memory is Memory.L0C else k0_elements(region.dtype)
        rows = max(16, columns) if loads_l0 else 1
        for s, unit, what in zip(region.dims[-2:], (rows, columns), ("row", "column"), strict=True):
            terms, constant = linear_form(s.offset)
            if constant % unit and all(f % unit == 0 for f in terms.values()):
                raise KernelError(
                    "fractal-alignment",
                    f"{op.opdef.name}: `{region.buffer.name}` starts at {what} {constant}, "
                    f"expected a multiple of {unit}",
                    op.loc,
                    f"matrices in {region.memory.value} are cut at multiples of {unit} {what}s",
                )
