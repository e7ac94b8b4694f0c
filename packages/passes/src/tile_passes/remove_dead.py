"""Removes names without uses and blocks with nothing in them."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import field

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
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, optional=True)
def remove_dead(func: Func, target: Target) -> Func:
    """Drop unread lets, unread scalar variables, unused scratch and empty blocks.

    Needs, gives: any phase. Idea: statements are visited from last to first, so that the uses of a
    name are known before its definition. A scalar variable is live if work, or another live
    variable, needs it on the same core. Limits: buffers of the user stay, so that addresses do not
    move when a statement is commented out.
    """
    launch = func.launch
    cells = frozenset(a.buffer for a in launch.allocs if a.buffer.memory is Memory.VAR)
    body, used = _without_dead(launch.body, cells)
    used = used | {a.alias_of for a in launch.allocs if a.alias_of and a.buffer in used}
    allocs = tuple(a for a in func.launch.allocs if a.buffer in used or not _needless(a))
    if len(allocs) != len(func.launch.allocs):
        return replace(func, launch=replace(func.launch, body=body, allocs=allocs))
    return func.with_body(body)


def _without_dead(body: Body, cells: Set[Buffer]) -> tuple[Body, Set[Buffer]]:
    """The remaining statements, and the buffers that they read. Sections of cores have their own
    variables."""
    cores = [s.core for s in body if isinstance(s, Section)]
    if not cells or len(cores) != len(body) or len(set(cores)) != len(cores):
        return _settled(body, cells)
    kept: list[Stmt] = []
    used: Set[Buffer] = frozenset()
    for section in body:
        (own,) = bodies(section)
        inside, read = _settled(own, cells)
        used = used | read
        if inside:
            kept.append(with_bodies(section, (inside,)))
    return with_statements(body, kept), used


def _settled(body: Body, cells: Set[Buffer]) -> tuple[Body, Set[Buffer]]:
    """The same where every variable that counts is found: none at first, as one that is read for
    its own next value only does not."""
    counting: Set[Buffer] = frozenset()
    while True:
        found = _Readers(counting)
        kept = found.kept(body)
        more = (cells & found.buffers) - counting
        if not more:
            return kept, found.buffers
        counting = counting | more


def _needless(alloc: Alloc) -> bool:
    """Whether it goes if it has no uses."""
    return alloc.scratch or alloc.buffer.memory is Memory.VAR


@dataclass(slots=True)
class _Readers:
    """Walk backwards and collect the reads of the kept statements. `cells` are the scalar variables
    whose values count, and `buffers` those that are loaded from, or an operand."""

    cells: Set[Buffer]
    variables: set[Var] = field(default_factory=set)
    buffers: set[Buffer] = field(default_factory=set)

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
        self.variables |= variables_of(stmt)
        self.buffers.update(load.buffer for load in loads(stmt))
        return stmt
