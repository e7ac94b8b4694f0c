"""A loop whose iterations each work on one row, as operations on all of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from tile_ir import (
    BLOCK_BYTES,
    OPS,
    Alloc,
    Body,
    Buffer,
    Const,
    Core,
    Effect,
    Expr,
    For,
    Let,
    Load,
    Memory,
    Op,
    Operand,
    Region,
    Slice,
    Var,
    accesses,
    constant_value,
    core_of,
    element_offset,
    is_contiguous,
    linear_form,
    map_own_expressions,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import trip_count
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.parallel.accesses import step_of
from tile_passes.parallel.dependence import overlapping
from tile_passes.parallel.nest import Unsuitable
from tile_passes.parallel.operators import FORM_OF


@dataclass(frozen=True, slots=True)
class RowLoop:
    """The operations of a loop and the barriers between them, in order. Names that keep an element
    are replaced by it."""

    loop: For
    ops: tuple[Op, ...]

    @property
    def rows(self) -> Expr:
        return trip_count(self.loop)


def row_loop(loop: For, allocs: Sequence[Alloc]) -> RowLoop:
    """The loop as operations on rows. Raises Unsuitable for what is more, or where an iteration may
    touch the row of another one."""
    found = RowLoop(loop, tuple(_operations(loop.body)))
    if all(_row_scalar(op, loop.var) is None for op in found.ops):
        raise Unsuitable("no operation takes an element of its row")
    _check_rows(found, allocs)
    return found


def each_row_apart(loop: For, allocs: Sequence[Alloc]) -> list[list[Op]]:
    """The operations of a loop on rows, in runs of those that have a form for all rows and those
    that have none. Every run may be done for all rows before the next begins. Raises Unsuitable
    where no operation has one, or where an iteration may touch the row of another one."""
    ops = tuple(_operations(loop.body, lambda op: core_of(op) is Core.VECTOR))
    if not any(op.opdef.of_rows for op in ops):
        raise Unsuitable("no operation has a form for all rows")
    _check_rows(RowLoop(loop, ops), allocs)
    return [list(run) for _, run in groupby(ops, key=lambda op: bool(op.opdef.of_rows))]


def _elementwise(op: Op) -> bool:
    return op.opdef.elementwise


def _operations(body: Body, fits: Callable[[Op], bool] = _elementwise) -> Iterator[Op]:
    names: dict[Var, Expr] = {}
    for original in body:
        stmt = map_own_expressions(original, partial(substitute, values=names))
        match stmt:
            case Let(var=var, value=value):
                names[var] = value
            case Op() if stmt.opdef.effect is Effect.BARRIER or (
                stmt.opdef.effect is Effect.DATA and fits(stmt)
            ):
                yield stmt
            case _:
                raise Unsuitable("it holds more than operations element by element", stmt.loc)


def _row_scalar(op: Op, var: Var) -> Load | None:
    """The element of ub that an operation takes as its second operand, if every row has one."""
    if op.opdef.name not in FORM_OF:
        return None
    scalar = op.operands[2]
    if not isinstance(scalar, Load) or scalar.buffer.memory is not Memory.UB:
        return None
    return scalar if var in walk_expr(scalar) else None


@dataclass(frozen=True, slots=True)
class _Touch:
    """The row an access takes: the dimension that follows the variable, and from where."""

    buffer: Buffer
    dimension: int
    offset: Expr


def _check_rows(found: RowLoop, allocs: Sequence[Alloc]) -> None:
    written = {r.buffer for op in found.ops for r, access in accesses(op) if access.writes}
    touched = [t for op in found.ops for t in _touches(op, found.loop.var)]
    shared = overlapping(allocs)
    for touch in touched:
        if any((touch.buffer, other) in shared for other in written):
            raise Unsuitable(f"`{touch.buffer.name}` shares bytes with another buffer")
        if touch.buffer in written:
            same = {(t.dimension, t.offset) for t in touched if t.buffer is touch.buffer}
            if len(same) != 1 or touch.dimension < 0:
                raise Unsuitable(f"an iteration may use another row of `{touch.buffer.name}`")


def _touches(op: Op, var: Var) -> Iterator[_Touch]:
    for operand in op.operands:
        if isinstance(operand, Region):
            yield _touch(operand.buffer, tuple(s.offset for s in operand.dims), var)
            for s in operand.dims:
                if var in walk_expr(s.extent):
                    raise Unsuitable("an extent differs from row to row")
        elif operand is not None:
            for part in walk_expr(operand):
                if isinstance(part, Load):
                    yield _touch(part.buffer, part.indices, var)


def _touch(buffer: Buffer, offsets: tuple[Expr, ...], var: Var) -> _Touch:
    following = [i for i, offset in enumerate(offsets) if var in walk_expr(offset)]
    if not following:
        return _Touch(buffer, -1, Const(0))
    if len(following) > 1:
        raise Unsuitable(f"two indices of `{buffer.name}` follow `{var.name}`")
    offset = offsets[following[0]]
    if step_of(offset, var) != 1:
        raise Unsuitable(f"an index of `{buffer.name}` is not `{var.name}` plus something")
    return _Touch(buffer, following[0], simplify(offset))


def all_rows(region: Region, found: RowLoop) -> Region:
    """The region of every iteration together."""
    var, start = found.loop.var, found.loop.start
    dims = []
    for s in region.dims:
        if var not in walk_expr(s.offset):
            dims.append(s)
            continue
        if constant_value(s.extent) != 1:
            raise Unsuitable(f"`{region.buffer.name}` takes more than one row at a time")
        dims.append(Slice(simplify(substitute(s.offset, {var: start})), found.rows))
    return Region(region.buffer, tuple(dims))


def elements_of_rows(load: Load, found: RowLoop) -> Region:
    """The elements that all iterations take, as a region of one run from a block on."""
    one = Region(load.buffer, tuple(Slice(i, Const(1)) for i in load.indices))
    region = all_rows(one, found)
    terms, constant = linear_form(element_offset(region))
    unit = BLOCK_BYTES // region.dtype.size
    if any(f % unit for f in (constant, *terms.values())) or not is_contiguous(region):
        raise Unsuitable(f"`{load.buffer.name}` holds no run of values from a whole block on")
    return region


def merged(op: Op, found: RowLoop, reciprocal: dict[Load, Region]) -> Op:
    """One operation on all rows. `reciprocal` has the inverses of elements that are divided by."""
    if op.opdef.effect is Effect.BARRIER:
        return op
    scalar = _row_scalar(op, found.loop.var)
    operands: list[Operand] = []
    for operand in op.operands:
        if operand is scalar and scalar is not None:
            column = reciprocal.get(scalar)
            operands.append(elements_of_rows(scalar, found) if column is None else column)
        elif isinstance(operand, Region):
            operands.append(_matrix(operand, op, found))
        elif operand is not None and found.loop.var in walk_expr(operand):
            raise Unsuitable("a scalar differs from row to row")
        else:
            operands.append(operand)
    if scalar is None:
        return replace(op, operands=tuple(operands))
    form = FORM_OF["mul" if scalar in reciprocal else op.opdef.name]
    if scalar.dtype is not op.region("dst").dtype or form.by_row is None:
        raise Unsuitable("the scalar has another type than the row")
    opdef = OPS[form.by_row]
    filled = (*operands, *(None for _ in opdef.operands[len(operands) :]))
    return Op(opdef, filled, (), op.loc)


def of_all_rows(op: Op, found: RowLoop) -> Op:
    """The form of an operation for all rows. Raises Unsuitable."""
    operands = tuple(_matrix(o, op, found) if isinstance(o, Region) else o for o in op.operands)
    return replace(op, opdef=OPS[op.opdef.of_rows], operands=operands)


def _matrix(region: Region, op: Op, found: RowLoop) -> Region:
    result = all_rows(region, found)
    if result is region or result == region:
        raise Unsuitable(f"`{region.buffer.name}` is the same for all rows of {op.opdef.name}")
    return result


def divisors(found: RowLoop) -> list[Load]:
    """Elements that rows are divided by: such a division multiplies by the inverse, rounded."""
    loads = [
        _row_scalar(op, found.loop.var)
        for op in found.ops
        if op.opdef.name in FORM_OF and FORM_OF[op.opdef.name].inexact_scalar
    ]
    return list(dict.fromkeys(load for load in loads if load is not None))
