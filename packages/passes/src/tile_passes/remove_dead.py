"""Removes names nobody reads and blocks with nothing in them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    For,
    Func,
    If,
    Let,
    Memory,
    Op,
    Phase,
    Region,
    Section,
    Stmt,
    Store,
    Target,
    Var,
    While,
    bodies,
    loads,
    variables_of,
    with_bodies,
    with_statements,
)
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, optional=True)
def remove_dead(func: Func, target: Target) -> Func:
    """Drop unread lets, unread scalar variables, unused scratch and empty blocks.

    Needs, gives: any phase. Idea: from the last statement to the first, so that a name's readers
    have been seen before it. Limits: buffers of the user stay, so that addresses do not move when a
    statement is commented out.
    """
    cells = {a.buffer for a in func.launch.allocs if a.buffer.memory is Memory.VAR}
    body = func.launch.body
    while True:
        found = _Readers(cells)
        body = found.kept(body)
        unread = cells - found.buffers
        if not unread & found.stored:
            break
        # What is stored there may be all that something else was read for.
        cells = cells - unread
    used = found.buffers | {
        a.alias_of for a in func.launch.allocs if a.alias_of and a.buffer in found.buffers
    }
    allocs = tuple(a for a in func.launch.allocs if a.buffer in used or not _needless(a))
    if len(allocs) != len(func.launch.allocs):
        return replace(func, launch=replace(func.launch, body=body, allocs=allocs))
    return func.with_body(body)


def _needless(alloc: Alloc) -> bool:
    """Whether it goes if nobody uses it."""
    return alloc.scratch or alloc.buffer.memory is Memory.VAR


@dataclass(slots=True)
class _Readers:
    """Going backwards: who is read by what was kept so far. `cells` are the scalar variables whose
    values count, `stored` those that get one, and `buffers` what is loaded from, or an operand."""

    cells: Set[Buffer]
    variables: set[Var] = field(default_factory=set)
    buffers: set[Buffer] = field(default_factory=set)
    stored: set[Buffer] = field(default_factory=set)

    def kept(self, body: Body) -> Body:
        found: list[Stmt] = []
        for stmt in reversed(body):
            new = self.stmt(stmt)
            if new is not None:
                found.append(new)
        return with_statements(body, reversed(found))

    def stmt(self, stmt: Stmt) -> Stmt | None:
        match stmt:
            case Let(var=var) if var not in self.variables:
                return None
            case Store(buffer=b) if b.memory is Memory.VAR and b not in self.cells:
                return None
            case Section(body=body):
                # Both kinds of core may have the let, and one of them no reader.
                around, self.variables = self.variables, set()
                stmt = with_bodies(stmt, (self.kept(body),))
                self.variables |= around
            case For() | While() | If():
                inner = [self.kept(b) for b in reversed(bodies(stmt))]
                stmt = with_bodies(stmt, tuple(reversed(inner)))
        match stmt:
            case For(body=()) | Section(body=()) | If(then=(), orelse=()):
                return None
            case Op(operands=operands):
                self.buffers.update(o.buffer for o in operands if isinstance(o, Region))
            case Store(buffer=buffer):
                self.stored.add(buffer)
        self.variables |= variables_of(stmt)
        self.buffers.update(load.buffer for load in loads(stmt))
        return stmt
