"""Choices between two values of every element: by a branch, by parts of the domain, or by masks."""

from __future__ import annotations

from collections.abc import Set
from functools import partial, reduce

from tile_ir import (
    BLOCK_BYTES,
    LOGICAL,
    Binary,
    Cast,
    Const,
    DType,
    Expr,
    If,
    Load,
    Memory,
    Region,
    Select,
    Slice,
    Stmt,
    binary,
    cast,
    is_constant,
    simplify,
)
from tile_ir.analysis import Ranges, interval
from tile_passes.parallel.accesses import access, reads, variables_in
from tile_passes.parallel.boxes import has_elements, negated, operands, part_of
from tile_passes.parallel.conditions import always_read, demand_inside, mask_of
from tile_passes.parallel.nest import Domain, Unsuitable, loads_in
from tile_passes.parallel.tile_steps import check_inside
from tile_passes.parallel.vector_steps import VectorSteps

# Integers up to this are floats of 16 bits.
MOST_EXACT = 256


def choice(s: VectorSteps, e: Select, domain: Domain, into: Region | None) -> Region:
    """The chosen values. A condition that is the same for all elements is a branch. For one that
    holds in a part of the domain, the other side is overwritten there, where elements outside of it
    may not be read or would be loaded for nothing. Raises Unsuitable."""
    e = _uniform_outside(s, e, domain)
    if s.is_scalar(e.condition, domain):
        return _branch(s, e, domain, _room(s, e, domain, into))
    part = _part_read(s, e, domain)
    if part is not None:
        return _overwritten(s, *part, domain, _room(s, e, domain, into))
    mask = mask_of(s, e.condition, domain)
    then, orelse = e.then, e.orelse
    if s.is_scalar(then, domain) and not s.is_scalar(orelse, domain):
        then, orelse = orelse, then
        s.emit("bitwise_not", mask, mask)
    a = s.typed(then, e.dtype, domain, None if reads(orelse, into) else into)
    a = s.filled(a, e.dtype, domain) if isinstance(a, Expr) else a
    with s.shared.holding(a):
        b = s.typed(orelse, e.dtype, domain, None)
    mode = f"vsel_tensor_{'scalar' if isinstance(b, Expr) else 'tensor'}_mode"
    result = s.emit_into("select", e.dtype, domain, into, mask, a, b, attrs=(mode,))
    s.release(mask)
    return result


def before_conversion(e: Select) -> Select | None:
    """A choice between floats converted from a narrower type as one in that type, which is less
    work, and may begin inside a block; None for others."""
    kinds = {x.operand.dtype for x in (e.then, e.orelse) if isinstance(x, Cast) and not x.bits}
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if not kind.is_float or not e.dtype.is_float or kind.bits >= e.dtype.bits:
        return None
    sides = [_in_type(side, kind) for side in (e.then, e.orelse)]
    if sides[0] is None or sides[1] is None:
        return None
    return Select(e.condition, sides[0], sides[1], kind)


def _in_type(e: Expr, kind: DType) -> Expr | None:
    """A value before its conversion, or a constant that every float type has."""
    match e:
        case Cast(operand=operand, bits=False) if operand.dtype is kind:
            return operand
        case Const(value=value) if float(value).is_integer() and abs(value) <= MOST_EXACT:
            return Const(float(value), kind)
    return None


def leaves_a_side(s: VectorSteps, e: Select, domain: Domain) -> bool:
    """Whether one side of a choice loads elements of gm, and is not evaluated for all elements."""
    if not any(_loads(s, side, domain) for side in (e.then, e.orelse)):
        return False
    e = _uniform_outside(s, e, domain)
    return s.is_scalar(e.condition, domain) or _part_read(s, e, domain) is not None


def _uniform_outside(s: VectorSteps, e: Select, domain: Domain) -> Select:
    """The choice as two, the outer one by the part of its condition that all elements share."""
    if not isinstance(e.condition, Binary) or e.condition.op not in LOGICAL:
        return e
    op = e.condition.op
    parts = [*operands(op, e.condition)]
    uniform = [part for part in parts if s.is_scalar(part, domain)]
    rest = [part for part in parts if part not in uniform]
    if not uniform or not rest:
        return e
    outer, inner = (reduce(partial(binary, op), found) for found in (uniform, rest))
    if op == "and":
        return Select(outer, Select(inner, e.then, e.orelse, e.dtype), e.orelse, e.dtype)
    return Select(outer, e.then, Select(inner, e.then, e.orelse, e.dtype), e.dtype)


def _room(s: VectorSteps, e: Select, domain: Domain, into: Region | None) -> Region:
    return into if into is not None and not reads(e, into) else s.tile(e.dtype, domain)


def _part_read(s: VectorSteps, e: Select, domain: Domain) -> tuple[Expr, Expr, Domain] | None:
    """The side for all elements, and the other one with the part of the domain that has it; None
    where both are better computed for all. Raises Unsuitable where they cannot be."""
    always = always_read(e)
    problem = _outside(s, (e.then, e.orelse, e.condition), domain, always)
    loads = any(_loads(s, side, domain) for side in (e.then, e.orelse))
    if problem is None and (s.by_masks or not loads):
        return None
    sides = (e.orelse, e.then, e.condition), (e.then, e.orelse, negated(e.condition))
    for whole, other, condition in sorted(sides, key=lambda side: _loads(s, side[0], domain)):
        part = part_of(domain, condition)
        if part is not None and (problem is None or _outside(s, (whole,), domain, always) is None):
            return whole, other, part
    if problem is not None:
        raise problem
    return None


def _outside(
    s: VectorSteps, sides: tuple[Expr, ...], domain: Domain, always: Set[Load]
) -> Unsuitable | None:
    """Why not all elements of some expressions may be read; None where they may."""
    try:
        demand_inside(s, sides, domain, always)
    except Unsuitable as problem:
        return problem
    return None


def _loads(s: VectorSteps, side: Expr, domain: Domain) -> bool:
    """Whether a side reads elements of gm, or of a tile that holds values in a part of it."""
    found = (x for x in loads_in(side) if x.buffer.memory is Memory.GM or x.buffer in s.in_part)
    return any(variables_in(x, domain) for x in found)


def _branch(s: VectorSteps, e: Select, domain: Domain, out: Region) -> Region:
    branches = []
    for side in (e.then, e.orelse):
        with s.aside() as steps:
            _put(s, side, domain, out)
        branches.append(tuple(steps))
    s.steps.append(If(e.condition, branches[0], branches[1], s.loc))
    return out


def _overwritten(
    s: VectorSteps, whole: Expr, other: Expr, part: Domain, domain: Domain, out: Region
) -> Region:
    """One side for all elements, then the other one for a part of them."""
    if _as_window(s, whole, other, part, domain, out):
        return out
    with s.aside() as steps:
        _put(s, whole, domain, out)
    reads_memory = next(loads_in(whole), None) is not None
    leaves = None if reads_memory else _leaves_elements(part, domain)
    if leaves is None:
        s.steps += steps
    else:
        s.steps.append(If(leaves, tuple(steps), (), s.loc, unlikely=True))
    with s.aside() as steps:
        _put(s, other, part, _place(s, out, domain, part))
    test = has_elements(part, s.known)
    s.steps += [If(test, tuple(steps), (), s.loc)] if test is not None else steps
    return out


def _as_window(
    s: VectorSteps, whole: Expr, other: Expr, part: Domain, domain: Domain, out: Region
) -> bool:
    """Whether the steps are a load of rows of gm with one value around them: the transfer writes it
    before and behind each row, at most a block of it. Where all rows are there, the load is all
    that is done, so that it may run ahead of earlier uses. Nothing is done where it is no such
    load."""
    if not isinstance(other, Load) or other.buffer.memory is not Memory.GM:
        return False
    if not isinstance(whole, Const) or out.memory is not Memory.UB or other.dtype is not out.dtype:
        return False
    if not other.indices or variables_in(other.indices[-1], domain) != domain.vars[-1:]:
        return False
    if other.dtype.bits == 64 and whole.value:  # the transfer pads these with zeros only
        return False
    left = simplify(part.starts[-1] - domain.starts[-1])
    right = simplify(domain.extents[-1] - left - part.extents[-1])
    unit = out.dtype.elements_in(BLOCK_BYTES)
    if any(not 0 <= interval(n, s.known).high <= unit for n in (left, right)):
        return False
    rows = _with_columns_of(part, domain)
    some, leaves = has_elements(part, s.known), _leaves_elements(rows, domain)
    if some is not None:
        leaves = negated(some) if leaves is None else binary("or", leaves, negated(some))
    count, conditions = len(s.steps), len(s.conditions)
    value = cast(whole, out.dtype)

    def window(inside: Domain) -> tuple[Stmt, ...]:
        """The load of rows that are all there, or of those of the part."""
        src = access(other.buffer, other.indices, inside).region
        check_inside(src)
        if s.zero_outside and not _is_inside(src, s.known):
            raise Unsuitable("elements outside of the tensor are 0 there")
        with s.aside() as steps:
            dst = _place(s, out, domain, _with_columns_of(inside, domain))
            if is_constant(left, 0) and is_constant(right, 0):
                s.copy(src, dst)
            else:
                s.emit("copy_gm_ub_padded", src, dst, left, attrs=(float(whole.value),))
        return tuple(steps)

    try:
        if leaves is None:
            s.steps += window(part)
            return True
        with s.aside() as steps:
            s.emit("fill", out, value)
        inside = window(part)
        steps += inside if some is None else (If(some, inside, (), s.loc),)
        if is_constant(simplify(leaves), True):
            s.steps += steps
            return True
        all_rows = window(_with_columns_of(domain, part))
        s.steps.append(If(leaves, tuple(steps), all_rows, s.loc, unlikely=True))
    except Unsuitable:
        del s.steps[count:], s.conditions[conditions:]
        return False
    return True


def _is_inside(region: Region, known: Ranges) -> bool:
    """Whether a region surely lies in its buffer."""
    ends = (
        (s.offset, simplify(size - s.offset - s.extent))
        for s, size in zip(region.dims, region.buffer.shape, strict=True)
    )
    return all(interval(e, known).low >= 0 for pair in ends for e in pair)


def _with_columns_of(domain: Domain, columns: Domain) -> Domain:
    """The rows of one part of a domain, with the columns of another one."""
    starts = (*domain.starts[:-1], columns.starts[-1])
    return Domain(domain.vars, starts, (*domain.extents[:-1], columns.extents[-1]))


def _leaves_elements(part: Domain, domain: Domain) -> Expr | None:
    """The condition under which a part is not the whole domain; None where it always is."""
    pairs = zip(part.extents, domain.extents, strict=True)
    tests = [binary("<", new, old) for new, old in pairs if not is_constant(simplify(old - new), 0)]
    return reduce(partial(binary, "or"), tests) if tests else None


def _place(s: VectorSteps, out: Region, domain: Domain, part: Domain) -> Region:
    """Where the elements of a part of the domain lie in a region that has all of them."""
    if out.buffer is s.store.buffer:
        return access(out.buffer, s.store.indices, part).region
    dims = zip(out.dims, domain.starts, part.starts, part.extents, strict=True)
    moved = tuple(Slice(simplify(d.offset + new - old), n) for d, old, new, n in dims)
    return Region(out.buffer, moved)


def _put(s: VectorSteps, e: Expr, domain: Domain, out: Region) -> None:
    value = s.typed(e, out.dtype, domain, out)
    if isinstance(value, Expr):
        s.emit("fill", out, cast(value, out.dtype))
    elif value != out:
        s.copy(value, out)
        s.release(value)
