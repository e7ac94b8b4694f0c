"""Where scratch of one operation of the script is used first: it holds nothing before.

For checks that follow a function's text. Not here: what that means for bytes (`check_memory`).
"""

from __future__ import annotations

from tile_ir.location import Loc
from tile_ir.nodes import Body, Buffer, Stmt
from tile_ir.traversal import bodies, buffers_of, walk


def first_user(body: Body, buffer: Buffer, loc: Loc) -> Stmt | None:
    """The first user in the smallest block with all that one operation of the script, at `loc`,
    became: scratch holds nothing before it."""
    users = [s for s in body if _uses(s, buffer, loc)]
    if len(users) == 1 and buffer not in buffers_of(users[0]):
        inner = [b for b in bodies(users[0]) if any(_uses(s, buffer, loc) for s in b)]
        if len(inner) == 1:
            return first_user(inner[0], buffer, loc)
    return users[0] if users else None


def _uses(stmt: Stmt, buffer: Buffer, loc: Loc) -> bool:
    return any(s.loc == loc and buffer in buffers_of(s) for s in walk((stmt,)))


__all__ = ["first_user"]
