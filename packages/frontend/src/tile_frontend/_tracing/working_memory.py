"""Buffers that a script hands to operations as working memory, which these do not use here."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tile_frontend._tracing.values import Tile
from tile_ir import Body, Buffer, Op, Stmt, buffers_of, walk


def idle_memory(lent: Collection[Buffer], body: Body, tiles: Iterable[Tile]) -> set[Buffer]:
    """Lent buffers that serve only as working memory, under any of their names."""
    if not lent:
        return set()
    used = {b for stmt in walk(body) for b in buffers_of(without_memory(stmt))}
    used |= {t.alias_of.buffer for t in tiles if t.alias_of is not None}
    return {*lent} - used


def without_memory(stmt: Stmt, lent: Collection[Buffer] | None = None) -> Stmt:
    """A statement without working memory that was handed to it: any, or that of some buffers."""
    if not isinstance(stmt, Op):
        return stmt
    memory = stmt.scratch
    if memory is None or (lent is not None and memory.buffer not in lent):
        return stmt
    return stmt.with_scratch(None)
