"""Build loops over elements for operations that the op table has not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_frontend._tracing.trace import Trace, current
from tile_frontend._tracing.values import Pending, Tile
from tile_ir import (
    Const,
    DType,
    Expr,
    For,
    Load,
    LoopKind,
    Memory,
    Region,
    Stmt,
    Store,
    is_constant,
    simplify,
)

# So many variables has a nest that becomes vector operations.
_MOST_PARALLEL = 4


def element(region: Region, places: Sequence[Expr]) -> Load:
    """The element of a region with one index for each dimension, counted from its start."""
    starts = (s.offset for s in region.dims)
    indices = (simplify(start + place) for start, place in zip(starts, places, strict=True))
    return Load(region.buffer, tuple(indices))


def stored(region: Region, places: Sequence[Expr], value: Expr) -> Store:
    """The assignment of such an element."""
    place = element(region, places)
    return Store(place.buffer, place.indices, value, current("T").here)


def taken(pending: Pending) -> Stmt:
    """The operation alone, which something else emits."""
    current(pending.name).pending.remove(pending)
    return pending.stmt


def for_each(extents: Sequence[Expr], body: Callable[[tuple[Expr, ...]], Stmt]) -> Stmt:
    """The statement for every combination of indices below the extents, in any order. A dimension
    of one element has no loop."""
    trace = current("T")
    places: list[Expr] = []
    loops: list[For] = []
    several = sum(not is_constant(e, 1) for e in extents)
    for extent in extents:
        if is_constant(extent, 1):
            places.append(Const(0))
            continue
        outside = len(loops) < several - _MOST_PARALLEL
        kind = LoopKind.SERIAL if outside else LoopKind.PARALLEL
        var = trace.loop_variable("i")
        loops.append(For(var, Const(0), extent, kind, (), trace.here))
        places.append(var)
    return _within(loops, body(tuple(places)))


def one_after_another(start: int, stop: Expr, body: Callable[[Expr], Stmt]) -> Stmt:
    """The statement for every index from `start` to `stop`, in this order."""
    trace = current("T")
    var = trace.loop_variable("i")
    loop = For(var, Const(start), stop, LoopKind.SERIAL, (), trace.here)
    return _within([loop], body(var))


def _within(loops: Sequence[For], stmt: Stmt) -> Stmt:
    for loop in reversed(loops):
        stmt = For(loop.var, loop.start, loop.stop, loop.kind, (stmt,), loop.loc)
    return stmt


def new_tile(dtype: DType, dims: Sequence[Expr], name: str, of: Tile | None = None) -> Tile:
    """A tile of ub without a name in the text; with `of`, another shape of that one."""
    trace: Trace = current("T")
    tile = Tile(Memory.UB, dtype, tuple(dims), trace.here)
    trace.allocate(tile, of)
    trace.name_tile(tile, name, trace.ANONYMOUS)
    return tile


def as_one(statements: Sequence[Stmt], name: str) -> Pending:
    """Emit all statements but the last, which becomes the pending result of the call."""
    trace = current(f"T.{name}")
    for stmt in statements[:-1]:
        trace.emit(stmt)
    pending = Pending(statements[-1], name, trace.here)
    trace.pending.append(pending)
    return pending
