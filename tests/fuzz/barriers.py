"""Order the plain way: a full barrier behind every statement, and before the first of every body,
which comes after what the loop or branch around it reads. What the scalar unit reads for an
operation or the bound of a loop is read by a statement before. Where the harness itself is tested,
this stands in for `insert_sync`."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import OPS, Break, For, Func, Let, Op, Phase, Section
from tile_ir.expr import Expr, Load, Var
from tile_ir.location import Loc
from tile_ir.nodes import Body, Stmt
from tile_ir.traversal import bodies, map_own_expressions, replace_in, with_bodies


def barriers_everywhere(func: Func) -> Func:
    """A PLANNED function as a SYNCED one."""
    sections = tuple(
        replace(s, body=_ordered(s.body)) if isinstance(s, Section) else s for s in func.launch.body
    )
    return func.with_body(sections).at_phase(Phase.SYNCED)


def _ordered(body: Body) -> Body:
    result: list[Stmt] = []
    for old in body:
        lets, stmt = read_before(old)
        for let in lets:
            result += [let, _barrier(let.loc)]
        inner = tuple((_barrier(stmt.loc), *_ordered(b)) if b else b for b in bodies(stmt))
        result.append(with_bodies(stmt, inner))
        if not isinstance(stmt, Break):
            result.append(_barrier(stmt.loc))
    return tuple(result)


def read_before(stmt: Stmt) -> tuple[list[Let], Stmt]:
    """Names for the elements that an operation or the bounds of a loop read, and the statement with
    these names."""
    lets: list[Let] = []
    if not isinstance(stmt, (Op, For)):
        return lets, stmt

    def named(part: Expr) -> Expr | None:
        if not isinstance(part, Load):
            return None
        # A statement has a line of its own.
        name = f"e{stmt.loc.line}_{len(lets)}"
        lets.append(Let(Var(name, part.dtype), part, stmt.loc))
        return lets[-1].var

    return lets, map_own_expressions(stmt, lambda e: replace_in(e, named))


def _barrier(loc: Loc) -> Op:
    return Op(OPS["barrier_all"], (), (), loc)
