"""Scalar variables that every iteration of a nest assigns before it reads them, as tiles: each
iteration has a value of its own, as each thread of a GPU has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from tile_ir import (
    BOOL,
    FLOAT16,
    Body,
    Buffer,
    DType,
    Expr,
    For,
    If,
    Load,
    Loc,
    LoopKind,
    Memory,
    Stmt,
    Store,
    as_expr,
    binary,
    bodies,
    expressions,
    map_own_expressions,
    replace_in,
    rewrite,
    select,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import domain_of, loads_in

# A tile for the values of all iterations of the loops around a first value.
Spread = Callable[[Expr, tuple[For, ...], Loc, DType], Buffer]


def private_variables(body: Body) -> frozenset[Buffer]:
    """The variables that are read only where the same iteration of a nest has assigned them."""
    inside: set[Buffer] = set()
    others: set[Buffer] = set()
    for stmt, inner in _nests_and_others(body):
        if inner is None:
            others |= _variables_read(stmt)
            continue
        for buffer in _variables_read(stmt):
            first = _assigned_first(inner, buffer, False) is not None
            (inside if first else others).add(buffer)
    return frozenset(inside - others)


def _fits_tiles(variable: Buffer) -> bool:
    """Whether the vector unit computes values of its type; others run one iteration after another,
    which a variable of the block serves as well."""
    dtype = kept_in(variable.dtype)
    return dtype.whole_bytes and dtype.size <= _WIDEST


_WIDEST = 4


def with_private_tiles(loop: For, private: frozenset[Buffer], spread: Spread) -> For:
    """The nest with a tile for each of its variables whose type has tiles. Raises Unsuitable where
    there can be none."""
    loops, inner = _loops_of(loop)
    tiles: dict[Buffer, Load] = {}
    for stmt in walk(inner):
        if not isinstance(stmt, Store) or stmt.buffer not in private - tiles.keys():
            continue
        if _fits_tiles(stmt.buffer):
            domain = domain_of(loops)
            tile = spread(stmt.value, loops, stmt.loc, kept_in(stmt.buffer.dtype))
            places = tuple(v - start for v, start in zip(domain.vars, domain.starts, strict=True))
            tiles[stmt.buffer] = Load(tile, places)
    if not tiles:
        return loop
    body = rewrite(inner, partial(_in_tiles, tiles))
    for around in reversed(loops):
        body = (replace(around, body=body),)
    (result,) = body
    assert isinstance(result, For), "it is the outermost loop"
    return result


def _in_tiles(tiles: Mapping[Buffer, Load], stmt: Stmt) -> Stmt:
    def element(part: Expr) -> Expr | None:
        if not isinstance(part, Load) or part.buffer not in tiles:
            return None
        return read_back(tiles[part.buffer], part.dtype)

    new = map_own_expressions(stmt, lambda e: replace_in(e, element))
    if isinstance(new, Store) and new.buffer in tiles:
        place = tiles[new.buffer]
        return Store(place.buffer, place.indices, as_kept(new.value), new.loc)
    return new


def kept_in(dtype: DType) -> DType:
    """The type of a tile that has a value of every element: truth values are kept as numbers."""
    return FLOAT16 if dtype is BOOL else dtype


def as_kept(value: Expr) -> Expr:
    """The value as its tile has it."""
    kind = kept_in(value.dtype)
    return value if kind is value.dtype else select(value, as_expr(1, kind), as_expr(0, kind))


def read_back(kept: Load, dtype: DType) -> Expr:
    """The value of this type that a tile has."""
    return kept if kept.dtype is dtype else binary("!=", kept, as_expr(0, kept.dtype))


def _nests_and_others(body: Body) -> Iterator[tuple[Stmt, Body | None]]:
    """The outermost nests with their bodies, and all other statements."""
    for stmt in body:
        if isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL:
            yield stmt, _loops_of(stmt)[1]
            continue
        yield stmt, None
        for inner in bodies(stmt):
            yield from _nests_and_others(inner)


def _loops_of(loop: For) -> tuple[tuple[For, ...], Body]:
    """The parallel loops of a nest, as far as one stands alone in the other, and the body."""
    loops = [loop]
    while len(loops[-1].body) == 1:
        (inner,) = loops[-1].body
        if not isinstance(inner, For) or inner.kind is not LoopKind.PARALLEL:
            break
        loops.append(inner)
    return tuple(loops), loops[-1].body


def _variables_read(stmt: Stmt) -> set[Buffer]:
    """The scalar variables that a statement reads; with all in it, if it is a nest."""
    nest = isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL
    parts = walk((stmt,)) if nest else iter((stmt,))
    return {
        load.buffer
        for part in parts
        for load in loads_in(*expressions(part))
        if load.buffer.memory is Memory.VAR
    }


def _assigned_first(body: Body, buffer: Buffer, assigned: bool) -> bool | None:
    """Whether the variable has a value behind the statements; None where it may be read before."""
    for stmt in body:
        reads = any(
            isinstance(p, Load) and p.buffer is buffer
            for e in expressions(stmt)
            for p in walk_expr(e)
        )
        if reads and not assigned:
            return None
        ways = [_assigned_first(inner, buffer, assigned) for inner in bodies(stmt)]
        if None in ways:
            return None
        if isinstance(stmt, If):
            assigned = all(ways)
        elif isinstance(stmt, Store) and stmt.buffer is buffer:
            assigned = True
    return assigned
