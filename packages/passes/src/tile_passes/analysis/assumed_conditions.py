"""Put a branch on a condition around the statements among which it keeps its value, with that value
in both ways of the branch.

`if c: write(a)` and `if c: read(a)` become one branch, behind which an analysis sees that `a` is
read only where it is written. The text means the same. Not here: which conditions are worth it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    BOOL,
    Binary,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    If,
    Let,
    Load,
    Stmt,
    Unary,
    bodies,
    expressions,
    map_expressions,
    replace_in,
    walk,
    walk_expr,
    with_bodies,
    written_buffers,
)
from tile_ir.analysis import narrow


def conditions_around(body: Body, buffer: Buffer, around: tuple[Expr, ...] = ()) -> Iterator[Expr]:
    """The parts of the conditions under which statements write a buffer."""
    for stmt in body:
        inside = (*around, *_parts(stmt.condition)) if isinstance(stmt, If) else around
        if buffer in written_buffers((stmt,)):
            yield from inside
            for block in bodies(stmt):
                yield from conditions_around(block, buffer, inside)


def _parts(condition: Expr) -> Iterator[Expr]:
    match condition:
        case Unary(op="not", operand=operand):
            yield from _parts(operand)
        case Binary(op="and" | "or", left=left, right=right):
            yield from _parts(left)
            yield from _parts(right)
        case Const():
            return
        case _:
            yield condition


def with_assumed(body: Body, condition: Expr) -> Body:
    """The body with branches on the condition."""
    result: list[Stmt] = []
    same: list[Stmt] = []
    for stmt in body:
        if not _changes(stmt, condition):
            same.append(stmt)
            continue
        result += _branched(tuple(same), condition)
        same.clear()
        inner = tuple(with_assumed(block, condition) for block in bodies(stmt))
        result.append(with_bodies(stmt, inner) if inner else stmt)
    return (*result, *_branched(tuple(same), condition))


def _changes(stmt: Stmt, condition: Expr) -> bool:
    """Whether the condition may be another behind or inside a statement than before it."""
    parts = set(walk_expr(condition))
    if any(isinstance(s, (For, Let)) and s.var in parts for s in walk((stmt,))):
        return True
    read = {part.buffer for part in parts if isinstance(part, Load)}
    return not read.isdisjoint(written_buffers((stmt,)))


def _branched(body: Body, condition: Expr) -> Body:
    asked = (e for stmt in walk(body) for e in expressions(stmt))
    if not any(part == condition for e in asked for part in walk_expr(e)):
        return body
    then, orelse = _known(body, condition, True), _known(body, condition, False)
    return (If(condition, then, orelse, body[0].loc),)


def _known(body: Body, condition: Expr, value: bool) -> Body:
    known = Const(value, BOOL)

    def settled(expr: Expr) -> Expr:
        found = replace_in(expr, lambda part: known if part == condition else None)
        return expr if found is expr else narrow(found, {})

    return map_expressions(body, settled)
