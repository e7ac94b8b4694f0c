"""Change the iterations of a product's loop: as deep in k as one instruction multiplies.

Blocks that run side by side begin elsewhere, so that they do not load the same rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tile_ir import (
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    LoopKind,
    Op,
    Region,
    Stmt,
    bodies,
    breaks,
    constant_value,
    equal,
    map_own_expressions,
    map_region,
    replace_buffers,
    rewrite,
    simplify,
    substitute,
    variables_of,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.ops.cube import is_tile_product
from tile_ir.ops.movement import loads_l1
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.gemm import LONGEST_TILE
from tile_passes.products.product_loop import ProductLoop, product_loops
from tile_passes.retiling.longer_tiles import longer_buffer, longer_region

# Blocks that run side by side begin at one of so many places along k, each of which has at least so
# many elements: rows are loaded in runs of that length from there on.
PLACES = 8
STRETCH = 512


def open_stages(func: Func) -> Func:
    """The function whose pipelined loops, and others with products, leave to the compiler how far
    their iterations overlap."""
    return func.with_body(_opened(func.launch.body))


def _opened(body: Body) -> Body:
    return with_statements(body, (_with_open_stages(stmt) for stmt in body))


def _with_open_stages(stmt: Stmt) -> Stmt:
    if isinstance(stmt, For) and stmt.kind is LoopKind.PIPELINED:
        return replace(stmt, stages=0) if stmt.stages and not stmt.given else stmt
    if isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and not any(breaks(stmt.body)):
        inside = tuple(walk(stmt.body))
        loops = [s for s in inside if isinstance(s, For) and s.kind is LoopKind.PIPELINED]
        if not loops and any(isinstance(s, Op) and is_tile_product(s) for s in inside):
            return replace(stmt, kind=LoopKind.PIPELINED)
    return with_bodies(stmt, tuple(map(_opened, bodies(stmt))))


def joined_iterations(func: Func) -> Func:
    """The function whose iterations are as deep in k as an instruction of their product takes."""
    new: dict[Stmt, Stmt] = {}
    buffers: dict[Buffer, Buffer] = {}
    for loop in product_loops(func):
        most = LONGEST_TILE // loop.depth
        times = next((n for n in range(most, 1, -1) if loop.iterations % n == 0), 1)
        if times > 1 and _is_straight(loop):
            new[loop.loop] = _deeper(loop, times)
            buffers |= {
                o.buffer: longer_buffer(o.buffer, o.k_dim % 2, times) for o in loop.operands
            }
    if not new:
        return func
    allocs = tuple(replace(a, buffer=buffers.get(a.buffer, a.buffer)) for a in func.launch.allocs)
    body = _with_loops(func, new).launch.body
    return func.with_body(replace_buffers(body, buffers), allocs=allocs)


def _is_straight(loop: ProductLoop) -> bool:
    """Whether iterations follow each other along k and add to one place, and only the first may
    begin a sum."""
    init, var = loop.product.operand("init"), loop.loop.var
    assert isinstance(init, Expr), "a product says whether it begins a sum"
    first = init == equal(var, loop.loop.start) or constant_value(init) is False
    elsewhere = replace(
        loop.product, operands=tuple(o for o in loop.product.operands if o is not init)
    )
    return loop.group == 0 and first and var not in variables_of(elsewhere)


def _deeper(loop: ProductLoop, times: int) -> For:
    """The loop with so many iterations in one."""
    old = loop.loop
    dims = {o.buffer: o.k_dim for o in loop.operands}

    def deeper(op: Op) -> Op:
        loaded = dims[op.region("dst").buffer] if loads_l1(op) else None
        operands = tuple(
            _longer(map_region(o, simplify), dims.get(o.buffer, loaded), times)
            if isinstance(o, Region)
            else o
            for o in op.operands
        )
        return replace(op, operands=operands)

    stop = Const((constant_value(old.start) or 0) + loop.iterations // times)
    body = _with_loads_of(loop, old.start + (old.var - old.start) * times, deeper)
    return replace(old, stop=stop, body=body)


def _longer(region: Region, k_dim: int | None, times: int) -> Region:
    if k_dim is None:
        return region
    return longer_region(region, len(region.dims) + k_dim, times, grow=False)


def _with_loads_of(
    loop: ProductLoop, number: Expr, change: Callable[[Op], Op] = lambda op: op
) -> Body:
    """The body of a loop that loads what the iteration of another number does, whatever names that
    goes by; its product stays that of its own iteration."""

    def stmt(s: Stmt) -> Stmt:
        if isinstance(s, Op) and is_tile_product(s):
            return change(loop.product)
        new = map_own_expressions(s, lambda e: substitute(e, {loop.loop.var: number}))
        return change(new) if isinstance(new, Op) else new

    return rewrite(loop.loop.body, stmt)


def begun_elsewhere(func: Func, place: Expr) -> Func:
    """The function whose blocks begin their sums over k at different places and go once around.
    `place` differs between neighbours."""
    new: dict[Stmt, Stmt] = {}
    for loop in product_loops(func):
        parts = max(
            (p for p in range(2, PLACES + 1)
             if loop.iterations % p == 0 and loop.iterations // p * loop.depth >= STRETCH),
            default=1,
        )  # fmt: skip
        if parts > 1 and _is_straight(loop) and constant_value(loop.loop.start) == 0:
            turned = (loop.loop.var + place % parts * (loop.iterations // parts)) % loop.iterations
            new[loop.loop] = replace(loop.loop, body=_with_loads_of(loop, turned))
    return _with_loops(func, new)


def _with_loops(func: Func, new: Mapping[Stmt, Stmt]) -> Func:
    if not new:
        return func
    body = rewrite(func.launch.body, lambda s: new.get(s, s) if isinstance(s, For) else s)
    return func.with_body(body)
