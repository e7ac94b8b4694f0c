"""Mark the statements that the compiler generated in a lowered kernel whose author orders the core.

`insert_sync` orders these, among each other and against those of the author. Here is also the one
barrier that the language promises to such an author.
"""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import (
    OPS,
    Automatic,
    Body,
    Func,
    If,
    Let,
    Loc,
    Memory,
    Op,
    Stmt,
    Store,
    bodies,
    generated,
    loads,
    rewrite,
)


def mark_generated(func: Func, pieces: Body) -> Body:
    """Return what a statement of the author became, with its generated statements marked: all that
    the author cannot order. A single operation on one pipe, beside which only an unlikely tail
    stands, is the author's. Nothing is marked where all order is automatic."""
    if Automatic.SYNC in func.automatic:
        return pieces
    likely = list(_likely(pieces))
    own = likely[0] if len(likely) == 1 and isinstance(likely[0], Op) else None
    work = (Op, Store, Let)
    return rewrite(pieces, lambda s: generated(s) if isinstance(s, work) and s is not own else s)


def _likely(body: Body) -> Iterator[Stmt]:
    """Iterate over the statements that do something, without those of unlikely branches."""
    for stmt in body:
        if isinstance(stmt, (Op, Store, Let)):
            yield stmt
        elif isinstance(stmt, If) and stmt.unlikely:
            yield from _likely(stmt.orelse)
        else:
            for inner in bodies(stmt):
                yield from _likely(inner)


def behind_all(func: Func, pieces: Body, loc: Loc) -> Body:
    """Statements with an operand that the scalar unit reads from ub: everything before them is done
    first (docs/language/rules.md#operands), on which authors of flags rely."""
    if Automatic.SYNC in func.automatic:
        return pieces
    return (Op(OPS["barrier_all"], (), (), loc), *pieces)


def reads_element(op: Op) -> bool:
    """Whether an operand is an element of ub, which the scalar unit reads."""
    return any(load.buffer.memory is Memory.UB for load in loads(op))
