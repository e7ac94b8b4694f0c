"""Elements that may lie outside of their tensor, where these are 0: a gather gets the nearest index
inside, and a mask puts zeros where the index was another one."""

from __future__ import annotations

from tile_ir import (
    BOOL,
    FLOAT16,
    ZERO,
    Binary,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    cast,
    conjunction,
    constant_value,
    maximum,
    minimum,
)
from tile_passes.parallel.conditions import mask_of
from tile_passes.parallel.nest import Domain
from tile_passes.parallel.staged_boxes import bounds_in_text, varying_part
from tile_passes.parallel.vector_steps import VectorSteps


def held_inside(s: VectorSteps, e: Load, domain: Domain) -> tuple[Load, Expr | None]:
    """The element with indices inside of its tensor, and the condition under which it is the same
    one; None where it surely is, or lies in a box whose copy brings zeros.

    A box has bounds from the text; what memory says needs a test."""
    if not s.zero_outside or e.buffer.memory is not Memory.GM:
        return e, None
    indices, tests = [], list[Expr]()
    for index, size in zip(e.indices, e.buffer.shape, strict=True):
        inside = _nearest(s, index, size, domain)
        if inside is not index:
            tests.append(Binary("==", inside, index, BOOL))
        indices.append(inside)
    return Load(e.buffer, tuple(indices)), conjunction(tests) if tests else None


def zero_elsewhere(
    s: VectorSteps, value: Region, test: Expr, domain: Domain, into: Region | None
) -> Region:
    """The values where the condition holds, and 0. Bytes are chosen as halves."""
    dtype = value.dtype
    narrow = dtype.size == 1
    if narrow:
        value = s.convert(value, FLOAT16, domain, None)
    with s.shared.holding(value):
        mask = mask_of(s, test, domain)
    zero, mode = cast(Const(0), value.dtype), "vsel_tensor_scalar_mode"
    to = None if narrow else into
    chosen = s.emit_into("select", value.dtype, domain, to, mask, value, zero, attrs=(mode,))
    s.release(mask)
    return s.convert(chosen, dtype, domain, into) if narrow else chosen


def _nearest(s: VectorSteps, index: Expr, size: Expr, domain: Domain) -> Expr:
    """The nearest index inside; the index itself where the text says how far it varies."""
    varying, _ = varying_part(index, domain)
    if bounds_in_text(varying, size, s.known) is not None:
        return index
    match constant_value(size):
        case None:
            return index
        case 1:
            return ZERO
    return minimum(maximum(index, 0), size - 1)
