"""Build one operation from its operands and attributes, and check it by its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tile_frontend._arguments.operand_regions import (
    element_region,
    in_bytes,
    narrowed,
    only_element,
    whole_region,
)
from tile_frontend._tracing.faults import Fault, reject
from tile_frontend._tracing.scalars import Scalar, describe, python_number, scalar_expr, unexpected
from tile_frontend._tracing.trace import current, traced_number
from tile_frontend._tracing.values import Pending
from tile_ir import (
    OPS,
    AttrDef,
    AttrValue,
    Expr,
    Load,
    Op,
    OpDef,
    Operand,
    OperandDef,
    Region,
    check_form,
    check_op,
)  # fmt: skip


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
        reject(problem)
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
        raise Fault(
            "attribute-type",
            f"{opdef.name}: {definition.name} is {describe(value)}, "
            f"expected a Python {definition.type.__name__}",
            "it is chosen while compiling: use a value from outside the kernel"
            if isinstance(value, Scalar)
            else None,
            definition.name,
        )
    if definition.type is float and not isinstance(number, bool):
        return float(number)
    return number
