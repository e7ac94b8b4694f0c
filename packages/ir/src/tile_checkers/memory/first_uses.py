"""Find statements in front of which buffers hold nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tile_ir import Body, Buffer, For, Loc, LoopKind, Stmt, bodies, buffers_of, walk


def users_of_scratch(body: Body, buffer: Buffer) -> Iterator[Stmt]:
    """The first user of scratch in what each operation of the script became."""
    for loc in {s.loc for s in walk(body) if buffer in buffers_of(s)}:
        owner = _first_user(body, buffer, loc)
        if owner is not None:
            yield owner


def _first_user(body: Body, buffer: Buffer, loc: Loc) -> Stmt | None:
    """The first user in the smallest block with all that one operation of the script, at `loc`,
    became: scratch holds nothing before it."""
    users = [s for s in body if _uses(s, buffer, loc)]
    if len(users) == 1 and buffer not in buffers_of(users[0]):
        inner = [b for b in bodies(users[0]) if any(_uses(s, buffer, loc) for s in b)]
        if len(inner) == 1:
            return _first_user(inner[0], buffer, loc)
    return users[0] if users else None


def _uses(stmt: Stmt, buffer: Buffer, loc: Loc) -> bool:
    return any(s.loc == loc and buffer in buffers_of(s) for s in walk((stmt,)))


def tasks_alone(
    body: Body, roots: Mapping[Buffer, Buffer]
) -> Iterator[tuple[For, frozenset[Buffer]]]:
    """Each task with the buffers that no other statement of the core uses. A task is a kernel of
    its own, so they hold nothing when it begins, in every turn. `roots` are the buffers on chip,
    each with the one whose bytes it has."""
    tasks = [s for s in walk(body) if isinstance(s, For) and s.kind is LoopKind.TASK]
    inside = {id(s) for task in tasks for s in walk((task,))}

    def used(statements: Iterator[Stmt]) -> frozenset[Buffer]:
        return frozenset(roots[b] for s in statements for b in buffers_of(s) if b in roots)

    by_task = [used(walk(task.body)) for task in tasks]
    outside = used(s for s in walk(body) if id(s) not in inside)
    for number, task in enumerate(tasks):
        others = outside.union(*by_task[:number], *by_task[number + 1 :])
        yield task, by_task[number] - others


__all__ = ["tasks_alone", "users_of_scratch"]
