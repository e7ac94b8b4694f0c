"""Vectors that count up (docs/language/rules.md#rows-and-columns)."""

from __future__ import annotations

from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, INT16, INT32, UINT16, UINT32
from tile_ir.expr import constant_value, is_constant
from tile_ir.layout.geometry import matrix_view
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import ArgumentDef, OpDef, Problem
from tile_ir.ops.axes import whole
from tile_ir.ops.counted import check_count
from tile_ir.ops.elementwise import scalar_type
from tile_ir.ops.rules import UB, VECTOR, all_rules, destination, scalar
from tile_ir.target import Target

COUNTING = (INT16, UINT16, FLOAT16, INT32, UINT32, FLOAT32)


def _in_rows(op: Op, target: Target) -> Problem | None:
    """Rows lie at one distance, a multiple of 32 bytes."""
    dst, step = op.region("dst"), target.alignment[Memory.UB]
    view = matrix_view(dst)
    if view is None:
        hint = "slice one matrix of the buffer"
        return op.problem("dst", "strided-operand", "is not rows at one distance", hint)
    pitch = constant_value(view.pitch)
    if is_constant(view.rows, 1) or pitch is None or pitch * dst.dtype.size % step == 0:
        return None
    message = f"{op.opdef.called}: rows of `{dst.buffer.name}` are {pitch * dst.dtype.size} bytes "
    message += f"apart, expected a multiple of {step}"
    hint = f"give it a last dimension that is a multiple of {step // dst.dtype.size}"
    return Problem("row-alignment", message, "dst", hint)


def _index(op: Op, dst: Any, first: Any) -> Any:
    return _progression(dst, first, 1, dst.size)


def _progression(dst: Any, first: Any, step: Any, count: Any) -> Any:
    """Each operation in the element type: integers wrap, floats round."""
    with np.errstate(all="ignore"):
        first, step = (np.asarray(v).astype(dst.dtype) for v in (first, step))
        values = np.arange(count).astype(dst.dtype) * step + first
        result = dst.reshape(-1).copy()
        result[:count] = values.astype(dst.dtype)
        return result.reshape(dst.shape)


def _arith_progression(op: Op, dst: Any, first: Any, diff: Any, count: Any) -> Any:
    return _progression(dst, first, diff, dst.size if count is None else count)


OPS = (
    OpDef(
        name="createvecindex",
        family="index",
        doc="dst[k] = first + k over all elements; floats are exact while their type holds k",
        ascend_c="Duplicate, Adds",
        operands=(destination("dst", UB, *COUNTING), scalar("first")),
        placement=VECTOR,
        axes=whole,
        meaning=_index,
        dtype_rule=scalar_type,
        shape_rule=_in_rows,
        rate=(64, 32),
        instructions=lambda op: 9,
    ),
    OpDef(
        name="arith_progression",
        family="index",
        doc="dst[k] = first + k * diff for k below count; floats round after the product and the "
        "sum, and are exact while their type holds k",
        ascend_c="Duplicate, Adds, Muls",
        operands=(
            destination("dst", UB, *COUNTING),
            scalar("first"),
            scalar("diff"),
            scalar("count", optional=True),
        ),
        parameters=("dst", "first", "diff", ArgumentDef("count", ("count",))),
        placement=VECTOR,
        axes=whole,
        meaning=_arith_progression,
        dtype_rule=scalar_type,
        shape_rule=all_rules(check_count, _in_rows),
        rate=(40, 20),
        instructions=lambda op: 10,
    ),
)
