"""Elementwise composites: sequences of vector instructions."""

from __future__ import annotations

from tile_ir import Body, Const, Op, Operand, Region, Slice, Stmt, element_count
from tile_ir.analysis import Ranges
from tile_ir.ops.bitwise import whole_blocks
from tile_ir.ops.elementwise import half_of_scratch
from tile_ir.ops.rules import elements_bound
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.vector import lower_vector_op


def _sequence(
    steps: list[tuple[str, tuple[Operand, ...]]], op: Op, known: Ranges, builder: Builder
) -> Body:
    """The steps, each lowered."""
    result: list[Stmt] = []
    for name, operands in steps:
        result.extend(lower_vector_op(builder.op(name, operands, op.loc), known, builder))
    return tuple(result)


def _halves(op: Op, like: Region) -> tuple[Region, Region]:
    """The two halves of the scratch buffer, each as large as the operand."""
    scratch = op.region("scratch")
    half = half_of_scratch(like)
    count = element_count(like)
    return (
        Region(scratch.buffer, (Slice(Const(0), count),)),
        Region(scratch.buffer, (Slice(Const(half), count),)),
    )


def _sigmoid_steps(
    src: Region, e: Region, one: Region, dst: Region
) -> list[tuple[str, tuple[Operand, ...]]]:
    """1 / (1 + e**-x); a true division, since the reciprocal instruction is an approximation."""
    return [
        ("mul", (e, src, Const(-1.0, src.dtype))),
        ("exp", (e, e)),
        ("add", (e, e, Const(1.0, src.dtype))),
        ("fill", (one, Const(1.0, src.dtype))),
        ("div", (dst, one, e)),
    ]


def lower_sigmoid(op: Op, known: Ranges, builder: Builder) -> Body:
    """The steps of a sigmoid, the last one into the destination."""
    op = builder.with_scratch(op)
    src, dst = op.region("src"), op.region("dst")
    e, one = _halves(op, src)
    return _sequence(_sigmoid_steps(src, e, one, dst), op, known, builder)


def lower_silu(op: Op, known: Ranges, builder: Builder) -> Body:
    """x * sigmoid(x); safe in place, as the sigmoid goes to scratch."""
    op = builder.with_scratch(op)
    src, dst = op.region("src"), op.region("dst")
    e, one = _halves(op, src)
    steps = [*_sigmoid_steps(src, e, one, e), ("mul", (dst, src, e))]
    return _sequence(steps, op, known, builder)


def lower_xor(op: Op, known: Ranges, builder: Builder) -> Body:
    """(a | b) & ~(a & b); a number b becomes a vector in scratch first, in whole blocks."""
    op = builder.with_scratch(op)
    dst, a, b = op.region("dst"), op.region("src0"), op.operand("src1")
    scratch, count = op.region("scratch"), element_count(dst)
    both = Region(scratch.buffer, (Slice(Const(0), count),))
    steps: list[tuple[str, tuple[Operand, ...]]] = []
    if not isinstance(b, Region):
        size = whole_blocks(elements_bound(dst), dst.dtype)
        filled = Region(scratch.buffer, (Slice(Const(size), Const(size)),))
        steps.append(("fill", (filled, b)))
        b = Region(scratch.buffer, (Slice(Const(size), count),))
    steps += [
        ("bitwise_and", (both, a, b, None)),
        ("bitwise_not", (both, both)),
        ("bitwise_or", (dst, a, b, None)),
        ("bitwise_and", (dst, dst, both, None)),
    ]
    return _sequence(steps, op, known, builder)
