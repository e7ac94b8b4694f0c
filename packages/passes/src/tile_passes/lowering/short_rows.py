"""Transfer small ub tiles whose rows do not start at blocks of 32 bytes. The DMA moves rows
that do, in a buffer of the compiler's own, and the scalar unit moves the elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tile_ir import (
    BLOCK_BYTES,
    ONE,
    ZERO,
    AttrValue,
    Body,
    Buffer,
    Diagnostic,
    Expr,
    Load,
    Memory,
    Op,
    Region,
    Slice,
    Store,
    Target,
    active_dims,
    constant_value,
    is_contiguous,
    misalignment,
    round_up,
)
from tile_ir.ops.movement import misaligned_rows
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.region_parts import element_of, in_loops

# Beyond this the scalar unit would take longer than the rest of a kernel: the user had better pad.
MOST_ELEMENTS = 4096
# So many rows of one block each; more would take most of ub.
MOST_IN_COLUMN = 2048


def has_short_rows(src: Region, dst: Region, target: Target, most: int = MOST_ELEMENTS) -> bool:
    """Whether the transfer starts rows inside blocks of ub, and there are few enough elements to
    take them through rows of whole blocks: at most so many in a matrix."""
    inside = misaligned_rows(src, dst, target) or _column_inside_blocks(src, dst, target)
    return inside and _is_small(src, dst, most)


def elements_beside(local: Region, target: Target) -> int:
    """How many elements of a matrix have room twice in one half of ub."""
    return local.dtype.elements_in(target.capacity[Memory.UB] // 4)


def _column_inside_blocks(src: Region, dst: Region, target: Target) -> bool:
    """Whether one column of a tile of ub moves, which is not the first of a block."""
    local = dst if dst.memory is Memory.UB else src
    return (
        _is_column(local) and not is_contiguous(local) and misalignment(local, target) is not None
    )


def _is_small(src: Region, dst: Region, most: int) -> bool:
    """Whether the ub side is a matrix of at most so many elements, or a small column of them."""
    local = dst if dst.memory is Memory.UB else src
    dims = _moved_dims(local)
    return (
        {src.memory, dst.memory} == {Memory.GM, Memory.UB}
        and local.dtype.whole_bytes
        and dims is not None
        and len(active_dims(src)) == len(active_dims(dst))
        and prod(constant_value(local.buffer.shape[d]) or 0 for d in dims)
        <= (MOST_IN_COLUMN if len(dims) == 1 else most)
    )


def _is_column(region: Region) -> bool:
    """Whether all of it runs along one dimension."""
    return len(active_dims(region)) == 1


def in_blocks(local: Region, target: Target, buffer: Callable[[tuple[int, int]], Buffer]) -> Region:
    """A matrix of ub like a small region, where each row starts at a block; of a column, each
    element does."""
    dims = _moved_dims(local)
    assert dims is not None, "has_short_rows"
    rows, columns = (*(constant_value(local.buffer.shape[d]) or 0 for d in dims), 1)[:2]
    padded = round_up(columns, target.alignment[Memory.UB] // local.dtype.size)
    extents = (*(local.dims[d].extent for d in dims), ONE)[:2]
    return Region(buffer((rows, padded)), tuple(Slice(ZERO, extent) for extent in extents))


def _moved_dims(region: Region) -> tuple[int, ...] | None:
    """The dimension of the rows and the last one, or that of a column; None where more are in
    use."""
    active, last = active_dims(region), len(region.dims) - 1
    if len(active) == 1:
        return active
    rows = [d for d in active if d != last]
    return (rows[0], last) if len(rows) == 1 else None


def move_by_element(
    op: Op, src: Region, dst: Region, name: str, attrs: tuple[AttrValue, ...], builder: Builder
) -> Body:
    """The movement through rows of whole blocks, between barriers: all pipes take part. Elements of
    a column are rows of their own."""
    loads = dst.memory is Memory.UB
    local, loc = dst if loads else src, op.loc
    dims = _moved_dims(local)
    assert dims is not None, "has_short_rows"

    def stage_of(shape: tuple[int, int]) -> Buffer:
        return builder.scratch("rows", Memory.UB, local.dtype, shape, loc)

    tile = in_blocks(local, builder.target, stage_of)
    stage, extents = tile.buffer, tile.extents
    variables = [builder.scalar(word) for word, _ in zip(("row", "column"), dims, strict=False)]
    place = element_of(local, dict(zip(dims, variables, strict=True)))
    staged: tuple[Expr, ...] = (*variables, *[ZERO] * (2 - len(dims)))
    here, there = (stage, staged), (local.buffer, place)
    (from_, indices), (to, target) = (here, there) if loads else (there, here)
    store = Store(to, target, Load(from_, indices), loc)
    moves = in_loops(zip(variables, extents, strict=False), (store,), loc)
    if _is_column(local):
        builder.remarks.append(_one_by_one(op, local, src if loads else dst))
    movement = builder.op(name, (src, tile) if loads else (tile, dst), loc, *attrs)
    return (movement, *moves) if loads else (*moves, movement)


def _one_by_one(op: Op, local: Region, tensor: Region) -> Diagnostic:
    """The remark, with the name of the tensor where the tile is the compiler's."""
    name = (tensor if local.buffer.loc.generated else local).buffer.name
    unit = local.dtype.elements_in(BLOCK_BYTES)
    return Diagnostic(
        "scalar-loop",
        f"the elements of `{name}` move one by one: transfers start every row of ub "
        f"at a multiple of {BLOCK_BYTES} bytes, and a column has a row for each",
        op.loc,
        f"the first column of a tile with {unit} columns takes them as they come",
        "warning",
    )
