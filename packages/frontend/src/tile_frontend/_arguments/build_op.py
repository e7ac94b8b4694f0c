"""Build one operation from its operands and attributes, and check it by its record.

An operand is the region that an argument stands for, cut to the elements that take part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.scalars import Scalar, python_number, scalar_expr, unexpected
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Cell, Pending, Tile, View
from tile_ir import (
    FLOAT16,
    FLOAT32,
    OPS,
    UINT8,
    Access,
    AttrDef,
    AttrValue,
    Const,
    Expr,
    Load,
    Memory,
    Op,
    OpDef,
    Operand,
    OperandDef,
    Region,
    Slice,
    check_form,
    check_op,
    constant_value,
    is_constant,
    is_contiguous,
    simplify,
)
from tile_ir.quick_dataclasses import replace


def whole_region(value: Any) -> Region | None:
    """The region of a buffer or a slice; None for anything else."""
    match value:
        case Region():
            return value
        case Tile(whole=region):
            return region
        case View(region=region):
            return region
    return None


def region_of(value: Any) -> Region | None:
    """The same, where an element means all from there on."""
    if isinstance(value, Scalar) and isinstance(value.expr, Load) and value.expr.indices:
        return _from(value.expr)
    return whole_region(value)


def region_argument(
    what: str, value: Any, expected: str = "a buffer or a slice", elements: bool = False,
    hint: str | None = None,
) -> Region:  # fmt: skip
    """The region of an argument, in which an element may mean all from there on. Raises Fault for
    other values."""
    region = region_of(value) if elements else whole_region(value)
    if region is None:
        raise unexpected(what, value, expected, hint)
    return region


def side_of(value: Any, side: str, name: str) -> Region | Load:
    """One side of a copy: a region, or the element that it starts from."""
    if isinstance(value, Scalar) and not isinstance(value, Cell):
        expr = value.expr
        if isinstance(expr, Load) and expr.indices:
            return expr
    number = python_number(value)
    hint = None if number is None else f"write T.tile.fill(tile, {number}) to set every element"
    expected = "a buffer, a slice or a start index"
    return region_argument(f"{name}: {side}", value, expected, hint=hint)


def _from(load: Load) -> Region:
    """The elements from one on, as far as they are a box of the buffer: behind the last index that
    is not zero, everything."""
    last = max((d for d, i in enumerate(load.indices) if not is_constant(i, 0)), default=0)
    dims = []
    for d, (index, size) in enumerate(zip(load.indices, load.buffer.shape, strict=True)):
        dims.append(Slice(index, Const(1) if d < last else simplify(size - index)))
    return Region(load.buffer, tuple(dims))


def element_region(load: Load) -> Region:
    """The region of one element."""
    return Region(load.buffer, tuple(Slice(i, Const(1)) for i in load.indices))


def only_element(value: Any) -> Load | None:
    """The element of a buffer or slice that has one: scripts pass it where a number is meant."""
    region = whole_region(value)
    if region is None or region.static_extents() not in ((1,), (1, 1)):
        return None
    return Load(region.buffer, tuple(s.offset for s in region.dims))


def cut(region: Region, dim: int, extent: Expr, start: Expr | None = None) -> Region:
    """The region with so many indices of one dimension, from its first one or `start` behind it."""
    dims = list(region.dims)
    old = dims[dim]
    offset = old.offset if start is None else simplify(old.offset + start)
    dims[dim] = replace(old, offset=offset, extent=extent)
    return Region(region.buffer, tuple(dims))


def narrowed(op: Op) -> Op:
    """The operation with every operand cut to the elements its record says it uses: scripts name
    larger buffers than an operation uses."""
    if op.opdef.uses is None:
        return op
    uses = op.opdef.uses(op)
    names = [o.name for o in op.opdef.operands]
    operands = tuple(
        _narrowed(operand, uses.get(names[i]))
        if isinstance(operand, Region) and i < len(names)
        else operand
        for i, operand in enumerate(op.operands)
    )
    return op if operands == op.operands else replace(op, operands=operands)


def _narrowed(region: Region, count: Expr | None) -> Region:
    if count is None:
        return region
    number = constant_value(simplify(count))
    if number is not None:
        return first_elements(region, number) or region
    if region.buffer.rank == 1 and is_contiguous(region):
        return cut(region, 0, simplify(count))
    return region


def first_elements(region: Region | None, count: int) -> Region | None:
    """A run of elements cut to its first `count`; None if they are no box of a buffer."""
    extents = None if region is None else region.static_extents()
    if region is None or extents is None:
        return None
    total = math.prod(extents)
    if count == total:
        return region
    if not 0 < count < total or not is_contiguous(region):
        return None
    for dim in range(len(extents)):
        inner = math.prod(extents[dim + 1 :])
        if count % inner == 0 and count // inner <= extents[dim]:
            # One index in front of `dim`, some of it, everything behind.
            front = tuple(Slice(s.offset, Const(1)) for s in region.dims[:dim])
            size = Slice(region.dims[dim].offset, Const(count // inner))
            return Region(region.buffer, (*front, size, *region.dims[dim + 1 :]))
    return None


_FLOATS = (FLOAT16, FLOAT32)


def in_bytes(definition: OperandDef, operand: Operand) -> Operand:
    """The operand, or its bytes if the operation takes bytes and the operand is a tile of floats. A
    tile that is read must already have a view in bytes: numbers are no mask."""
    if not (definition.as_bytes and isinstance(operand, Region) and operand.dtype in _FLOATS):
        return operand
    last = operand.dims[-1]
    in_ub = operand.memory in (Memory.UB, Memory.SHARED)
    if not in_ub or last.stride != 1 or operand.buffer.static_shape() is None:
        return operand
    allocations, size = current("view").allocations, operand.dtype.size
    tile = next((t for t in allocations if t.buffer is operand.buffer), None)
    seen = tile and _bytes_of(tile, new=definition.access is not Access.READ)
    if seen is None:
        return operand
    part = Slice(last.offset * size, last.extent * size)
    return Region(seen.buffer, (*operand.dims[:-1], part))


def _bytes_of(tile: Tile, new: bool) -> Tile | None:
    """Another name for a tile, as bytes; the same one each time."""
    trace = current("view")
    dims = (*tile.dims[:-1], tile.dims[-1] * tile.element.size)
    for other in trace.allocations:
        if other.alias_of is tile.root and other.element is UINT8 and other.dims == dims:
            return other
    if not new:
        return None
    seen = Tile(tile.memory, UINT8, dims, trace.here)
    trace.allocate(seen, tile.root)
    return seen


def build_op(opdef: OpDef, given: Mapping[str, Any], name: str) -> Pending:
    """The operation, waiting for the expression statement around the call to emit it. Operands
    that are not given are left to the compiler, attributes have their defaults."""
    trace = current(name)
    operands: list[Operand] = []
    for definition in opdef.operands:
        value = given.get(definition.name)
        if definition.variadic:
            operands.extend(_operand(opdef, definition, v) for v in value or ())
        else:
            operand = _operand(opdef, definition, _whole_number(operands, value))
            operands.append(in_bytes(definition, operand))
    attrs = tuple(_attribute(opdef, a, given.get(a.name, a.default)) for a in opdef.attrs)
    op = _variant(Op(opdef, tuple(operands), attrs, trace.here))
    problem = check_form(op)
    if problem is None:
        op = narrowed(op)
        problem = check_op(op, trace.target)
    if problem is not None:
        raise Fault(problem.slug, problem.message, problem.hint, problem.operand)
    pending = Pending(op, name, trace.here)
    trace.pending.append(pending)
    return pending


def _variant(op: Op) -> Op:
    """The operation that the record names for such operands."""
    wanted = (d for d in op.opdef.operands if d.memories and not d.optional)
    if op.opdef.variant is None or not all(isinstance(op.operand(d.name), Region) for d in wanted):
        return op
    opdef = OPS[op.opdef.variant(op)]
    return replace(op, opdef=opdef, operands=op.operands[: len(opdef.operands)])


def _whole_number(operands: list[Operand], value: Any) -> Any:
    """`10.0` for a tile of integers is the integer: nothing is lost."""
    first = operands[0] if operands else None
    if isinstance(value, float) and isinstance(first, Region) and first.dtype.is_integer:
        return int(value) if value.is_integer() else value
    return value


def _operand(opdef: OpDef, definition: OperandDef, value: Any) -> Operand:
    element = only_element(value) if not definition.memories else None
    if element is not None or value is None:
        return element
    region = whole_region(value)
    if region is not None:
        return region
    if isinstance(value, Scalar) and definition.memories and not definition.scalar:
        expr = value.expr
        if isinstance(expr, Load) and expr.indices:
            return element_region(expr)
    if python_number(value) is None and not isinstance(value, (Expr, Scalar)):
        expected = "a buffer or a scalar" if definition.scalar else "a buffer"
        raise unexpected(
            f"{opdef.name}: {definition.name}",
            value,
            expected if definition.memories else "a scalar",
            "pass a tile or a slice such as x[0:1]" if definition.memories else None,
        )
    return scalar_expr(value)


def _attribute(opdef: OpDef, definition: AttrDef, value: Any) -> AttrValue:
    """A compile-time argument as plain Python data. Strings that choose are compared without
    regard to case."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.lower() if definition.choices else value
    number = traced_number(value)
    if number is None:
        outside = "it is chosen while compiling: use a value from outside the kernel"
        raise unexpected(
            f"{opdef.name}: {definition.name}", value, f"a Python {definition.type.__name__}",
            outside if isinstance(value, Scalar) else None, slug="attribute-type",
        )  # fmt: skip
    if definition.type is float and not isinstance(number, bool):
        return float(number)
    return bool(number) if definition.type is bool and number in (0, 1) else number
