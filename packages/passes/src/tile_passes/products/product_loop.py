"""Loops whose iterations load a tile of each operand of a product into l1 and multiply them. Says
nothing about what becomes of such a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd

from tile_ir import (
    INT32,
    Binary,
    Body,
    Buffer,
    Expr,
    For,
    Func,
    Let,
    Load,
    LoopKind,
    Op,
    Region,
    Section,
    Stmt,
    Values,
    Var,
    bodies,
    buffers_of,
    constant_value,
    linear_form,
    map_own_expressions,
    reads_memory,
    replace_in,
    resolved,
    simplify,
    substitute,
    walk,
    walk_expr,
)
from tile_ir.analysis import constant_trips
from tile_ir.ops.cube import is_tile_product, matrix_sizes, transposes
from tile_ir.ops.movement import loads_l1
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loaded:
    """An operand with its load. k runs along dimension `k_dim` of the last two, of the matrix in l1
    and of the load: along -1 more of k makes rows longer, along -2 it makes more rows."""

    name: str
    load: Op
    k_dim: int

    @property
    def buffer(self) -> Buffer:
        return self.load.region("dst").buffer

    @property
    def other(self) -> int:
        """Rows or columns across k."""
        return _size(self.load.region("dst"), -3 - self.k_dim)


@dataclass(frozen=True, slots=True)
class ProductLoop:
    """A pipelined loop of `iterations` iterations, each over `depth` elements of k. The product and
    the loads have definitions of the loop put in; they may stand in a `section` of their core.
    `nested`: whether it is in another loop, so that its iterations follow those of its last run.
    The loads of iterations follow on in groups of `group` iterations, the first of which begin the
    loop; in all of them where that is 0."""

    loop: For
    section: Section | None
    iterations: int
    depth: int
    product: Op
    operands: tuple[Loaded, ...]
    nested: bool
    group: int


def product_loops(func: Func) -> Iterator[ProductLoop]:
    """All of them whose tiles nothing else touches, and lie where the compiler says."""
    uses = Counter(b for stmt in walk(func.launch.body) for b in buffers_of(stmt))
    aliased = {a.alias_of for a in func.launch.allocs}
    free = {
        a.buffer: a
        for a in func.launch.allocs
        if a.address is None and a.alias_of is None and a.buffer not in aliased
    }
    definitions = _definitions(func.launch.body)
    for loop, nested in _pipelined(func.launch.body, False):
        found = _product_loop(loop, nested, definitions)
        if found and all(o.buffer in free and uses[o.buffer] == 2 for o in found.operands):
            yield found


def _pipelined(body: Body, nested: bool) -> Iterator[tuple[For, bool]]:
    for stmt in body:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PIPELINED:
            yield stmt, nested
        for inner in bodies(stmt):
            yield from _pipelined(inner, nested or isinstance(stmt, For))


def _definitions(body: Body) -> Values:
    lets = [s for s in walk(body) if isinstance(s, Let) and not reads_memory(s.value)]
    return {let.var: let.value for let in lets}


def _product_loop(loop: For, nested: bool, definitions: Values) -> ProductLoop | None:
    iterations = constant_trips(loop)
    lets, rest = loop.body[:-1], loop.body[-1:]
    section = next((s for s in rest if isinstance(s, Section)), None)
    ops = _operations((*lets, *section.body) if section else loop.body)
    if iterations is None or iterations < 1 or ops is None or len(ops) != 3:
        return None
    *loads, product = ops
    if not is_tile_product(product) or not all(map(loads_l1, loads)):
        return None
    sizes = matrix_sizes(product)
    loaded = {op.region("dst").buffer: op for op in loads}
    tiles = [product.region(name) for name in ("A", "B")]
    if sizes is None or {t.buffer for t in tiles} != loaded.keys() or len(loaded) != 2:
        return None
    along = (-2 if transposes(product)[0] else -1, -1 if transposes(product)[1] else -2)
    operands = tuple(
        Loaded(name, loaded[tile.buffer], dim)
        for name, tile, dim in zip(("A", "B"), tiles, along, strict=True)
    )
    depth = sizes[2]
    if not all(t.is_whole() for t in tiles) or not all(map(_fills, operands)):
        return None
    group = gcd(*(_group(operand, loop, depth, definitions) for operand in operands))
    return ProductLoop(loop, section, iterations, depth, product, operands, nested, group)


def _operations(body: Body) -> list[Op] | None:
    """The operations of a block with definitions put in; None if anything else stands there."""
    values: dict[Var, Expr] = {}
    found: list[Op] = []
    for stmt in body:
        match stmt:
            case Let(var=var, value=value) if not reads_memory(value):
                values[var] = value
            case Op():
                found.append(_with_values(stmt, values))
            case _:
                return None
    return found


def _with_values(stmt: Stmt, values: Values) -> Op:
    new = map_own_expressions(stmt, lambda e: resolved(e, values))
    assert isinstance(new, Op), "expressions change, not statements"
    return new


def _fills(operand: Loaded) -> bool:
    """Whether the load fills the matrix along k with rows and columns that lie side by side. Across
    k it may load fewer than the matrix holds, as many in every iteration."""
    src, dst = operand.load.region("src"), operand.load.region("dst")
    if not dst.is_whole() or len(dst.dims) != 2 or len(src.dims) < 2:
        return False
    if any(s.stride != 1 for s in src.dims) or dst.static_extents() is None:
        return False
    across = -3 - operand.k_dim
    cut = constant_value(src.dims[across].extent) is None
    same = (operand.k_dim,) if cut else (-2, -1)
    return all(_size(src, d) == _size(dst, d) for d in same)


def _group(operand: Loaded, loop: For, depth: int, definitions: Values) -> int:
    """In groups of how many iterations what an iteration loads follows what the one before it did;
    0: all of them."""
    dims = operand.load.region("src").dims
    offsets = [resolved(s.offset, definitions) for s in dims]
    # The loop writes only l1 and l0c: what its offsets read elsewhere stays as it is.
    if any(_reads_by_iteration(offset, loop.var) for offset in offsets):
        return 1
    along = offsets.pop(operand.k_dim)
    across = resolved(dims[-3 - operand.k_dim].extent, definitions)
    if any(_step(offset, loop.var) != 0 for offset in (*offsets, across)):
        return 1
    turned = [e for e in walk_expr(along) if _is_remainder(e) and loop.var in walk_expr(e)]
    if not turned:
        return 0 if _step(along, loop.var) == depth else 1
    # Iterations that begin elsewhere: (k + start) % iterations steps on but where it begins again.
    (number, *inner), at = turned, Var("number", INT32)
    straight = replace_in(along, lambda e: at if e == number else None)
    if inner or loop.var in walk_expr(straight) or _step(straight, at) != depth:
        return 1
    assert isinstance(number, Binary), "a remainder"
    terms, start = linear_form(number.left - loop.var + loop.start)
    if loop.var in terms:
        return 1
    return gcd(constant_value(number.right) or 1, start, *terms.values())


def _reads_by_iteration(expr: Expr, var: Var) -> bool:
    """Whether an expression reads memory at a place that depends on the iteration."""
    return any(isinstance(e, Load) and var in walk_expr(e) for e in walk_expr(expr))


def _is_remainder(expr: Expr) -> bool:
    return isinstance(expr, Binary) and expr.op == "%"


def _step(offset: Expr, var: Var) -> int | None:
    """By how much an offset grows when a variable grows by one."""
    return constant_value(simplify(substitute(offset, {var: var + 1}) - offset))


def _size(region: Region, dim: int) -> int:
    size = constant_value(region.dims[dim].extent)
    return -1 if size is None else int(size)
