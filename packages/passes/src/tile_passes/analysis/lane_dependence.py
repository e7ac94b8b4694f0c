"""Which statements do something else on each of the two vector cores of a block."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tile_ir import (
    Binary,
    Body,
    Break,
    Buffer,
    Const,
    For,
    If,
    Let,
    Memory,
    Op,
    Stmt,
    Store,
    Var,
    While,
    bodies,
    loads,
    variables_of,
    walk,
)


def done_by_lanes(body: Body, lane: Var) -> frozenset[Store | Op]:
    """Stores and operations whose place, value or execution depends on `lane`, also by way of
    names, scalar variables, conditions and numbers of iterations."""
    return done_by_values(body, (lane,))


def done_by_values(body: Body, values: Collection[Var | Buffer]) -> frozenset[Store | Op]:
    """The same of any values."""
    varying = set(values)
    while True:
        known = len(varying)
        found = frozenset(_done(body, varying, False))
        if len(varying) == known:
            return found


def _done(body: Body, varying: set[Var | Buffer], inside: bool) -> Iterator[Store | Op]:
    """The statements of a text that only some lanes run, if `inside`; adds to the varying names."""
    for stmt in body:
        depends = inside or _reads(stmt, varying)
        if isinstance(stmt, (Store, Op)) and depends:
            yield stmt
            if isinstance(stmt, Store) and stmt.buffer.memory is Memory.VAR:
                varying.add(stmt.buffer)
        if depends and isinstance(stmt, (Let, For)):
            varying.add(stmt.var)
        leaves = isinstance(stmt, (For, While)) and _is_left_by_some(stmt, varying)
        for inner in bodies(stmt):
            yield from _done(inner, varying, depends or leaves)


def _reads(stmt: Stmt, varying: set[Var | Buffer]) -> bool:
    return not varying.isdisjoint(variables_of(stmt)) or any(
        load.buffer in varying for load in loads(stmt)
    )


def _is_left_by_some(loop: For | While, varying: set[Var | Buffer]) -> bool:
    """Whether a condition that differs from lane to lane ends the loop."""
    return any(
        isinstance(s, If) and _reads(s, varying) and any(isinstance(x, Break) for x in walk((s,)))
        for s in walk((loop,))
    )


def is_of_one_lane(stmt: If, number: int, lane: Var) -> bool:
    """Whether only one of the two vector cores runs a side of a branch: the first side under a
    comparison of `lane` with a constant."""
    match stmt.condition:
        case Binary(op="==", left=left, right=right) if number == 0:
            return lane in (left, right) and any(isinstance(e, Const) for e in (left, right))
    return False
