"""Conditions over a domain as packed bits, one for each element."""

from __future__ import annotations

import math
from collections.abc import Set

from tile_ir import (
    BOOL,
    COMPARISONS,
    FLOAT16,
    FLOAT32,
    INT32,
    INT64,
    UINT8,
    ZERO,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Memory,
    Region,
    Select,
    Unary,
    binary,
    cast,
    ceildiv,
    children,
    computed_in,
    constant_value,
    element_count,
    linear_form,
    maximum,
    minimum,
    simplify,
    unary,
    walk_expr,
)
from tile_ir.analysis import at_least_by_cases, interval
from tile_passes.parallel.accesses import access, variables_in
from tile_passes.parallel.index_vectors import holds
from tile_passes.parallel.nest import Domain, Unsuitable
from tile_passes.parallel.operators import (
    COMPARE,
    COMPARED_AS,
    MASKS,
    MIRRORED,
    ORDER_BY,
)
from tile_passes.parallel.staged_boxes import varying_part
from tile_passes.parallel.vector_steps import VectorSteps

ZERO_HALF = Const(0.0, FLOAT16)


def mask_of(s: VectorSteps, e: Expr, domain: Domain) -> Region:
    """The condition as packed bits, one for each element."""
    match e:
        case Binary(op="and" | "or" as op, left=left, right=right):
            a, b = mask_of(s, left, domain), mask_of(s, right, domain)
            s.emit(MASKS[op], a, a, b)
            s.release(b)
            return a
        case Unary(op="not", operand=operand):
            a = mask_of(s, operand, domain)
            s.emit("bitwise_not", a, a)
            return a
        case Binary(op="==" | "!=" as op, left=left, right=right) if _are_conditions(s, e, domain):
            return _same_truths(s, op, left, right, domain)
        case Binary(op=op) if op in COMPARISONS:
            return _comparison(s, e, domain)
        case Load():
            return _comparison(s, Binary("!=", cast(e, FLOAT16), ZERO_HALF, BOOL), domain)
        case Cast(operand=operand, bits=False) if operand.dtype is not BOOL:
            return mask_of(s, binary("!=", operand, 0), domain)
        case Select(condition=condition, then=then, orelse=orelse):
            sides = binary("and", condition, then), binary("and", unary("not", condition), orelse)
            return mask_of(s, binary("or", *sides), domain)
    raise Unsuitable("the condition is no comparison of elements")


def _are_conditions(s: VectorSteps, e: Binary, domain: Domain) -> bool:
    """Whether both sides of a comparison are conditions of every element."""
    sides = (e.left, e.right)
    return all(side.dtype is BOOL and not s.is_scalar(side, domain) for side in sides)


def _same_truths(s: VectorSteps, op: str, left: Expr, right: Expr, domain: Domain) -> Region:
    """The bits of two conditions that are alike, or those that are not."""
    a, b = mask_of(s, left, domain), mask_of(s, right, domain)
    both = s.temporaries.take(UINT8, a.extents, tuple(map(_fixed, a.buffer.shape)), True, s.loc)
    s.emit("bitwise_and", both, a, b)
    s.emit("bitwise_or", a, a, b)
    s.emit("bitwise_not", b, a)
    s.emit("bitwise_or", a, both, b)
    s.release(both)
    s.release(b)
    if op == "!=":
        s.emit("bitwise_not", a, a)
    return a


def _fixed(size: Expr) -> int:
    found = constant_value(size)
    assert found is not None, "tiles have fixed sizes"
    return found


def _comparison(s: VectorSteps, e: Binary, domain: Domain) -> Region:
    op, left, right = e.op, e.left, e.right
    if s.is_scalar(left, domain):
        op, left, right = MIRRORED[op], right, left
    left, right = _in_int32(s, left, right, domain)
    dtype = computed_in(op, left.dtype, right.dtype)
    wide = COMPARED_AS.get(dtype, dtype)
    if wide.is_integer and op in ORDER_BY and all(holds(FLOAT32, e, s) for e in (left, right)):
        wide = FLOAT32
    a = s.typed(left, wide, domain, None)
    a = s.filled(a, wide, domain) if isinstance(a, Expr) else a
    with s.shared.holding(a):
        b = s.typed(right, wide, domain, None)
    mode, negated = COMPARE[op]
    if wide.is_integer and op in ORDER_BY:
        name, negated = ORDER_BY[op]
        least = s.tile(wide, domain)
        s.emit(name, least, a, b)
        a, b, mode = least, a, "eq"
    bits = tuple(s.sizes[v] for v in domain.vars)
    mask = s.temporaries.take(
        UINT8,
        (simplify(ceildiv(element_count(a), 8)),),
        (-(-math.prod(bits) // 8),),
        True,
        s.loc,
    )
    s.emit("compare", mask, a, b, None, attrs=(mode,))
    s.release(a)
    s.release(b)
    if negated:
        s.emit("bitwise_not", mask, mask)
    return mask


def _in_int32(s: VectorSteps, left: Expr, right: Expr, domain: Domain) -> tuple[Expr, Expr]:
    """The sides of a comparison of integers of 64 bits in 32 bits, which has instructions, where
    the right one is the same for all elements. Terms of a sum on the left that are the same too
    go to the right. The right side is then brought next to the values of the left one."""
    if INT64 not in (left.dtype, right.dtype) or not s.is_scalar(right, domain):
        return left, right
    if not (left.dtype.is_integer and right.dtype.is_integer):
        return left, right
    varying, same = varying_part(left, domain)
    found, (low, high) = interval(varying, s.known), INT32.limits()
    if not (low < found.low and found.high < high):
        limit = constant_value(right)
        if isinstance(left, Load) and limit is not None and low < limit < high:
            return cast(left, INT32), Const(limit, INT32)  # the conversion saturates
        return left, right
    terms, _ = linear_form(varying)
    inner = sum((cast(_inner(atom), INT32) * factor for atom, factor in terms.items()), ZERO)
    far = simplify(cast(right, INT64) - cast(same, INT64))
    near = maximum(minimum(far, int(found.high) + 1), int(found.low) - 1)
    return simplify(inner), cast(near, INT32)


def _inner(e: Expr) -> Expr:
    """An integer of 32 bits as it was before it was widened."""
    return e.operand if isinstance(e, Cast) and e.operand.dtype is INT32 else e


def demand_inside(
    s: VectorSteps, sides: tuple[Expr, ...], domain: Domain, always: Set[Load] = frozenset()
) -> None:
    """All elements are read before one side is chosen, so none may lie outside its buffer, but
    for those of tensors that are 0 there, and those that are read `always`."""
    for side in sides:
        for part in walk_expr(side):
            if not isinstance(part, Load) or not variables_in(part, domain) or part in always:
                continue
            if s.zero_outside and part.buffer.memory is Memory.GM:
                continue
            if s.by_gather and _surely_inside(s, part):
                continue
            region = access(part.buffer, part.indices, domain).region
            for along, size in zip(region.dims, part.buffer.shape, strict=True):
                extents = dict.fromkeys((along.extent, _most(s, along.extent)))
                behind = (size - 1 - along.offset - (n - 1) * along.stride for n in extents)
                inside = at_least_by_cases(along.offset, s.known, ()) >= 0
                if not inside or all(at_least_by_cases(b, s.known, ()) < 0 for b in behind):
                    raise Unsuitable(
                        f"the condition may keep an element outside `{part.buffer.name}` "
                        "from being read"
                    )


def always_read(e: Expr) -> frozenset[Load]:
    """The elements that an expression reads whatever its conditions say."""
    match e:
        case Select(condition=condition, then=then, orelse=orelse):
            return always_read(condition) | (always_read(then) & always_read(orelse))
        case Binary(op="and" | "or", left=left):
            return always_read(left)
    own = frozenset({e}) if isinstance(e, Load) else frozenset()
    return own.union(*map(always_read, children(e)))


def _surely_inside(s: VectorSteps, e: Load) -> bool:
    """Whether an element is one of its buffer's, whatever the values of the variables are."""
    return all(
        interval(index, s.known).low >= 0 and interval(simplify(index - size), s.known).high < 0
        for index, size in zip(e.indices, e.buffer.shape, strict=True)
    )


def _most(s: VectorSteps, extent: Expr) -> Expr:
    """An extent, or the room the destination has for it if it is known at run time only."""
    if constant_value(extent) is not None or extent not in s.domain.extents:
        return extent
    var = s.domain.vars[s.domain.extents.index(extent)]
    for index, room in zip(s.store.indices, s.store.buffer.shape, strict=True):
        terms, constant = linear_form(index)
        if set(terms) == {var} and constant >= 0 and constant_value(room) is not None:
            return simplify((room - constant + terms[var] - 1) // terms[var])
    return extent
