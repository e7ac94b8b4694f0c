"""Lets a product and the copy of its result wait for each other by the unit flags of l0c."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import (
    BOOL,
    FRACTAL_ROWS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Stmt,
    Target,
    Var,
    binary,
    bodies,
    breaks,
    buffers_of,
    equal,
    is_constant,
    simplify,
    substitute,
    walk,
    with_bodies,
)
from tile_ir.analysis import constant_trips
from tile_ir.ops.unit_flags import copy_by_units, product_by_units, product_of, taken_by
from tile_ir.quick_dataclasses import replace
from tile_passes.passdef import ir_pass

TRUE, FALSE = Const(True, BOOL), Const(False, BOOL)


@ir_pass(needs=Phase.PLANNED, optional=True)
def use_unit_flags(func: Func, target: Target) -> Func:
    """Overlap copies out of l0c with the last product of a result and the first of the next.

    Needs, gives: PLANNED. Idea: a single accumulator is free for the next result only after its
    copy, and the cube unit would wait. Unit flags of l0c let both proceed block by block. The
    products of a result, the last one marked, and its copy take their forms with unit flags;
    `insert_sync` orders the rest (docs/hardware/units.md#unit-flag). Limits: one accumulator in
    automatic order, computed whole and from nothing by products in loops of constant trip count,
    and copied once as a whole.
    """
    if Automatic.SYNC not in func.automatic:
        return func
    l0c = [a for a in func.launch.allocs if a.buffer.memory is Memory.L0C]
    if len(l0c) != 1 or not _in_whole_fractals(l0c[0]):
        return func
    accumulator = l0c[0].buffer
    body = _by_units(func.launch.body, accumulator)
    return func if body is None else func.with_body(body)


def _in_whole_fractals(alloc: Alloc) -> bool:
    """Products and copies then touch the same units; fractals of l0c have as many columns as
    rows."""
    shape = alloc.buffer.static_shape()
    return shape is not None and len(shape) == 2 and not any(size % FRACTAL_ROWS for size in shape)


def _by_units(body: Body, whole: Buffer) -> Body | None:
    """The block with every result in its form with unit flags; None unless all that touches the
    accumulator is products and then a copy, in every run of the block."""
    if any(breaks(body)):
        return None
    new: list[Stmt] = []
    products: list[int] = []  # of the result that has not been copied yet
    for stmt in body:
        place = len(new)
        new.append(stmt)
        if not _touches(stmt, whole):
            continue
        if _only_products(stmt, whole):
            products.append(place)
        elif isinstance(stmt, Op):
            first = new[products[0]] if products else None
            if first is None or taken_by(stmt) != Region.whole(whole) or not _overwrites(first):
                return None
            for index in products:
                last = TRUE if index == products[-1] else FALSE
                new[index] = _marked(new[index], whole, last)
            new[place] = copy_by_units(stmt)
            products = []
        elif products or not isinstance(stmt, For | If | Section):
            return None
        else:
            inner = [_by_units(block, whole) for block in bodies(stmt)]
            if None in inner:
                return None
            new[place] = with_bodies(stmt, tuple(block for block in inner if block is not None))
    return None if products else tuple(new)


def _touches(stmt: Stmt, whole: Buffer) -> bool:
    return any(whole in buffers_of(s) for s in walk((stmt,)))


def _only_products(stmt: Stmt, whole: Buffer) -> bool:
    """Whether the statement is products into all of the accumulator and nothing else of it, and
    makes at least one."""
    if isinstance(stmt, Op):
        return product_of(stmt) == Region.whole(whole) and _makes_something(stmt)
    users = _users(stmt.body, whole) if isinstance(stmt, For) else ()
    # A loop that is left may do so before the product that is to be the last one.
    some = isinstance(stmt, For) and (constant_trips(stmt) or 0) > 0 and not any(breaks(stmt.body))
    return some and bool(users) and all(_only_products(s, whole) for s in users)


def _makes_something(product: Op) -> bool:
    """Where a size is zero the unit does nothing, and the copy would wait for ever."""
    sizes = [product.region(name).static_extents() for name in ("A", "B")]
    return all(size is not None and 0 not in size for size in sizes)


def _users(body: Body, whole: Buffer) -> Sequence[Stmt]:
    return [s for s in body if _touches(s, whole)]


def _overwrites(stmt: Stmt) -> bool:
    """Whether the first product of a statement leaves nothing of the result before it."""
    first: dict[Var, Expr] = {}
    while isinstance(stmt, For):
        first[stmt.var] = substitute(stmt.start, first)
        stmt = next(s for s in walk(stmt.body) if isinstance(s, For | Op) and _makes(s))
    assert isinstance(stmt, Op), "products in loops"
    init = stmt.operand("init")
    return isinstance(init, Expr) and is_constant(simplify(substitute(init, first)), True)


def _makes(stmt: For | Op) -> bool:
    ops = walk((stmt,))
    return any(isinstance(s, Op) and product_of(s) is not None for s in ops)


def _marked(stmt: Stmt, whole: Buffer, last: Expr) -> Stmt:
    """The products in their form with unit flags; the last one completes the result if `last`
    holds."""
    if isinstance(stmt, Op):
        return product_by_units(stmt, last)
    assert isinstance(stmt, For), "products in loops"
    users = _users(stmt.body, whole)
    ends = equal(stmt.var, simplify(stmt.stop - 1))
    condition = ends if last == TRUE else binary("and", last, ends)
    body = (
        _marked(s, whole, condition if s is users[-1] else FALSE) if s in users else s
        for s in stmt.body
    )
    return replace(stmt, body=tuple(body))
