"""List the elements that statements in nests of T.Parallel load and store, with the types in which
they take part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tile_ir import (
    BFLOAT16,
    BLOCK_BYTES,
    FLOAT32,
    Body,
    Buffer,
    Cast,
    DType,
    Expr,
    For,
    Let,
    Load,
    Memory,
    Stmt,
    Store,
    Var,
    bodies,
    children,
    constant_value,
    expressions,
    resolved,
)
from tile_passes.parallel.nest_form import is_parallel


class NestElement(NamedTuple):
    """An element and the type in which the statement computes with it: that to which it is
    converted as it is loaded, or from which it is as it is stored."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    computed: DType

    @property
    def fills_blocks(self) -> bool:
        """Whether rows of the buffer are whole blocks in that type."""
        columns = constant_value(self.buffer.shape[-1]) if self.buffer.shape else 1
        return columns is not None and columns * self.computed.bits % (8 * BLOCK_BYTES) == 0


def nest_elements(
    body: Body, loops: tuple[For, ...] = (), known: Mapping[Var, Expr] | None = None
) -> Iterator[tuple[tuple[For, ...], list[NestElement]]]:
    """The loops around each statement in a nest, and its elements, under whatever name. `known` are
    the values of names."""
    known = known or {}
    for stmt in body:
        if isinstance(stmt, Let):
            known = {**known, stmt.var: stmt.value}
            continue
        if loops:
            yield loops, [*_elements(stmt, known)]
        inner = (*loops, stmt) if isinstance(stmt, For) and is_parallel(stmt) else loops
        for part in bodies(stmt):
            yield from nest_elements(part, inner, known)


def _elements(stmt: Stmt, known: Mapping[Var, Expr]) -> Iterator[NestElement]:
    for e in expressions(stmt):
        yield from _loaded(resolved(e, known), None)
    if isinstance(stmt, Store) and stmt.buffer.memory is not Memory.VAR:
        places = tuple(resolved(i, known) for i in stmt.indices)
        value = stmt.value
        source = value.operand if isinstance(value, Cast) and not value.bits else value
        yield NestElement(stmt.buffer, places, _computed(source.dtype))


def _loaded(e: Expr, to: DType | None) -> Iterator[NestElement]:
    """The elements in an expression, which is converted to a type."""
    match e:
        case Load(buffer=buffer, indices=indices) if buffer.memory is not Memory.VAR:
            yield NestElement(buffer, indices, _computed(to or e.dtype))
    inner = e.dtype if isinstance(e, Cast) and not e.bits else None
    for child in children(e):
        yield from _loaded(child, inner)


def _computed(dtype: DType) -> DType:
    """The vector unit computes with bfloat16 in float32."""
    return FLOAT32 if dtype is BFLOAT16 else dtype
