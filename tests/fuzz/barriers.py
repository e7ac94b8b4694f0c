"""Order the plain way: a full barrier behind every statement, and before the first of every body,
which comes after what the loop or branch around it reads. Where the harness itself is tested, it stands in for `insert_sync`."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import OPS, Func, Op, Phase, Section
from tile_ir.location import Loc
from tile_ir.nodes import Body, Break, Stmt
from tile_ir.walk import bodies, with_bodies


def barriers_everywhere(func: Func) -> Func:
    """A PLANNED function as a SYNCED one."""
    sections = tuple(
        replace(s, body=_ordered(s.body)) if isinstance(s, Section) else s for s in func.launch.body
    )
    return func.with_body(sections).at_phase(Phase.SYNCED)


def _ordered(body: Body) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        inner = tuple((_barrier(stmt.loc), *_ordered(b)) if b else b for b in bodies(stmt))
        result.append(with_bodies(stmt, inner))
        if not isinstance(stmt, Break):
            result.append(_barrier(stmt.loc))
    return tuple(result)


def _barrier(loc: Loc) -> Op:
    return Op(OPS["barrier_all"], (), (), loc)
