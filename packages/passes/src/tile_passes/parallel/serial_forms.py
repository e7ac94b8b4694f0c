"""Write the statements of a nest as serial loops, and the remarks on rows taken in parts."""

from __future__ import annotations

from collections.abc import Sequence

from tile_ir import (
    Diagnostic,
    Expr,
    For,
    Func,
    If,
    Loc,
    LoopKind,
    Memory,
    Stmt,
    Store,
    buffer_bytes,
    conjunction,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import Leaf, NoRoom, Unsuitable

_ROOM = "smaller tiles leave room"


def around(leaf: Leaf) -> Stmt:
    """The statement in serial loops."""
    (stmt,) = in_serial_loops(leaf.loops, [leaf.stmt])
    return stmt


def in_serial_loops(loops: Sequence[For], steps: list[Stmt]) -> list[Stmt]:
    """The steps inside loops, the outermost first."""
    for loop in reversed(loops):
        steps = [replace(loop, kind=LoopKind.SERIAL, body=tuple(steps))]
    return steps


def serial_nest(loop: For) -> For:
    """The nest as it stands, with serial loops."""
    inner = tuple(serial_nest(s) if isinstance(s, For) else s for s in loop.body)
    kind = LoopKind.SERIAL if loop.kind is LoopKind.PARALLEL else loop.kind
    return replace(loop, kind=kind, body=inner)


def under(guards: Sequence[Expr], steps: list[Stmt], loc: Loc) -> list[Stmt]:
    """The steps where all conditions hold."""
    if not guards or not steps:
        return steps
    return [If(conjunction(guards), tuple(steps), (), loc)]


def what_it_is(stmt: Stmt) -> str:
    """Why a statement that is no store has no vector form."""
    match stmt:
        case For():
            return f"a loop over `{stmt.var.name}` stands inside"
    return "it is no store to an element"


def stays_scalar(loc: Loc, problem: Unsuitable) -> Diagnostic:
    """The remark on a statement that the scalar unit runs."""
    message = f"this statement stays a scalar loop: {problem.reason}"
    hint = _ROOM if isinstance(problem, NoRoom) else problem.cure
    return Diagnostic("scalar-loop", message, loc, hint, "warning")


def for_want_of_room(func: Func) -> tuple[int, int, int]:
    """The number of statements that are scalar loops because tiles had no room, of loops that
    overlap less than they might, and of statements that do a part of their rows at a time. The
    smaller, the better."""
    remarks = func.remarks
    return (
        sum(r.slug == "scalar-loop" and r.hint == _ROOM for r in remarks),
        sum(r.slug == "pipeline-versions" for r in remarks),
        sum(r.slug == "rows-in-pieces" for r in remarks),
    )


def in_pieces(store: Store, count: int, trips: int, problem: NoRoom, func: Func) -> Diagnostic:
    """The remark on a statement that has no room for all of its rows."""
    sizes = ", ".join(
        f"`{a.buffer.name}` {buffer_bytes(a)}"
        for a in func.launch.allocs
        if a.buffer.memory is Memory.UB and a.alias_of is None and not a.scratch
    )
    return Diagnostic(
        "rows-in-pieces",
        f"this statement of T.Parallel computes {count} of {trips} rows at a time: "
        f"{problem.reason} beside {sizes or 'tiles of the compiler'}",
        store.loc,
        f"{_ROOM} for all rows",
        "warning",
    )
