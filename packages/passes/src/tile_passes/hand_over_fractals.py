"""Hands tiles from the vector cores to the cube core in NZ order, where that takes less time."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    FRACTAL_ROWS,
    OPS,
    ZERO,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Target,
    bodies,
    buffers_of,
    constant_value,
    is_constant,
    k0_elements,
    linear_form,
    rewrite,
    simplify,
    walk,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.clock.pipe_work import pipe_work
from tile_passes.lowering.builder import Builder
from tile_passes.memory.overfull import overfull_memory
from tile_passes.passdef import ir_pass

# The part of the busiest pipe's time that must be left at most.
WORTH = 0.97


@ir_pass(needs=Phase.LOWERED)
def hand_over_fractals(func: Func, target: Target) -> Func:
    """Give workspaces from ub to l1 the order of l1 if the busiest pipe of the loop gets shorter.

    Needs, gives: LOWERED. Idea: a load from gm to l1 takes rows apart into fractals, a few cycles
    for each. The vector cores can do it instead, one repeat for eight blocks of a row, so that the
    load moves whole columns of fractals. Limits: kernels in automatic order, workspaces of the
    compiler, whole fractals of constant sizes, and room in ub for a copy of the tile.
    """
    if not {Automatic.SYNC, Automatic.CROSS} <= func.automatic:
        return func
    for handover in _handovers(func):
        new = _in_fractals(func, handover, target)
        if _is_worth(handover, func, new, target) and overfull_memory(new, target) is None:
            func = new
    return func


@dataclass(frozen=True, slots=True)
class _Handover:
    """A workspace of the compiler for copies from ub to l1, with the operations on both sides."""

    workspace: Buffer
    sends: tuple[Op, ...]
    fetches: tuple[Op, ...]

    @property
    def ops(self) -> tuple[Op, ...]:
        return (*self.sends, *self.fetches)


def _handovers(func: Func) -> Iterator[_Handover]:
    for workspace in func.params:
        if not isinstance(workspace, Buffer):
            continue
        users = [s for s in walk(func.launch.body) if workspace in buffers_of(s)]
        ops = [s for s in users if isinstance(s, Op) and s.loc == workspace.loc]
        sends = tuple(op for op in ops if op.opdef is OPS["copy_ub_gm"])
        fetches = tuple(op for op in ops if op.opdef is OPS["copy_gm_l1"])
        if not sends or not fetches or len(sends) + len(fetches) < len(users):
            continue
        found = _Handover(workspace, sends, fetches)
        if workspace.dtype.whole_bytes and all(map(_is_whole, found.ops)):
            yield found


def _is_whole(op: Op) -> bool:
    """Whether a copy moves one matrix of whole fractals, on both sides."""
    src, dst = op.region("src"), op.region("dst")
    if src.extents[-2:] != dst.extents[-2:]:
        return False
    unit = (FRACTAL_ROWS, k0_elements(src.dtype))
    for region in (src, dst):
        size = constant_value(region.buffer.shape[-1])
        if len(region.dims) < 2 or size is None or size % unit[1]:
            return False
        if not all(s.stride == 1 for s in region.dims):
            return False
        if not all(is_constant(e, 1) for e in region.extents[:-2]):
            return False
        for s, size in zip(region.dims[-2:], unit, strict=True):
            if constant_value(s.extent) is None or _parts(s.extent, size) is None:
                return False
    workspace = src if src.memory is Memory.GM else dst
    rows = constant_value(workspace.buffer.shape[-2])
    return rows is not None and rows % FRACTAL_ROWS == 0 and _in_units(workspace) is not None


def _in_units(region: Region) -> tuple[Slice, Slice] | None:
    """The columns and rows of a matrix in fractals, where it starts at one."""
    rows, columns = region.dims[-2:]
    found = []
    for s, unit in ((columns, k0_elements(region.dtype)), (rows, FRACTAL_ROWS)):
        offset, extent = _parts(s.offset, unit), _parts(s.extent, unit)
        if offset is None or extent is None:
            return None
        found.append(Slice(offset, extent))
    return found[0], found[1]


def _parts(number: Expr, unit: int) -> Expr | None:
    """A multiple of a unit, in units."""
    terms, constant = linear_form(number)
    if any(n % unit for n in (constant, *terms.values())):
        return None
    return simplify(number // unit)


def _in_fractals(func: Func, handover: _Handover, target: Target) -> Func:
    """The function with the workspace in NZ order, and a copy of each sent tile in this order."""
    old = handover.workspace
    width = k0_elements(old.dtype)
    rows, columns = (simplify(size // n) for size, n in _units(old))
    shape = (*old.shape[:-2], columns, rows, Const(FRACTAL_ROWS), Const(width))
    new = replace(old, shape=shape)
    builder = Builder.for_func(func, target)

    def there(region: Region) -> Region:
        units = _in_units(region)
        assert units is not None, "the handover is of whole fractals"
        inside = (Slice(ZERO, Const(FRACTAL_ROWS)), Slice(ZERO, Const(width)))
        return Region(new, (*region.dims[:-2], *units, *inside))

    def moved(stmt: Stmt) -> Body:
        if stmt in handover.fetches:
            assert isinstance(stmt, Op), "copies are operations"
            operands = (there(stmt.region("src")), stmt.region("dst"))
            return (builder.op("copy_gm_l1_nz", operands, stmt.loc),)
        if stmt in handover.sends:
            assert isinstance(stmt, Op), "copies are operations"
            src = stmt.region("src")
            near = _tile_by_columns(src, builder)
            turn = builder.op("blocks_by_columns", (src, near), stmt.loc)
            send = builder.op("copy_ub_gm", (near, there(stmt.region("dst"))), stmt.loc)
            return turn, send
        return (stmt,)

    body = rewrite(func.launch.body, moved)
    params = tuple(new if p is old else p for p in func.params)
    allocs = (*func.launch.allocs, *builder.allocs)
    return replace(func.with_body(body, allocs=allocs), params=params)


def _units(buffer: Buffer) -> Iterator[tuple[Expr, int]]:
    """Rows and columns of a buffer's matrix, with those of a fractal."""
    units = (FRACTAL_ROWS, k0_elements(buffer.dtype))
    return zip(buffer.shape[-2:], units, strict=True)


def _tile_by_columns(tile: Region, builder: Builder) -> Region:
    """Room for the blocks of a tile by columns. Columns have an odd number of rows, so that the
    blocks of a row start in different banks."""
    rows, columns = (constant_value(e) or 1 for e in tile.extents[-2:])
    width = k0_elements(tile.dtype)
    shape = (columns // width, rows + 1 - rows % 2, width)
    loc = tile.buffer.loc
    name = builder.fresh(f"{tile.buffer.name}_blocks")
    new = Buffer(name, Memory.UB, tile.dtype, tuple(map(Const, shape)), loc)
    builder.allocs.append(Alloc(new, loc))
    size = (shape[0], rows, width)
    return Region(new, tuple(Slice(ZERO, Const(n)) for n in size))


def _is_worth(handover: _Handover, old: Func, new: Func, target: Target) -> bool:
    """Whether the busiest pipe of the innermost loop around the handover gets shorter."""
    before, after = (
        max(pipe_work(_around(func.launch.body, handover.workspace), target).values())
        for func in (old, new)
    )
    return after <= WORTH * before


def _around(body: Body, workspace: Buffer) -> Body:
    """The body of the innermost loop that has all uses of a tensor, or the whole body."""
    found = body
    while True:
        users = [s for s in body if any(_uses(s, workspace) for s in walk((s,)))]
        if len(users) != 1 or not bodies(users[0]):
            return found
        inner = [b for b in bodies(users[0]) if any(_uses(s, workspace) for s in walk(b))]
        if len(inner) != 1:
            return found
        (body,) = inner
        if isinstance(users[0], For):
            found = body


def _uses(stmt: Stmt, workspace: Buffer) -> bool:
    return any(b.name == workspace.name for b in buffers_of(stmt))
