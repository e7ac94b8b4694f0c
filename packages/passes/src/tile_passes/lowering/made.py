"""Which statements of a lowered kernel are the compiler's, where the order inside a core is the
author's: `insert_sync` orders these, among each other and against the author's own. And the one
barrier that the language promises to such an author."""

from __future__ import annotations

from collections.abc import Iterator

from tile_ir import OPS, Automatic, Func, Loc, Memory, Op
from tile_ir.expr import Load
from tile_ir.expr import walk as walk_expr
from tile_ir.nodes import Body, Let, Store
from tile_ir.walk import expressions, walk


def made(func: Func, pieces: Body) -> Iterator[Loc]:
    """Where the statements stand that one of the author's became, if he cannot order them: they are
    more than one operation on one pipe. Nothing where all order is automatic."""
    if Automatic.SYNC in func.automatic:
        return
    leaves = [s for s in walk(pieces) if isinstance(s, (Op, Store, Let))]
    if len(leaves) != 1 or not isinstance(leaves[0], Op):
        yield from (leaf.loc for leaf in leaves)


def behind_all(func: Func, pieces: Body, loc: Loc) -> Body:
    """Statements with an operand that the scalar unit reads from ub: everything before them is done
    first (docs/rules/operations.md#operands), on which authors of flags rely."""
    if Automatic.SYNC in func.automatic:
        return pieces
    return (Op(OPS["barrier_all"], (), (), loc), *pieces)


def reads_element(op: Op) -> bool:
    """Whether an operand is an element of ub, which the scalar unit reads."""
    return any(
        isinstance(part, Load) and part.buffer.memory is Memory.UB
        for expr in expressions(op)
        for part in walk_expr(expr)
    )
