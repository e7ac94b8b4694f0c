"""Find statements that stand together with a branch before them: what the branch skips decides what
they do.

`if not complete: fill(a)` and the copy of `complete` bytes that follows write all of `a`. Not here:
the effects of such statements (`gen_kill`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tile_ir import (
    BOOL,
    Binary,
    Const,
    Expr,
    If,
    Op,
    Region,
    Stmt,
    Unary,
    buffers_of,
    reads_memory,
    walk,
    walk_expr,
)
from tile_passes.analysis.path_context import PathContext


def deciding_condition(stmt: Stmt) -> Expr | None:
    """The condition that decides which effects a statement has."""
    match stmt:
        case If(condition=condition):
            return condition
        case Op():
            found = stmt.opdef.overwrites(stmt)
            return None if isinstance(found, Const) else found
    return None


def end_of_group(
    first: If, rest: Sequence[Stmt], facts: Mapping[Expr, Expr], here: PathContext
) -> int | None:
    """How many statements behind a branch stand up to the first that touches what the branch fills;
    None if the facts change nothing of that one."""
    filled = {b for s in walk(first.then) for b in buffers_of(s)}
    for count, later in enumerate(rest, 1):
        if filled & {b for s in walk((later,)) for b in buffers_of(s)}:
            asked = (part for e in _extents(later) for part in walk_expr(here.spelled(e)))
            return count if any(part in facts for part in asked) else None
    return None


def _extents(stmt: Stmt) -> Iterator[Expr]:
    match stmt:
        case If(condition=condition):
            yield condition
        case Op(operands=operands):
            yield from (s.extent for o in operands if isinstance(o, Region) for s in o.dims)


def facts_behind(stmt: Stmt, here: PathContext) -> dict[Expr, Expr]:
    """The facts that hold where a branch `if not (n == 8 and m > 0)` is not taken."""
    found: dict[Expr, Expr] = {}
    match stmt:
        case If(condition=Unary(op="not", operand=operand), orelse=()):
            waiting = [here.spelled(operand)]
        case _:
            return found
    while waiting:
        match waiting.pop():
            case Binary(op="and", left=left, right=right):
                waiting += [left, right]
            case part if not reads_memory(part):
                found[part] = Const(True, BOOL)
                match part:
                    case Binary(op="==", left=left, right=Const() as right):
                        found[left] = right
    return found
