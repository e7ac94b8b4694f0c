"""Lets an iteration of a product's loop load more of k at once where that loads faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_ir import (
    BOOL,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Op,
    Phase,
    Region,
    Stmt,
    Target,
    map_own_expressions,
    rewrite,
    simplify,
    substitute,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.gemm import tile_of_k
from tile_passes.lowering.region_parts import part_along, slice_at
from tile_passes.passdef import ir_pass
from tile_passes.products.depth import Depth, best_depth, room_in_l1, tile_buffer
from tile_passes.products.product_loop import Loaded, ProductLoop, product_loops


@ir_pass(needs=Phase.TYPED)
def deepen_products(func: Func, target: Target) -> Func:
    """Load more of k per iteration of a pipelined product, and k-major operands in parts.

    Needs, gives: TYPED. Idea: long rows along k load faster, so several iterations become one with
    one load; the other operand is loaded in parts, each with its own place and flags, which needs
    no second version. The depth is the one with the shortest modelled loads that fits l1. Products
    keep their sizes, so that results are equal bit by bit. Limits: loops of two loads and one
    product, of constant sizes and trip count, in automatic order.
    """
    if Automatic.SYNC not in func.automatic:
        return func
    builder = Builder.for_func(func, target)
    new: dict[For, Body] = {}
    buffers: dict[Buffer, Buffer] = {}
    allocs = func.launch.allocs
    for loop in product_loops(func):
        tile = tile_of_k(loop.product, builder)
        depth = best_depth(loop, tile, room_in_l1(allocs, loop, target), target)
        if depth is not None:
            tiles = {o.buffer: tile_buffer(o, depth) for o in loop.operands}
            buffers |= tiles
            allocs = tuple(_with_buffer(a, tiles) for a in allocs)
            new[loop.loop] = _Deeper(loop, depth, tiles).body()
    if not new:
        return func

    def deeper(stmt: Stmt) -> Body:
        return new.get(stmt, (stmt,)) if isinstance(stmt, For) else (stmt,)

    return func.with_body(rewrite(func.launch.body, deeper), allocs=allocs)


def _with_buffer(alloc: Alloc, new: Mapping[Buffer, Buffer]) -> Alloc:
    return replace(alloc, buffer=new[alloc.buffer]) if alloc.buffer in new else alloc


class _Deeper:
    def __init__(self, loop: ProductLoop, depth: Depth, tiles: Mapping[Buffer, Buffer]) -> None:
        self.loop, self.depth, self.tiles = loop, depth, tiles

    def body(self) -> Body:
        """Whole rounds as a loop, and the rest behind it."""
        loop, iterations = self.loop.loop, self.depth.iterations
        whole, rest = divmod(self.loop.iterations, iterations)
        first = loop.start + loop.var * iterations if iterations > 1 else loop.start + loop.var
        body = self.on_core(self.iteration(simplify(first), iterations))
        new: Body = (replace(loop, start=Const(0), stop=Const(whole), body=body),) if whole else ()
        if not rest:
            return new
        last = simplify(loop.start + whole * iterations)
        return (*new, *self.on_core(self.iteration(last, rest)))

    def on_core(self, stmts: Iterator[Stmt]) -> Body:
        """In the section that the iteration was in."""
        section = self.loop.section
        return (replace(section, body=tuple(stmts)),) if section else tuple(stmts)

    def iteration(self, number: Expr, iterations: int) -> Iterator[Stmt]:
        """The loads and products of `iterations` iterations from one number on."""
        size = iterations * self.loop.depth
        for operand in sorted(self.loop.operands, key=lambda o: o.k_dim, reverse=True):
            for start in range(0, size, step := self.rows(operand, size)):
                yield self.load(operand, number, start, min(step, size - start))
        for start in range(0, size, self.depth.piece):
            yield self.product(number, start, min(self.depth.piece, size - start))

    def in_parts(self, operand: Loaded) -> bool:
        return operand.k_dim == -2 and self.depth.parts > 1

    def rows(self, operand: Loaded, size: int) -> int:
        return self.depth.rows if self.in_parts(operand) else size

    def load(self, operand: Loaded, number: Expr, start: int, size: int) -> Op:
        op = self.at_iteration(operand.load, number)
        moved = part_along(op.region("src"), operand.k_dim, Const(start), Const(size))
        return replace(op, operands=(moved, self.tile(operand, start, size)))

    def product(self, number: Expr, start: int, size: int) -> Op:
        """Over `size` of k from `start` on; only the first of an iteration may overwrite."""
        iterations, inside = divmod(start, self.loop.depth)
        op = self.at_iteration(self.loop.product, simplify(number + iterations))
        init = op.operand("init") if inside == 0 else Const(False, BOOL)
        a, b = (self.tile(operand, start, size) for operand in self.loop.operands)
        return replace(op, operands=(a, b, op.region("C"), init, *op.operands[4:]))

    def tile(self, operand: Loaded, start: int, size: int) -> Region:
        """The region from `start` on along k, in the part of the tile that holds it."""
        tile = Region.whole(self.tiles[operand.buffer])
        if self.in_parts(operand):
            part, start = divmod(start, self.depth.rows)
            tile = slice_at(tile, 0, Const(part))
        return part_along(tile, operand.k_dim, Const(start), Const(size))

    def at_iteration(self, op: Op, number: Expr) -> Op:
        new = map_own_expressions(
            op, lambda e: simplify(substitute(e, {self.loop.loop.var: number}))
        )
        assert isinstance(new, Op), "expressions change, not statements"
        return new
