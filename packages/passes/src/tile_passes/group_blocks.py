"""Runs blocks whose elements share lines of the data cache one after another, on one core."""

from __future__ import annotations

from math import gcd, prod

from tile_ir import (
    CACHE_LINE_BYTES,
    ZERO,
    Binary,
    Buffer,
    Diagnostic,
    Expr,
    For,
    Func,
    Let,
    Loc,
    LoopKind,
    Phase,
    Store,
    Target,
    Var,
    as_expr,
    ceildiv,
    constant_value,
    linear_form,
    minimum,
    simplify,
    walk,
    walk_ops,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.elements_of_blocks import (
    are_of_block,
    leaves_stores,
    spans_of,
    updated_elements,
)
from tile_passes.analysis.index_digits import quotients
from tile_passes.analysis.uses_in_text import ElementUse, uses_in_text
from tile_passes.free_names import FreeNames
from tile_passes.own_order import says_when
from tile_passes.passdef import ir_pass

LINE_BITS = 8 * CACHE_LINE_BYTES
# More blocks than any group of whole lines has: all of them.
MANY = LINE_BITS + 1


@ir_pass(needs=Phase.TYPED)
def group_blocks(func: Func, target: Target) -> Func:
    """Give one core the blocks that update elements in the same lines of the data cache.

    Needs, gives: TYPED. Idea: the scalar unit stores whole lines of its cache. Where a block
    updates elements of gm, and the line holds elements of other blocks, one core would undo what
    another has stored. Consecutive blocks whose elements are consecutive too form groups of whole
    lines; a core runs the blocks of a group in order. Where no group of fewer blocks is whole
    lines, one core runs all of them. Limits: each block updates elements of its own, which
    `hold_own_elements` could not hold in ub; kernels whose blocks wait for each other are left.
    """
    if not leaves_stores(func) or any(says_when(op) for op in walk_ops(func.launch.body)):
        return func
    updated = updated_elements(func)
    uses = uses_in_text(func) if updated else {}
    sizes = {t: _group(t, uses[t], func) for t in updated}
    found = {t: size for t, size in sizes.items() if size is not None}
    if not found:
        return func
    tensor = max(found, key=lambda t: found[t])
    loc = next(s.loc for s in walk(func.launch.body) if isinstance(s, Store) and s.buffer is tensor)
    remarks = (*func.remarks, _remark(tensor, found[tensor], loc))
    return replace(_grouped(func, found[tensor]), remarks=remarks)


def _group(tensor: Buffer, uses: list[ElementUse], func: Func) -> int | None:
    """The number of consecutive blocks whose elements are whole lines, MANY where only all blocks
    together are; None where it is one, or where blocks share elements."""
    spans = spans_of(tensor, uses, func)
    if not are_of_block([span for span in spans if span is not None], uses, func):
        return None
    row: Expr = ZERO
    for dim, (span, extent) in enumerate(zip(spans, tensor.shape, strict=True)):
        if span is None:
            break
        row = _joined(row, extent, span.start)
        step = _step(row, func.launch.block)
        if step > span.high - span.low:
            sizes = (constant_value(inner) or 1 for inner in tensor.shape[dim + 1 :])
            bits = prod(sizes) * step * tensor.dtype.bits
            count = LINE_BITS // gcd(LINE_BITS, bits)
            return count if count > 1 else None
        if span.high > span.low:
            break
    return MANY


def _joined(row: Expr, extent: Expr, index: Expr) -> Expr:
    """The number of a row among all, from those of its two dimensions."""
    match index:
        case Binary(op="%", left=number, right=right) if right == extent:
            if row in quotients(number, extent):
                return number
    return simplify(row * extent + index)


def _step(row: Expr, block: Var) -> int:
    """By how much a row grows from block to block, if it is 0 in the first; otherwise 0."""
    terms, constant = linear_form(row)
    return max(terms[block], 0) if terms.keys() == {block} and not constant else 0


def _grouped(func: Func, size: int) -> Func:
    """Launch a block for each group, which runs the blocks of the group."""
    launch = func.launch
    grid = constant_value(launch.blocks)
    names, dtype = FreeNames.of(func), launch.block.dtype
    group, member = (Var(names.fresh(name), dtype) for name in ("group", "member"))
    number: Expr = member
    members, groups = launch.blocks, as_expr(1)
    if size != MANY and (grid is None or grid > size):
        number = group * size + member
        members = minimum(launch.blocks - group * size, size)
        groups = ceildiv(launch.blocks, size)
        if grid is not None and grid % size == 0:
            members = as_expr(size)
        elif grid is not None:  # bounds the number for interval analysis
            number = minimum(number, grid - 1)
    body = (Let(launch.block, number, launch.loc), *launch.body)
    loop = For(member, ZERO, members, LoopKind.SERIAL, body, launch.loc)
    return func.with_body((loop,), blocks=groups, block=group)


def _remark(tensor: Buffer, size: int, loc: Loc) -> Diagnostic:
    together = "one core runs all blocks" if size == MANY else f"one core runs {size} blocks"
    return Diagnostic(
        "shared-lines",
        f"{together} one after another: they update elements of `{tensor.name}` in the same lines "
        f"of {CACHE_LINE_BYTES} bytes, which the scalar unit stores whole",
        loc,
        f"update a tile of T.alloc_shared, and copy it to `{tensor.name}` at the end",
        "warning",
    )
