"""Tile copies: cut at the edge of the tensor, padded, and handed to the pipe of their direction."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import (
    AttrValue,
    Body,
    Clipped,
    Const,
    Expr,
    If,
    KernelError,
    Let,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Stmt,
    Var,
    active_dims,
    is_constant,
    is_contiguous,
    reads_memory,
    simplify,
    transfer_rows,
    unary,
)
from tile_ir.analysis import Ranges, narrow
from tile_ir.ops.movement import cast_mode_of_copy, directions, loads_l1
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.alignment import check_alignment, check_fractals
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.fills import lower_fill
from tile_passes.lowering.matrix_parts import fitted_to_matrix
from tile_passes.lowering.partial_loads import load_exactly, overwrites_others
from tile_passes.lowering.region_parts import each_matrix, in_loops, slice_at
from tile_passes.lowering.short_rows import has_short_rows, move_by_element
from tile_passes.lowering.vector import lower_vector_op

# The single-pipe operation of each direction.
_MOVEMENT = {
    (Memory.GM, Memory.UB): "copy_gm_ub",
    (Memory.UB, Memory.GM): "copy_ub_gm",
    (Memory.GM, Memory.L1): "copy_gm_l1",
    (Memory.L1, Memory.L0A): "copy_l1_l0a",
    (Memory.L1, Memory.L0B): "copy_l1_l0b",
    (Memory.L1, Memory.BT): "copy_l1_bt",
    (Memory.L0C, Memory.GM): "copy_l0c_gm",
    (Memory.L0C, Memory.L1): "copy_l0c_l1",
}
# The same of an update of gm, by its name.
_UPDATE = {
    ("atomic_add", Memory.UB): "atomic_ub_gm",
    ("atomic_add", Memory.L0C): "atomic_l0c_gm",
    ("atomic_max", Memory.UB): "atomic_max_ub_gm",
    ("atomic_max", Memory.L0C): "atomic_max_l0c_gm",
    ("atomic_min", Memory.UB): "atomic_min_ub_gm",
    ("atomic_min", Memory.L0C): "atomic_min_l0c_gm",
}


def lower_copy(op: Op, known: Ranges, builder: Builder) -> Body:
    """docs/language/rules.md#edges, direction by direction."""
    src, dst = op.region("src"), op.region("dst")
    direction = (src.memory, dst.memory)
    if direction not in directions(builder.target):
        raise KernelError(
            "not-lowered-yet",
            f"copy from {src.memory.value} to {dst.memory.value} goes through a gm workspace, "
            "which the compiler does not plan yet",
            op.loc,
            "declare a workspace tensor and copy to it, then from it on the other core",
        )
    if direction == (Memory.UB, Memory.UB):
        return _within_ub(op, src, dst, known, builder)
    return _clipped(op, _MOVEMENT[direction], lambda c: _copy_attrs(op, c), known, builder)


def lower_atomic_update(op: Op, known: Ranges, builder: Builder) -> Body:
    """Lower an atomic update; the part cut off the tile takes no part in it."""
    name = _UPDATE[op.opdef.name, op.region("src").memory]
    return _clipped(op, name, lambda c: (), known, builder)


def _copy_attrs(op: Op, c: Clipped) -> tuple[AttrValue, ...]:
    match c.src.memory, c.dst.memory:
        case Memory.GM, Memory.UB:
            return (float(c.value),)
        case Memory.L1, Memory.L0A | Memory.L0B:
            return (op.attr("transpose"),)
        case Memory.L0C, _:
            return (op.attr("enable_relu"),)
    return ()


def _clipped(
    op: Op,
    name: str,
    attrs: Callable[[Clipped], tuple[AttrValue, ...]],
    known: Ranges,
    builder: Builder,
) -> Body:
    """The movement of the part that exists, and the fill where nothing does."""
    assert op.opdef.clip is not None, f"{op.opdef.name} clips"
    clipped = _narrowed(op.opdef.clip(op), known)
    if clipped.exists == clipped.complete and reads_memory(clipped.exists):
        op, names = _with_named_places(op, builder)
        if names:
            return (*names, *_clipped(op, name, attrs, known, builder))
    if loads_l1(op):
        clipped = fitted_to_matrix(op, clipped, builder)
    move = _movement(op, clipped, name, attrs(clipped), known, builder)
    body: list[Stmt] = list(_prepare(op, clipped, known, builder))
    if clipped.fill is not None and clipped.exists == clipped.complete:
        match body:
            case [If(orelse=()) as unfilled]:  # it moves all or nothing
                return (replace(unfilled, orelse=move),)
    if is_constant(clipped.exists, False):
        return tuple(body)
    if is_constant(clipped.exists, True):
        body.extend(move)
    else:
        body.append(If(clipped.exists, move, (), op.loc))
    return tuple(body)


def _with_named_places(op: Op, builder: Builder) -> tuple[Op, Body]:
    """The movement with names for places that are read from memory, and their definitions: what
    tests a place and what moves from there read it once."""
    names: dict[Expr, Let] = {}

    def named(offset: Expr) -> Expr:
        if not reads_memory(offset):
            return offset
        let = names.setdefault(offset, Let(builder.scalar("at"), offset, op.loc))
        return let.var

    def moved(operand: Operand) -> Operand:
        if not isinstance(operand, Region):
            return operand
        dims = (replace(s, offset=named(s.offset)) for s in operand.dims)
        return replace(operand, dims=tuple(dims))

    return replace(op, operands=tuple(map(moved, op.operands))), tuple(names.values())


def _narrowed(c: Clipped, known: Ranges) -> Clipped:
    found: dict[Expr, Expr] = {}  # both sides have the same extents

    def narrowed(expr: Expr) -> Expr:
        return narrow(expr, known, found)

    def region(r: Region) -> Region:
        dims = [Slice(simplify(s.offset), narrowed(s.extent), s.stride) for s in r.dims]
        return Region(r.buffer, tuple(dims))

    exists = narrowed(c.exists)
    complete = c.complete if c.fill is None else narrowed(c.complete)
    fill = None if is_constant(complete, True) else c.fill
    return replace(
        c, src=region(c.src), dst=region(c.dst), exists=exists, complete=complete, fill=fill
    )


def _prepare(op: Op, c: Clipped, known: Ranges, builder: Builder) -> Body:
    """The fill of the tile where nothing is moved: pad value in ub, zeros in l1."""
    if c.fill is None:
        return ()
    steps: Body
    if c.fill.memory is Memory.L1:
        steps = _cleared(op, c.fill, builder)
    else:
        steps = _filled(c.fill, c.value, op, known, builder)
    if is_constant(c.complete, False):
        return steps
    return (If(unary("not", c.complete), steps, (), op.loc, unlikely=True),)


def _cleared(op: Op, part: Region, builder: Builder) -> Body:
    """Zeros in the same part of one matrix or several."""
    slots, part = each_matrix(part, lambda: builder.scalar("slot"))
    return in_loops(slots, (builder.op("clear_l1", (part,), op.loc),), op.loc)


def _filled(region: Region, value: float, op: Op, known: Ranges, builder: Builder) -> Body:
    """A value in all of a tile; elements that share bytes are zero, as their record demands."""
    if not region.dtype.whole_bytes:
        return lower_vector_op(builder.op("clear", (region,), op.loc), known, builder)
    constant = Const(int(value) if region.dtype.is_integer else value, region.dtype)
    return lower_fill(builder.op("fill", (region, constant), op.loc), known, builder)


def _movement(
    op: Op, c: Clipped, name: str, attrs: tuple[AttrValue, ...], known: Ranges, builder: Builder
) -> Body:
    """The movement itself; dimensions that one transfer does not reach become loops."""
    src, dst = c.src, c.dst
    outer: list[tuple[Var, Expr]] = []
    while not _is_one_transfer(src, dst):
        a, b = active_dims(src), active_dims(dst)
        var = builder.scalar("outer")
        outer.append((var, src.dims[a[0]].extent))
        src, dst = slice_at(src, a[0], var), slice_at(dst, b[0], var)
    return in_loops(outer, _rows(op, src, dst, name, attrs, known, builder), op.loc)


def _is_one_transfer(src: Region, dst: Region) -> bool:
    """Whether the rows of both sides are evenly spaced, or nothing is left to loop over."""
    a, b = active_dims(src), active_dims(dst)
    if len(a) != len(b) or len(a) < 2:
        return True
    if len(a) > 2:
        runs = all(r.memory in (Memory.GM, Memory.UB) for r in (src, dst))
        return runs and is_contiguous(src) and is_contiguous(dst)
    in_gm = Memory.GM in (src.memory, dst.memory)
    return not in_gm or transfer_rows(src, dst) is not None


def _rows(
    op: Op,
    src: Region,
    dst: Region,
    name: str,
    attrs: tuple[AttrValue, ...],
    known: Ranges,
    builder: Builder,
) -> Body:
    """One transfer of rows, or what stands for it where ub keeps the rows elsewhere."""
    if has_short_rows(src, dst, builder.target):
        return move_by_element(op, src, dst, name, attrs, builder)
    for region in (src, dst):
        check_alignment(op, region, builder)
    check_fractals(op, (src, dst))
    if overwrites_others(op, builder):
        return load_exactly(op, src, dst, attrs, known, builder)
    return (builder.op(name, (src, dst), op.loc, *attrs),)


def _within_ub(op: Op, src: Region, dst: Region, known: Ranges, builder: Builder) -> Body:
    if src.dtype != dst.dtype:
        mode = cast_mode_of_copy(src.dtype, dst.dtype, builder.target)
        cast = builder.op("cast", (dst, src, None), op.loc, mode)
        return lower_vector_op(cast, known, builder)
    moved = builder.op("copy_ub_ub", (src, dst), op.loc)
    return lower_vector_op(moved, known, builder)
