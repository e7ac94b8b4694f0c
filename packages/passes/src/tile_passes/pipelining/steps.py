"""The statements of a pipelined loop, each with its core: what stages are made of."""

from __future__ import annotations

from typing import NamedTuple

from tile_ir import Body, Core, For, If, Let, Section, Stmt, bodies, reads_memory, rewrite, walk


class Step(NamedTuple):
    """A statement of the loop with its core; None for a definition that both keep."""

    stmt: Stmt
    core: Core | None


def steps_of(stmt: Stmt) -> list[Step] | None:
    """The steps of one statement of the loop's body: a loop or branch in which one kind of core has
    all the work is one. None where both kinds have some."""
    match stmt:
        case Section(core=core, body=body):
            return [Step(s, core) for s in body]
        case Let(value=value) if not reads_memory(value):
            return [Step(stmt, None)]
        case For() | If():
            cores = {s.core for s in walk((stmt,)) if isinstance(s, Section)}
            if len(cores) == 1 and _all_in_sections((stmt,)):
                (inside,) = rewrite((stmt,), lambda s: s.body if isinstance(s, Section) else s)
                return [Step(inside, cores.pop())]
    return None


def _all_in_sections(body: Body) -> bool:
    """Whether all but definitions, loops and branches stands in sections."""
    return all(
        isinstance(s, Section)
        or (isinstance(s, Let) and not reads_memory(s.value))
        or (isinstance(s, (For, If)) and all(_all_in_sections(b) for b in bodies(s)))
        for s in body
    )


__all__ = ["Step", "steps_of"]
