"""The dimensions of a grid, as its kernel takes them from the number of the block."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from tile_ir import Binary, Body, Const, Expr, Func, Let, Stmt, Var, constant_value, walk, walk_expr
from tile_ir import expressions as expressions_of
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames


@dataclass(frozen=True, slots=True)
class GridDim:
    """`let` names the place of a block along a dimension of `count` blocks, of which neighbours are
    `stride` blocks apart; None: the number of the block itself."""

    let: Let | None
    stride: int
    count: int


@dataclass(frozen=True, slots=True)
class Grid:
    """All dimensions that the body uses, the fastest first."""

    block: Var
    blocks: int
    dims: tuple[GridDim, ...]

    def var(self, dim: GridDim) -> Var:
        return self.block if dim.let is None else dim.let.var

    def merged(self, factors: Mapping[Var, int]) -> int:
        """How many blocks there are where neighbours are one, the last ones with fewer of these."""
        places = math.prod(d.count for d in self.dims)
        fewer = math.prod(merged_count(d.count, factors.get(self.var(d), 1)) for d in self.dims)
        return self.blocks // places * fewer


def merged_count(count: int, factor: int) -> int:
    """How many there are of so many together, the last one with fewer perhaps."""
    return -(-count // factor)


def with_places(func: Func) -> Func:
    """The function with a name for each place of which it names a multiple: `row = block // 4 * 8`
    says at which row a block begins, and not which one along the rows it is."""
    launch, names = func.launch, FreeNames.of(func)
    body: list[Stmt] = []
    for stmt in launch.body:
        match stmt:
            case Let(value=Binary(op="*", left=place, right=Const() as times)) if (
                place != launch.block and launch.block in set(walk_expr(place))
            ):
                var = Var(names.fresh(f"{stmt.var.name}_place"), stmt.var.dtype)
                body += (Let(var, place, stmt.loc), replace(stmt, value=var * times))
            case _:
                body.append(stmt)
    return func if len(body) == len(launch.body) else func.with_body(tuple(body))


def grid_of(func: Func) -> Grid | None:
    """The grid of a launch of constant size; None where the body uses the number of the block in
    another way than to find its places."""
    launch = func.launch
    blocks = constant_value(launch.blocks)
    if not isinstance(blocks, int) or blocks < 2:
        return None
    dims: list[GridDim] = []
    uses = 0
    for stmt in walk(launch.body):
        found = [p for e in expressions_of(stmt) for p in walk_expr(e) if p == launch.block]
        dim = _place(stmt, launch.block, blocks) if found and stmt in launch.body else None
        if dim is not None:
            dims.append(dim)
        else:
            uses += len(found)
    if uses and not dims:
        return Grid(launch.block, blocks, (GridDim(None, 1, blocks),))
    ordered = tuple(sorted(dims, key=lambda d: d.stride))
    nested = all(slow.stride % (fast.stride * fast.count) == 0 for fast, slow in pairwise(ordered))
    return Grid(launch.block, blocks, ordered) if ordered and nested and not uses else None


def _place(stmt: Stmt, block: Var, blocks: int) -> GridDim | None:
    """`let v = block // stride % count`, each part of which may be missing."""
    if not isinstance(stmt, Let):
        return None
    value, count, stride = stmt.value, 0, 1
    match value:
        case Binary(op="%", left=inside, right=Const(value=int(number))):
            value, count = inside, number
    match value:
        case Binary(op="//", left=inside, right=Const(value=int(number))):
            value, stride = inside, number
    if value != block or stride < 1 or blocks % stride:
        return None
    count = count or blocks // stride
    return GridDim(stmt, stride, count) if blocks % (stride * count) == 0 else None


def merged_grid(func: Func, grid: Grid, factors: Mapping[Var, int]) -> tuple[Expr, Var, Body]:
    """The launch size, the number of the block and the body for so many times fewer blocks along
    some dimensions; places count single tiles as before."""
    launch = func.launch
    number, stride = launch.block, 1
    if grid.dims[0].let is None:
        factor = factors.get(launch.block, 1)
        number = Var(FreeNames.of(func).fresh("tiles"), launch.block.dtype)
        first = Let(launch.block, number * factor, launch.loc)
        return Const(grid.merged(factors)), number, (first, *launch.body)
    new: dict[Let, Let] = {}
    before = 1
    for dim in grid.dims:
        assert dim.let is not None, "only one dimension has no name"
        stride *= dim.stride // before
        factor = factors.get(dim.let.var, 1)
        count = merged_count(dim.count, factor)
        place = launch.block // stride if stride > 1 else launch.block
        new[dim.let] = replace(dim.let, value=place % count * factor)
        before, stride = dim.stride * dim.count, stride * count
    body = tuple(new.get(s, s) if isinstance(s, Let) else s for s in launch.body)
    return Const(grid.merged(factors)), launch.block, body
