"""Give every element of a `T.Parallel` small arrays of its own, as each thread of a GPU has.

`T.alloc_local` makes one array for the block. If such loops assign it, the array also has a tile
with a column for each element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import ClassVar, Protocol

from tile_frontend._tracing.faults import Fault
from tile_frontend._tracing.values import Tile
from tile_ir import (
    Buffer,
    Const,
    Expr,
    For,
    Load,
    LoopKind,
    Memory,
    Op,
    Stmt,
    Store,
    Var,
    accesses,
    bodies,
    buffers_of,
    constant_value,
    loads,
    map_own_expressions,
    replace_in,
    rewrite,
    simplify,
    walk,
    written_buffers,
)
from tile_ir.quick_dataclasses import dataclass

Extents = tuple[int, ...]


class KernelInMaking(Protocol):
    """The part of the trace that private arrays use."""

    ANONYMOUS: ClassVar[int]
    lent: set[Buffer]

    def allocate(self, tile: Tile, alias_of: Tile | None = None) -> None: ...

    def name_tile(self, tile: Tile, name: str, expansion: int) -> None: ...

    def loop_variable(self, name: str) -> Var: ...


@dataclass(eq=False, slots=True)
class PrivateArrays:
    """The small arrays of a launch, and the tiles that stand for them in `T.Parallel`, by the sizes
    of its loops: such loops of equal sizes see what the elements had before."""

    arrays: list[Tile] = field(default_factory=list)
    columns: dict[tuple[Buffer, Extents], Buffer] = field(default_factory=dict)

    def add(self, tile: Tile) -> None:
        self.arrays.append(tile)

    def holds(self, buffer: Buffer) -> bool:
        return any(tile.is_named and tile.buffer is buffer for tile in self.arrays)

    def given_on(self, trace: KernelInMaking, stmt: Stmt) -> Iterator[Stmt]:
        """Statements that copy an assignment of the block to the tiles of its array."""
        if not isinstance(stmt, (Store, Op)) or not self.columns:
            return
        written = written_buffers((stmt,))
        for (array, _), column in self.columns.items():
            if array in written:
                yield _spread(trace, array, column, stmt)

    def in_nest(self, trace: KernelInMaking, nest: Stmt, blocks: Sequence[list[Stmt]]) -> Stmt:
        """The nest with columns for the arrays that its elements have assigned.

        Raises Fault for loops of run-time size, and for arrays that loops of another size have
        assigned.
        """
        used = {b for s in walk((nest,)) for b in buffers_of(s) if self.holds(b)}
        loops = _loops_of(nest)
        own: dict[Buffer, Buffer] = {}
        for array in sorted(used, key=lambda b: b.name):
            stored = array in written_buffers((nest,))
            latest = self._latest(array, blocks)
            if not stored and latest is None:
                continue
            extents = _extents(array, loops)
            if not stored and latest != extents:
                raise _apart(array)
            column = self.columns.get((array, extents))
            if column is None:
                self._check_earlier_reads(array, blocks)
                column = self._new_column(trace, array, extents, nest)
                _insert_behind(array, blocks, partial(_spread, trace, array, column))
            own[array] = column
        return _in_columns(nest, loops, own) if own else nest

    def check(self, array: Buffer, blocks: Sequence[list[Stmt]]) -> None:
        """A Fault for a value of the block's array that `T.Parallel` has assigned last."""
        if self.holds(array) and self._latest(array, blocks) is not None:
            raise _apart(array)

    def _latest(self, array: Buffer, blocks: Sequence[list[Stmt]]) -> Extents | None:
        """The sizes of the loops that assigned an array last; None where the block did, or no
        statement."""
        columns = {c: extents for (a, extents), c in self.columns.items() if a is array}
        for statements in reversed(blocks):
            writer = _last_writer(statements, {array, *columns})
            if writer is not None:
                return None if writer is array else columns[writer]
        return None

    def _check_earlier_reads(self, array: Buffer, blocks: Sequence[list[Stmt]]) -> None:
        """Raise a Fault where the body of a loop reads the array of the block before elements
        assign it: the next iteration would read the values of the elements."""
        columns = set(self.columns.values())
        for stmt in (s for body in blocks[1:] for s in walk(tuple(body))):
            handed = isinstance(stmt, Store) and stmt.buffer in columns
            if not handed and (array in _reads(stmt)):
                message = f"`{array.name}` is read here before T.Parallel assigns it, where each "
                message += "element has one of its own, and the next iteration would read that"
                raise Fault("private-array", message, "keep it in a fragment")

    def _new_column(
        self, trace: KernelInMaking, array: Buffer, extents: Extents, nest: Stmt
    ) -> Buffer:
        dims = (*array.shape, *(Const(n) for n in extents))
        tile = Tile(Memory.UB, array.dtype, dims, nest.loc)
        trace.allocate(tile)
        trace.name_tile(tile, f"{array.name}_of_each", trace.ANONYMOUS)
        trace.lent.add(array)  # given up where nothing else uses it
        self.columns[array, extents] = tile.buffer
        return tile.buffer


def _spread(trace: KernelInMaking, array: Buffer, column: Buffer, at: Stmt) -> Stmt:
    """The array of the block as the first values of all elements."""
    places = tuple(trace.loop_variable("i") for _ in column.shape)
    rank = len(array.shape)
    stmt: Stmt = Store(column, places, Load(array, places[:rank]), at.loc)
    for position in reversed(range(len(places))):
        kind = LoopKind.SERIAL if position < rank else LoopKind.PARALLEL
        size = column.shape[position]
        stmt = For(places[position], Const(0), size, kind, (stmt,), at.loc)
    return stmt


def _apart(array: Buffer) -> Fault:
    message = f"`{array.name}` was assigned in T.Parallel, where each element has one of its own"
    hint = "read it in the same T.Parallel, or keep it in a fragment with an index for each element"
    return Fault("private-array", message, hint)


def _last_writer(body: Sequence[Stmt], buffers: set[Buffer]) -> Buffer | None:
    """The buffer among `buffers` that the statements write last. If that is a copy between two of
    them, its source."""
    for stmt in reversed(body):
        if isinstance(stmt, (Store, Op)):
            written = written_buffers((stmt,)) & buffers
            handed = buffers_of(stmt) - written if isinstance(stmt, Store) else frozenset()
            found = next(iter(sorted(handed & buffers or written, key=lambda b: b.rank)), None)
        else:
            ways = (_last_writer(inner, buffers) for inner in bodies(stmt))
            found = next((way for way in ways if way is not None), None)
        if found is not None and (not isinstance(stmt, Store) or stmt.buffer in buffers):
            return found
    return None


def _reads(stmt: Stmt) -> set[Buffer]:
    found = {load.buffer for load in loads(stmt)}
    if isinstance(stmt, Op):
        found |= {r.buffer for r, access in accesses(stmt) if access.reads}
    return found


def _loops_of(nest: Stmt) -> tuple[For, ...]:
    """The loops of a nest, as far as one stands alone in the other."""
    loops: list[For] = []
    body: tuple[Stmt, ...] = (nest,)
    while len(body) == 1:
        (inner,) = body
        if not isinstance(inner, For) or inner.kind is not LoopKind.PARALLEL:
            break
        loops.append(inner)
        body = inner.body
    return tuple(loops)


def _extents(array: Buffer, loops: Sequence[For]) -> Extents:
    sizes = [constant_value(simplify(loop.stop - loop.start)) for loop in loops]
    if None in sizes:
        message = f"`{array.name}` is assigned in a T.Parallel of run-time size"
        hint = "give the loops fixed sizes and guard the elements with `if`"
        raise Fault("dynamic-shape", message, hint)
    return tuple(n for n in sizes if n is not None)


def _in_columns(nest: Stmt, loops: Sequence[For], own: dict[Buffer, Buffer]) -> Stmt:
    places = tuple(simplify(loop.var - loop.start) for loop in loops)

    def element(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.buffer not in own:
            return None
        inside = tuple(replace_in(i, element) for i in part.indices)
        return Load(own[part.buffer], (*inside, *places))

    def in_column(stmt: Stmt) -> Stmt:
        new = map_own_expressions(stmt, lambda e: replace_in(e, element))
        if isinstance(new, Store) and new.buffer in own:
            return Store(own[new.buffer], (*new.indices, *places), new.value, new.loc)
        return new

    (result,) = rewrite((nest,), in_column)
    return result


def _insert_behind(array: Buffer, blocks: Sequence[list[Stmt]], made: partial[Stmt]) -> None:
    """Put a statement behind each one so far that writes the array of the block."""

    def followed(stmt: Stmt) -> Stmt | tuple[Stmt, ...]:
        writes = isinstance(stmt, (Store, Op)) and array in written_buffers((stmt,))
        return (stmt, made(stmt)) if writes else stmt

    for statements in blocks:
        statements[:] = rewrite(tuple(statements), followed)
