"""Bits of integers, element by element. The instructions have 16-bit lanes; which bits make an
element does not matter to them, so bytes and 32-bit integers are taken as such lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_ir.dtypes import DType
from tile_ir.lazy import np
from tile_ir.machine import Memory
from tile_ir.nodes import Op, Region
from tile_ir.opdef import Access, Composite, OpDef, OperandDef, Problem, Scratch
from tile_ir.ops.elementwise import ELEMENTWISE
from tile_ir.ops.rules import (
    BITS,
    UB,
    all_rules,
    destination,
    elements_bound,
    integer_scalar,
    same_dtype,
    scratch_operand,
    source,
)
from tile_ir.quick_dataclasses import replace
from tile_ir.target import Target


def whole_blocks(elements: int, dtype: DType) -> int:
    """Elements rounded up to blocks of 32 bytes."""
    per_block = 32 // dtype.size
    return -(-elements // per_block) * per_block


def _vectors(op: Op, count: int) -> tuple[Scratch, ...]:
    """Scratch for some vectors like the destination."""
    dst = op.region("dst")
    size = whole_blocks(elements_bound(dst), dst.dtype)
    return (Scratch(Memory.UB, dst.dtype, count * size),) if count else ()


def _scalar(op: Op) -> int:
    """How many of the operands become vectors."""
    return int(not isinstance(op.operand("src1"), Region))


def _integer_src1(op: Op, target: Target) -> Problem | None:
    """An integer scalar beside an integer vector."""
    return integer_scalar(op, "src1", op.region("dst"))


def _binary(
    name: str, fn: Callable[[Any, Any], Any], doc: str, api: str, scratch: Callable[[Op], int],
) -> OpDef:  # fmt: skip
    """A scalar operand becomes a vector of itself, in scratch."""
    return replace(
        ELEMENTWISE,
        name=name,
        family="bitwise",
        doc=doc,
        ascend_c=api,
        operands=(
            destination("dst", UB, *BITS),
            source("src0"),
            OperandDef("src1", Access.READ, UB, scalar=True),
            scratch_operand(),
        ),
        meaning=lambda op, _dst, a, b, _scratch: fn(a, np.asarray(b).astype(a.dtype)),
        dtype_rule=all_rules(same_dtype, _integer_src1),
        scratch=lambda op: _vectors(op, scratch(op)),
    )


OPS = (
    _binary("bitwise_and", lambda a, b: a & b, "dst = src0 & src1", "And", _scalar),
    _binary("bitwise_or", lambda a, b: a | b, "dst = src0 | src1", "Or", _scalar),
    replace(
        _binary(
            "bitwise_xor",
            lambda a, b: a ^ b,
            "dst = src0 ^ src1, composed as (src0 | src1) & ~(src0 & src1)",
            "Or, And, Not, And",
            lambda op: 1 + _scalar(op),
        ),
        composite=Composite.YES,
        rate=(32, 16),
        instructions=lambda op: 4,
    ),
    replace(
        ELEMENTWISE,
        name="bitwise_not",
        family="bitwise",
        doc="dst = ~src",
        ascend_c="Not",
        operands=(destination("dst", UB, *BITS), source("src")),
        meaning=lambda op, _dst, src: ~src,
    ),
)
