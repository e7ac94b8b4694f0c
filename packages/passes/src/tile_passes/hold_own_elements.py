"""Holds elements of gm that one block alone reads and stores, in a tile of ub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    If,
    Let,
    Load,
    Loc,
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
    difference,
    generated,
    loads,
    map_own_expressions,
    rebuild,
    simplify,
    substitute,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, interval
from tile_ir.layout.geometry import FRACTAL_MEMORIES
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.elements_of_blocks import (
    are_of_block,
    known_inside,
    leaves_stores,
    spans_of,
    updated_elements,
)
from tile_passes.analysis.uses_in_text import ElementUse, enter_name, used_in_parts, uses_in_text
from tile_passes.free_names import FreeNames
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
    size known at compile time. Only elements of the tensor are used, not parts of it. In a kernel
    with products they decide nothing, because the cube core cannot read ub. Whole lines stay with
    the scalar unit.
    """
    if not leaves_stores(func):
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
    updated = updated_elements(func)
    if not updated:  # nearly always
        return
    uses, others = uses_in_text(func), used_in_parts(func)
    if _has_products(func):
        others |= _deciding(func.launch.body)
    for tensor in updated:
        box = None if tensor in others else _box(tensor, uses[tensor], func)
        if box is not None:
            yield box


def _deciding(body: Body) -> set[Buffer]:
    """The buffers of which elements may be in what a cube core does: read elsewhere than in stores
    to gm, and in the branches around these."""
    found: set[Buffer] = set()
    for stmt in walk(body):
        to_gm = isinstance(stmt, Store) and stmt.buffer.memory is Memory.GM
        if not to_gm and not (isinstance(stmt, If) and _only_stores(stmt)):
            found |= {load.buffer for load in loads(stmt)}
    return found


def _only_stores(stmt: If) -> bool:
    return all(isinstance(s, (If, Store)) for b in bodies(stmt) for s in walk(b))


def _box(tensor: Buffer, uses: Sequence[ElementUse], func: Func) -> _Box | None:
    """The elements that a block uses; None where blocks share elements, or it uses too many."""
    found = spans_of(tensor, uses, func)
    spans = [span for span in found if span is not None]
    if len(spans) != len(found) or not are_of_block(spans, uses, func):
        return None
    shape = [span.high - span.low + 1 for span in spans]
    if any(max(abs(s.low), abs(s.high)) >= MOST_BYTES for s in spans):
        return None
    known = known_inside(spans, uses)
    inside = [span.index for span in spans]
    if Automatic.BOUNDS not in func.automatic and not _lie_inside(inside, tensor, known):
        return None
    size = prod(shape) * tensor.dtype.size
    start = tuple(span.start for span in spans)
    return _Box(tensor, start, tuple(shape)) if size <= MOST_BYTES else None


def _lie_inside(indices: Sequence[Expr], tensor: Buffer, known: Ranges) -> bool:
    """Whether a box leaves its tensor nowhere: a copy outside of it is an error."""
    pairs = zip(indices, tensor.shape, strict=True)
    return all(
        interval(i, known).low >= 0 and interval(difference(n, i), known).low > 0 for i, n in pairs
    )


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
