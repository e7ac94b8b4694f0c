"""Building blocks of op records: placements, memories, dtype and shape rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    INT8,
    INT16,
    INT32,
    UINT8,
    UINT16,
    UINT32,
    DType,
)
from tile_ir.expr import Expr, constant_value, is_constant
from tile_ir.layout.geometry import buffer_elements, element_count, trailing_matrix
from tile_ir.lazy import np
from tile_ir.machine import Core, Memory, Pipe
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, OperandDef, Problem, Rule, defined_operands
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target

GM = frozenset({Memory.GM})
UB = frozenset({Memory.UB})
L1 = frozenset({Memory.L1})
L0A = frozenset({Memory.L0A})
L0B = frozenset({Memory.L0B})
L0C = frozenset({Memory.L0C})
BT = frozenset({Memory.BT})

FLOATS = (FLOAT16, FLOAT32)
ARITHMETIC = (INT16, FLOAT16, INT32, FLOAT32)
BITS = (INT8, UINT8, INT16, UINT16, INT32, UINT32)
SHIFTABLE = (INT16, UINT16, INT32, UINT32)
FILLABLE = (INT16, UINT16, FLOAT16, BFLOAT16, INT32, UINT32, FLOAT32)

Placement = Callable[[Op], tuple[Core, Pipe]]


def on(core: Core, pipe: Pipe) -> Placement:
    """Always the same core and pipe."""
    return lambda op: (core, pipe)


VECTOR: Placement = on(Core.VECTOR, Pipe.V)


def source(name: str, memories: frozenset[Memory] = UB, *dtypes: DType) -> OperandDef:
    return OperandDef(name, Access.READ, memories, dtypes)


def destination(name: str, memories: frozenset[Memory] = UB, *dtypes: DType) -> OperandDef:
    return OperandDef(name, Access.WRITE, memories, dtypes)


def updated(name: str, memories: frozenset[Memory] = UB, *dtypes: DType) -> OperandDef:
    return OperandDef(name, Access.READ_WRITE, memories, dtypes)


def packed(definition: OperandDef) -> OperandDef:
    """The operand with types whose elements share bytes among its own."""
    return replace(definition, packed=True)


def scalar(name: str, optional: bool = False) -> OperandDef:
    return OperandDef(name, Access.READ, optional=optional)


def scratch_operand() -> OperandDef:
    """Working memory of an operation; absent until lowering gives it a buffer."""
    return OperandDef("scratch", Access.READ_WRITE, UB, optional=True)


def regions(op: Op) -> list[tuple[str, Region]]:
    """Named region operands, scratch left out."""
    return [
        (definition.name, operand)
        for definition, operand in defined_operands(op)
        if isinstance(operand, Region) and definition.name != "scratch"
    ]


def same_dtype(op: Op, target: Target) -> Problem | None:
    """All regions have the first one's element type."""
    (first_name, first), *rest = regions(op)
    for name, region in rest:
        if region.dtype != first.dtype:
            found = f"is {region.dtype}, but {first_name} `{first.buffer.name}` is {first.dtype}"
            return op.problem(name, "dtype-mismatch", found, "cast one of them with T.tile.cast")
    return None


def same_size(op: Op, target: Target) -> Problem | None:
    """All regions have as many elements as the first, as far as that is known now."""
    return _equal_sizes(op, regions(op))


def same_size_of(*names: str) -> Rule:
    """The same for some operands only."""

    def rule(op: Op, target: Target) -> Problem | None:
        return _equal_sizes(op, [r for r in regions(op) if r[0] in names])

    rule.__doc__ = f"{', '.join(names[:-1])} and {names[-1]} have as many elements."
    return rule


def _equal_sizes(op: Op, sized: list[tuple[str, Region]]) -> Problem | None:
    (first_name, first), *rest = sized
    expected = element_count(first)
    for name, region in rest:
        count = element_count(region)
        a, b = constant_value(expected), constant_value(count)
        if count != expected and (a is None) == (b is None):
            found = f"has {shape_text(region)}, but {first_name} `{first.buffer.name}` has "
            found += f"{shape_text(first)}"
            hint = "give both operands the same number of elements"
            return op.problem(name, "shape-mismatch", found, hint)
    return None


def even_rows(op: Op, target: Target) -> Problem | None:
    """Of int4 an even number of elements, as the vector unit takes them in pairs."""
    parts = [(name, r, "in a row of", r.extents[-1]) for name, r in regions(op)]
    counts = [o for d, o in defined_operands(op) if d.name == "count" and isinstance(o, Expr)]
    parts += [(name, r, "to convert in", count) for name, r in regions(op) for count in counts]
    for name, region, where, expr in parts:
        found = constant_value(expr)
        if found is not None and found * region.dtype.bits % 8:
            message = f"{op.opdef.called}: {found} elements {where} {name} `{region.buffer.name}`, "
            message += f"but two elements of {region.dtype} share a byte"
            hint = "take an even number of elements"
            return Problem("odd-elements", message, "count" if counts else name, hint)
    return None


def exact_sizes(op: Op, target: Target) -> Problem | None:
    """Every region has as many elements as the operation uses of it, as far as that is known."""
    assert op.opdef.uses is not None, f"{op.opdef.name} does not say what it uses"
    for name, needed in op.opdef.uses(op).items():
        operand = op.operand(name)
        if not isinstance(operand, Region):
            continue
        expected, count = constant_value(needed), constant_value(element_count(operand))
        if expected is not None and count is not None and count != expected:
            found = f"has {shape_text(operand)}, expected {expected}"
            hint = "allocate more elements" if count < expected else "slice its first elements"
            return op.problem(name, "shape-mismatch", found, hint)
    return None


def integer_scalar(op: Op, name: str, like: Region) -> Problem | None:
    """An integer vector takes an integer scalar: a fraction would be lost in silence."""
    value = op.operand(name)
    if isinstance(value, Expr) and value.dtype.is_float and like.dtype.is_integer:
        message = f"{op.opdef.called}: {name} is a float, but `{like.buffer.name}` is {like.dtype}"
        hint = "write an integer, or T.cast(value, ...) to say how it rounds"
        return Problem("dtype-mismatch", message, name, hint)
    return None


def leading(whole: Any, first: Any) -> Any:
    """An array with its first elements replaced."""
    flat = whole.reshape(-1).copy()
    values = np.asarray(first).reshape(-1)
    flat[: values.size] = values
    return flat.reshape(whole.shape)


def shape_text(region: Region) -> str:
    """`[64, 128] = 8192 elements` for an error message."""
    extents = region.static_extents()
    if extents is None:
        return "a run-time shape"
    return f"[{', '.join(map(str, extents))}] = {math.prod(extents)} elements"


def integer_scalars(op: Op, target: Target) -> Problem | None:
    """Scalars count something: elements, bytes, blocks or repeats."""
    for definition, operand in zip(op.opdef.operands, op.operands, strict=True):
        if isinstance(operand, Expr) and operand.dtype.is_float:
            message = f"{op.opdef.called}: {definition.name} is a float, expected an integer"
            return Problem("dtype-mismatch", message, definition.name, "write an integer")
    return None


def all_rules(*rules: Rule) -> Rule:
    """The first problem any of the rules finds."""

    def combined(op: Op, target: Target) -> Problem | None:
        for rule in rules:
            problem = rule(op, target)
            if problem:
                return problem
        return None

    return combined


def elements_bound(region: Region) -> int:
    """Most elements the region can have: its extent, or its whole buffer when that is unknown."""
    return constant_value(element_count(region)) or buffer_elements(region.buffer) or 1


def static_matrix(region: Region) -> tuple[int, int] | None:
    """Rows and columns of a region's last two dimensions (a vector is one row)."""
    extents = region.static_extents()
    if extents is None:
        return None
    return (1, extents[0]) if len(extents) == 1 else (extents[-2], extents[-1])


def largest_matrix(region: Region) -> tuple[int, int]:
    """Most rows and columns the last two dimensions of a region can have: those of its buffer where
    an extent is a run-time value."""
    sizes = [
        constant_value(s.extent) or constant_value(d) or 1
        for s, d in zip(region.dims, region.buffer.shape, strict=True)
    ]
    return (1, sizes[0]) if len(sizes) == 1 else (sizes[-2], sizes[-1])


def one_matrix(op: Op, name: str, target: Target) -> Problem | None:
    """The operand is one matrix: leading dimensions of one, consecutive columns, and rows that
    start at whole blocks, as strides of the hardware count those."""
    region = op.region(name)
    where = f"{op.opdef.called}: {name} `{region.buffer.name}`"
    if any(constant_value(e) != 1 for e in region.extents[:-2]):
        message = f"{where} has {shape_text(region)}, expected one matrix (leading dimensions of 1)"
        return Problem("shape-mismatch", message, name, "choose a slot: buf[i, :, :]")
    if region.dims[-1].stride != 1 and constant_value(region.extents[-1]) != 1:
        message = f"{where} takes every {region.dims[-1].stride}th column"
        return Problem("strided-operand", message, name, "slice columns without a step")
    return row_alignment(op, name, target)


def row_alignment(op: Op, name: str, target: Target) -> Problem | None:
    """Rows of the operand start where ub can be read from, as far as that is known now."""
    region, step = op.region(name), target.alignment[Memory.UB]
    view = trailing_matrix(region)
    pitch = constant_value(view.pitch)
    if is_constant(view.rows, 1) or pitch is None or pitch * region.dtype.size % step == 0:
        return None
    message = f"{op.opdef.called}: rows of `{region.buffer.name}` are {pitch * region.dtype.size} "
    message += f"bytes apart, expected a multiple of {step}"
    hint = f"give it a last dimension that is a multiple of {step // region.dtype.size}"
    return Problem("row-alignment", message, name, hint)


def text(expr: Expr) -> str:
    """An expression in an error message."""
    value = constant_value(expr)
    return "a run-time value" if value is None else str(value)
