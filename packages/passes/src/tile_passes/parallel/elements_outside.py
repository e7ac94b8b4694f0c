"""Elements that may lie outside of their tensor, where these are 0: a gather gets the nearest index
inside, and a mask puts zeros where the index was another one."""

from __future__ import annotations

from collections.abc import Mapping

from tile_ir import (
    BOOL,
    FLOAT16,
    ZERO,
    Binary,
    Buffer,
    Cast,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Select,
    cast,
    conjunction,
    constant_value,
    difference,
    is_constant,
    maximum,
    minimum,
    reads_memory,
    replace_in,
    simplify,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.filled_boxes import Box
from tile_passes.parallel.boxes import operands
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


def without_bounds(e: Expr) -> Expr:
    """An expression without conditions that say what holds in any case: elements outside of a
    tensor are 0."""
    return replace_in(e, _unbounded)


def _unbounded(e: Expr) -> Expr | None:
    match e:
        case Select(condition=condition, then=then, orelse=orelse) if is_constant(orelse, 0):
            load = then.operand if isinstance(then, Cast) else then
            if isinstance(load, Load) and load.buffer.memory is Memory.GM:
                bounds = operands("and", condition)
                return then if all(_is_bound(part, load) for part in bounds) else None
    return None


def _is_bound(condition: Expr, load: Load) -> bool:
    """Whether a comparison fails only where an element is outside of its tensor."""
    match condition:
        case Binary(op=">=" | ">" as op, left=more, right=less):
            pass
        case Binary(op="<=" | "<" as op, left=less, right=more):
            pass
        case _:
            return False
    if more.dtype.is_float or less.dtype.is_float:
        return False
    least = simplify(difference(more, less) - (1 if op in (">", "<") else 0))
    for index, size in zip(load.indices, load.buffer.shape, strict=True):
        for distance in (index, simplify(size - 1 - index)):
            beyond = constant_value(difference(least, distance))
            if beyond is not None and beyond >= 0:
                return True
    return False


def held_in_bounds(value: Expr, filled: Mapping[Buffer, Box], known: Ranges) -> Expr:
    """A value whose choices read gm, and tiles in boxes that hold values everywhere, at the nearest
    index inside: where the index was another one, the other side is chosen."""

    def held(x: Expr) -> Expr | None:
        match x:
            case Load(buffer, indices) if not any(map(reads_memory, indices)):
                box = buffer.shape if buffer.memory is Memory.GM else filled.get(buffer)
                if box is None:
                    return None
                sizes = zip(indices, box, strict=True)
                return Load(buffer, tuple(_between(i, size, known) for i, size in sizes))
        return None

    def chosen(x: Expr) -> Expr | None:
        if not isinstance(x, Select):
            return None
        return replace(x, then=replace_in(x.then, held), orelse=replace_in(x.orelse, held))

    return replace_in(value, chosen)


def _between(index: Expr, size: Expr, known: Ranges) -> Expr:
    """The index, not below zero and below the size."""
    if interval(index, known).low < 0:
        index = maximum(index, 0)
    return index if interval(simplify(index - size), known).high < 0 else minimum(index, size - 1)


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
