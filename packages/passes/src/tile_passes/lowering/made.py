"""Which statements of a lowered kernel are the compiler's, where the order inside a core is the
author's: `insert_sync` orders these, among each other and against the author's own. And the one
barrier that the language promises to such an author."""

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
    Made,
    Memory,
    Op,
    Stmt,
    Store,
    bodies,
    loads,
)


def made(func: Func, pieces: Body) -> Iterator[Made]:
    """The statements that one of the author's became, if he cannot order them: all of them, but for
    the one operation on one pipe that it is, but for what is hardly ever done beside it. Nothing
    where all order is automatic."""
    if Automatic.SYNC in func.automatic:
        return
    his = list(leaves(pieces, likely=True))
    alone = len(his) == 1 and isinstance(his[0], Op)
    yield from (Made.of(s) for s in leaves(pieces) if not alone or s is not his[0])


def leaves(body: Body, likely: bool = False) -> Iterator[Stmt]:
    """The statements that do something; if `likely`, without what is hardly ever done."""
    for stmt in body:
        if isinstance(stmt, (Op, Store, Let)):
            yield stmt
        elif not (likely and isinstance(stmt, If) and stmt.unlikely):
            for inner in bodies(stmt):
                yield from leaves(inner, likely)


def behind_all(func: Func, pieces: Body, loc: Loc) -> Body:
    """Statements with an operand that the scalar unit reads from ub: everything before them is done
    first (docs/rules/operations.md#operands), on which authors of flags rely."""
    if Automatic.SYNC in func.automatic:
        return pieces
    return (Op(OPS["barrier_all"], (), (), loc), *pieces)


def reads_element(op: Op) -> bool:
    """Whether an operand is an element of ub, which the scalar unit reads."""
    return any(load.buffer.memory is Memory.UB for load in loads(op))
