"""Rounds of a product's loop: as deep in k as one instruction multiplies, and begun elsewhere by
blocks that run side by side, so that they do not ask for the same rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tile_ir import (
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Op,
    Region,
    Stmt,
    Var,
    constant_value,
    equal,
    map_own_expressions,
    replace_buffers,
    rewrite,
    simplify,
    substitute,
)
from tile_ir.ops.cube import is_tile_product
from tile_ir.ops.movement import loads_l1
from tile_passes.lowering.gemm import LONGEST_TILE
from tile_passes.products.product_loop import ProductLoop, product_loops
from tile_passes.retiling.block_axis import longer_buffer, longer_region

# Blocks that run side by side begin at one of so many places along k, each of which has at least so
# many elements: rows are loaded in runs of that length from there on.
PLACES = 8
STRETCH = 512


def joined_rounds(func: Func) -> Func:
    """The function whose rounds are as deep in k as an instruction of their product takes."""
    new: dict[Stmt, Stmt] = {}
    buffers: dict[Buffer, Buffer] = {}
    for loop in product_loops(func):
        most = LONGEST_TILE // loop.depth
        times = next((n for n in range(most, 1, -1) if loop.rounds % n == 0), 1)
        if times > 1 and _is_straight(loop):
            new[loop.loop] = _deeper(loop, times)
            buffers |= {
                o.buffer: longer_buffer(o.buffer, o.k_dim % 2, times) for o in loop.operands
            }
    if not new:
        return func
    allocs = tuple(replace(a, buffer=buffers.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    body = rewrite(func.launch.body, lambda s: new.get(s, s) if isinstance(s, For) else s)
    return func.with_body(replace_buffers(body, buffers), allocs=allocs)


def _is_straight(loop: ProductLoop) -> bool:
    """Whether rounds follow each other along k, and only the first may begin a sum."""
    init = loop.product.operand("init")
    assert isinstance(init, Expr), "a product says whether it begins a sum"
    first = init == equal(loop.loop.var, loop.loop.start)
    return loop.group == 0 and (first or constant_value(init) is False)


def _deeper(loop: ProductLoop, times: int) -> For:
    """The loop with so many rounds in one."""
    old = loop.loop
    inside = old.start + (old.var - old.start) * times
    dims = {o.buffer: o.k_dim for o in loop.operands}

    def stmt(s: Stmt) -> Stmt:
        new = map_own_expressions(s, lambda e: simplify(substitute(e, {old.var: inside})))
        if not isinstance(s, Op) or not isinstance(new, Op):
            return new
        if is_tile_product(s):
            new = s  # the first round stays the first
        loaded = dims[new.region("dst").buffer] if loads_l1(new) else None
        operands = tuple(
            _longer(o, dims.get(o.buffer, loaded), times) if isinstance(o, Region) else o
            for o in new.operands
        )
        return Op(new.opdef, operands, new.attrs, new.loc)

    stop = Const((constant_value(old.start) or 0) + loop.rounds // times)
    return replace(old, stop=stop, body=rewrite(old.body, stmt))


def _longer(region: Region, k_dim: int | None, times: int) -> Region:
    if k_dim is None:
        return region
    return longer_region(region, len(region.dims) + k_dim, times, grow=False)


def begun_elsewhere(func: Func, place: Expr) -> Func:
    """The function whose blocks begin their sums over k at different places and go once around.
    `place` tells neighbours apart."""
    new: dict[Stmt, Stmt] = {}
    for loop in product_loops(func):
        parts = max(
            (p for p in range(2, PLACES + 1)
             if loop.rounds % p == 0 and loop.rounds // p * loop.depth >= STRETCH),
            default=1,
        )  # fmt: skip
        if parts > 1 and loop.group == 0 and constant_value(loop.loop.start) == 0:
            var = loop.loop.var
            turned = (var + place % parts * (loop.rounds // parts)) % loop.rounds
            new[loop.loop] = _turned(loop, {var: turned})
    if not new:
        return func
    body = rewrite(func.launch.body, lambda s: new.get(s, s) if isinstance(s, For) else s)
    return func.with_body(body)


def _turned(loop: ProductLoop, values: Mapping[Var, Expr]) -> For:
    def stmt(s: Stmt) -> Stmt:
        if isinstance(s, Op) and loads_l1(s):
            return map_own_expressions(s, lambda e: substitute(e, values))
        return s

    return replace(loop.loop, body=rewrite(loop.loop.body, stmt))
