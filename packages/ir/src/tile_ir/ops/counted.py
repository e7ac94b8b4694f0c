"""Vector operations on the first `count` elements: clamp, round and the count-limited arithmetic
(docs/language/rules.md#elementwise)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import FLOAT16, FLOAT32, DType
from tile_ir.expr import Expr, constant_value
from tile_ir.layout.geometry import element_count, is_contiguous
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op
from tile_ir.opdef import ArgumentDef, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.elementwise import BINARY, ELEMENTWISE, UNARY, scalar_type
from tile_ir.ops.extrema import maximum, minimum
from tile_ir.ops.rules import (
    ARITHMETIC,
    FLOATS,
    UB,
    all_rules,
    destination,
    same_dtype,
    same_size,
    scalar,
    scratch_operand,
    shape_text,
    source,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target

# Elements that an operation with float scratch of a fixed size works on at once.
CHUNK = 1024


def check_count(op: Op, target: Target) -> Problem | None:
    """`count` is an integer that no operand is shorter than; operands lie in one run."""
    count = op.operand("count")
    if not isinstance(count, Expr):
        return None
    number = constant_value(count)
    if not count.dtype.is_integer:
        hint = "pass an integer"
        return Problem("operand-kind", f"{op.opdef.called}: count is {count.dtype}", "count", hint)
    for name in (d.name for d in op.opdef.operands if d.memories and d.name != "scratch"):
        region = op.region(name)
        have = constant_value(element_count(region))
        if number is not None and (number < 0 or (have is not None and number > have)):
            message = f"{op.opdef.called}: count is {number}, but {name} "
            message += f"`{region.buffer.name}` has {shape_text(region)}"
            hint = "write 0 or more" if have is None else f"write 0 to {have}"
            return Problem("count-range", message, "count", hint)
        if not is_contiguous(region):
            found = "is not contiguous, so count has no meaning"
            hint = "slice to what is wanted, or copy the slice to a buffer of its own"
            return op.problem(name, "strided-operand", found, hint)
    return None


def _counted(
    name: str, operands: tuple[OperandDef, ...], meaning: Callable[..., Any], doc: str, api: str
) -> OpDef:
    return replace(
        ELEMENTWISE,
        name=name,
        family="counted",
        doc=doc,
        ascend_c=api,
        operands=(*operands, scalar("count", optional=True), scratch_operand()),
        parameters=(*(o.name for o in operands), ArgumentDef("count", ("count",))),
        meaning=meaning,
        dtype_rule=all_rules(same_dtype, scalar_type),
        shape_rule=all_rules(same_size, check_count),
    )


def _clamp(op: Op, _dst: Any, src: Any, low: Any, high: Any, *_rest: Any) -> Any:
    low, high = (np.asarray(v).astype(src.dtype) for v in (low, high))
    return minimum(maximum(src, low), high)


def _round(op: Op, _dst: Any, src: Any, *_rest: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.rint(src) + src.dtype.type(0)  # no -0, as the conversion gives none


def _round_scratch(op: Op) -> tuple[Scratch, ...]:
    half = op.region("dst").dtype is FLOAT16
    return (Scratch(Memory.UB, FLOAT32, CHUNK),) if half else ()


def _limited(name: str, of: str, dtypes: tuple[DType, ...], second: OperandDef | None) -> OpDef:
    """The operation `of` on the first count elements."""
    whole = next(o for o in (*BINARY, *UNARY) if o.name == of)
    regions = (
        destination("dst", UB, *dtypes),
        source("src0" if second and second.memories else "src"),
    )

    def meaning(op: Op, *values: Any) -> Any:
        return whole.meaning(op, *values[: len(regions) + (second is not None)])

    return _counted(
        name,
        (*regions, second) if second else regions,
        meaning,
        f"{of} on the first count elements",
        whole.ascend_c,
    )


OPS = (
    replace(
        _counted(
            "clamp",
            (destination("dst", UB, *ARITHMETIC), source("src"), scalar("min"), scalar("max")),
            _clamp,
            "the first count elements of dst = min(max(src, min), max)",
            "Maxs, Mins",
        ),
        rate=(64, 32),
        instructions=lambda op: 2,
    ),
    replace(
        _counted(
            "round",
            (destination("dst", UB, *FLOATS), source("src")),
            _round,
            "the first count elements of dst = src rounded to the nearest integer, ties to even",
            "Cast",
        ),
        scratch=_round_scratch,
        rate=(40, 64),
        instructions=lambda op: 3 if op.region("dst").dtype is FLOAT16 else 1,
    ),
    _limited("sub_experiment", "sub", ARITHMETIC, source("src1")),
    _limited("abs_experiment", "abs", FLOATS, None),
    _limited("mins_experiment", "min", ARITHMETIC, scalar("scalar")),
    _limited("clamp_max", "min", ARITHMETIC, scalar("scalar")),
    _limited("clamp_min", "max", ARITHMETIC, scalar("scalar")),
)
