"""Holds elements of gm that one block alone reads and stores, in a tile of ub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from tile_ir import (
    OPS,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    Let,
    Load,
    Loc,
    LoopKind,
    Memory,
    Op,
    Phase,
    Region,
    Slice,
    Stmt,
    Store,
    Target,
    Var,
    bodies,
    constant_value,
    difference,
    generated,
    linear_form,
    map_own_expressions,
    reads_memory,
    rebuild,
    simplify,
    substitute,
    walk,
    walk_expr,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.analysis.intervals import Interval
from tile_ir.layout.geometry import FRACTAL_MEMORIES
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.index_digits import fixed_by
from tile_passes.analysis.own_lines import OwnLines
from tile_passes.analysis.uses_in_text import ElementUse, enter_name, used_in_parts, uses_in_text
from tile_passes.free_names import FreeNames
from tile_passes.own_order import left_with
from tile_passes.parallel.attempts import elements_read
from tile_passes.parallel.tile_steps import COPY_DEFAULTS
from tile_passes.passdef import ir_pass

# More bytes of a tensor are left in gm: the tile would take the room of others.
MOST_BYTES = 16 * 1024


@ir_pass(needs=Phase.TYPED)
def hold_own_elements(func: Func, target: Target) -> Func:
    """Hold elements of gm that a block reads again after it stored them, in a tile of ub.

    Needs, gives: TYPED. Idea: counters, rows that are updated in place and running sums are used by
    elements in gm, as on other chips. The scalar unit would store whole lines of its data cache,
    which may hold elements of other blocks. Where every block has elements of its own, it loads
    the box around them once, works in ub, and stores the box at its end. Limits: the box has a
    size known at compile time; only elements of the tensor are used, not parts of it; no product is
    in the kernel, because the cube core cannot read ub. Whole lines stay with the scalar unit.
    """
    launch = func.launch
    ours = launch.threads == 2 or Automatic.CORES in func.automatic
    left = left_with(func) if ours else func.automatic
    if launch.threads is None or not {Automatic.SYNC, Automatic.MEMORY} <= left:
        return func
    if constant_value(launch.blocks) == 1 or _has_products(func):
        return func
    boxes = [*_boxes(func)]
    if not boxes:
        return func
    return _Holder(func, {box.buffer: box for box in boxes}).run()


def _has_products(func: Func) -> bool:
    return any(a.buffer.memory in FRACTAL_MEMORIES for a in func.launch.allocs)


@dataclass(frozen=True, slots=True)
class _Box:
    """The elements of a tensor that a block uses: from `start` on, so many in each dimension."""

    buffer: Buffer
    start: tuple[Expr, ...]
    shape: tuple[int, ...]

    def region(self) -> Region:
        pairs = zip(self.start, self.shape, strict=True)
        return Region(self.buffer, tuple(Slice(a, Const(n)) for a, n in pairs))


def _boxes(func: Func) -> Iterator[_Box]:
    body = func.launch.body
    stored = {s.buffer for s in _scalar_stores(body) if s.buffer.memory is Memory.GM}
    again = stored & elements_read(func) - used_in_parts(func)
    if not again:
        return
    lines = OwnLines.in_function(func)
    left = {s.buffer for s in _scalar_stores(body) if not lines.has(s, func.launch.threads == 1)}
    uses = uses_in_text(func)
    for tensor in func.tensors:
        if tensor in again & left:
            box = _box(tensor, uses[tensor], func)
            if box is not None:
                yield box


def _scalar_stores(body: Body) -> Iterator[Store]:
    for stmt in body:
        if isinstance(stmt, Store):
            yield stmt
        if not (isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL):
            for inner in bodies(stmt):
                yield from _scalar_stores(inner)


def _box(tensor: Buffer, uses: Sequence[ElementUse], func: Func) -> _Box | None:
    """The elements that a block uses; None where blocks share elements, or it uses too many."""
    start: list[Expr] = []
    shape: list[int] = []
    inside: list[Expr] = []
    known: dict[Var, Interval] = dict(uses[0].around.known)
    for dim, extent in enumerate(tensor.shape):
        found = _span([(use.indices[dim], use.around.known) for use in uses], extent, func)
        if found is None:
            return None
        base, low, high = found
        var = Var(f"%{dim}", base.dtype)
        known[var] = Interval(0, high - low)
        start.append(simplify(base + low))
        shape.append(high - low + 1)
        inside.append(simplify(start[-1] + var) if high > low else start[-1])
    if func.launch.block not in fixed_by(inside, known):
        return None
    if Automatic.BOUNDS not in func.automatic and not _lie_inside(inside, tensor, known):
        return None
    size = prod(shape) * tensor.dtype.size
    return _Box(tensor, tuple(start), tuple(shape)) if size <= MOST_BYTES else None


def _lie_inside(indices: Sequence[Expr], tensor: Buffer, known: Ranges) -> bool:
    """Whether a box leaves its tensor nowhere: a copy outside of it is an error."""
    pairs = zip(indices, tensor.shape, strict=True)
    return all(
        interval(i, known).low >= 0 and interval(difference(n, i), known).low > 0 for i, n in pairs
    )


def _span(
    indices: Iterable[tuple[Expr, Ranges]], extent: Expr, func: Func
) -> tuple[Expr, int, int] | None:
    """The part of an index that is the same for a block, and what is least and most added to it."""
    bases: dict[Expr, None] = {}
    low: float = 0
    high: float = -1
    for index, known in indices:
        base, rest = _parts(index, func)
        bases[base] = None
        span = interval(rest, known)
        low, high = (
            (min(low, span.low), max(high, span.high)) if high >= low else (span.low, span.high)
        )
    if len(bases) != 1:
        return None
    (base,) = bases
    size = constant_value(extent)
    if base == Const(0, base.dtype) and size is not None:
        low, high = max(low, 0), min(high, size - 1)
    if not (abs(low) < MOST_BYTES and abs(high) < MOST_BYTES and low <= high):
        return None
    return base, int(low), int(high)


def _parts(index: Expr, func: Func) -> tuple[Expr, Expr]:
    """The terms of an index that name the block, with those of sizes alone, and the others."""
    block = func.launch.block
    same = {block, *func.params, *func.symbols}
    terms, _ = linear_form(simplify(index))
    base: Expr = Const(0, index.dtype)
    for atom, factor in terms.items():
        names = {e for e in walk_expr(atom) if isinstance(e, Var)}
        if names <= same and not reads_memory(atom):
            base += atom * factor
    base = simplify(base)
    return base, simplify(index - base)


def _copy(src: Region, dst: Region, loc: Loc) -> Stmt:
    return generated(Op(OPS["copy"], (src, dst), COPY_DEFAULTS, loc))


@dataclass(eq=False)
class _Holder:
    """Rewrites one function."""

    func: Func
    boxes: Mapping[Buffer, _Box]

    def __post_init__(self) -> None:
        names = FreeNames.of(self.func)
        self.tiles = {
            b: Buffer(
                names.fresh(f"{b.name}_own"),
                Memory.UB,
                b.dtype,
                tuple(map(Const, box.shape)),
                b.loc,
            )
            for b, box in self.boxes.items()
        }
        self.values: dict[Var, Expr] = {}

    def run(self) -> Func:
        launch = self.func.launch
        stores = [s for s in walk(launch.body) if isinstance(s, Store)]
        body = self.body(launch.body)
        first: list[Stmt] = []
        last: list[Stmt] = []
        for buffer, box in self.boxes.items():
            tile = self.tiles[buffer]
            whole = Region.whole(tile)
            loc = next(s.loc for s in stores if s.buffer is buffer)
            first.append(_copy(box.region(), whole, loc))
            last.append(_copy(whole, box.region(), loc))
        own = tuple(Alloc(tile, tile.loc) for tile in self.tiles.values())
        allocs = (*launch.allocs, *own)
        return self.func.with_body((*first, *body, *last), allocs=allocs)

    def body(self, body: Body) -> Body:
        new: list[Stmt] = []
        for stmt in body:
            held = self.statement(stmt)
            if isinstance(stmt, (Let, For)):
                enter_name(stmt, self.values)
            inside = tuple([self.body(b) for b in bodies(stmt)])
            new.append(with_bodies(held, inside))
        return with_statements(body, new)

    def statement(self, stmt: Stmt) -> Stmt:
        stmt = map_own_expressions(stmt, self.expression)
        if isinstance(stmt, Store) and stmt.buffer in self.boxes:
            places = self.places(stmt.buffer, stmt.indices)
            return replace(stmt, buffer=self.tiles[stmt.buffer], indices=places)
        return stmt

    def expression(self, expr: Expr) -> Expr:
        inner = rebuild(expr, self.expression)
        if isinstance(inner, Load) and inner.buffer in self.boxes:
            return Load(self.tiles[inner.buffer], self.places(inner.buffer, inner.indices))
        return inner

    def places(self, buffer: Buffer, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        pairs = zip(indices, self.boxes[buffer].start, strict=True)
        return tuple(simplify(substitute(i, self.values) - start) for i, start in pairs)
