"""Removes names nobody reads and blocks with nothing in them."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import Alloc, For, Func, If, Let, Op, Phase, Region, Section, Store, Target
from tile_ir.expr import Load, Var, walk
from tile_ir.machine import Memory
from tile_ir.nodes import Body, Buffer, Stmt
from tile_ir.walk import expressions, rewrite
from tile_ir.walk import walk as walk_body
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.BUILT, optional=True)
def remove_dead(func: Func, target: Target) -> Func:
    """Drop unread lets, unread scalar variables, unused scratch and empty blocks.

    Needs, gives: any phase. Idea: repeat until nothing changes; identity says when. Limits: buffers
    of the user stay, so that addresses do not move when a statement is commented out.
    """
    while True:
        new = _once(func)
        if new is func:
            return func
        func = new


def _once(func: Func) -> Func:
    read_vars, read_cells = _reads(func.launch.body)
    used = {
        o.buffer
        for stmt in walk_body(func.launch.body)
        if isinstance(stmt, Op)
        for o in stmt.operands
        if isinstance(o, Region)
    }

    def keep(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case Let(var=var) if var not in read_vars:
                return ()
            case Store(buffer=b) if b.memory is Memory.VAR and b not in read_cells:
                return ()
            case For(body=()) | Section(body=()) | If(then=(), orelse=()):
                return ()
            case Section(body=inner):
                # Both kinds of core may have the let, and one of them no reader.
                body = _without_unread(inner, _reads(inner)[0])
                return stmt if body is inner else replace(stmt, body=body)
        return stmt

    body = rewrite(func.launch.body, keep)
    used.update(
        a.alias_of for a in func.launch.allocs if a.alias_of is not None and a.buffer in used
    )
    allocs = tuple(a for a in func.launch.allocs if _needed(a, used, read_cells))
    if len(allocs) != len(func.launch.allocs):
        return replace(func, launch=replace(func.launch, body=body, allocs=allocs))
    return func.with_body(body)


def _without_unread(body: Body, read: set[Var]) -> Body:
    return rewrite(body, lambda s: () if isinstance(s, Let) and s.var not in read else s)


def _reads(body: Body) -> tuple[set[Var], set[Buffer]]:
    """Variables and scalar buffers whose values somebody uses."""
    found = [part for s in walk_body(body) for e in expressions(s) for part in walk(e)]
    return (
        {part for part in found if isinstance(part, Var)},
        {part.buffer for part in found if isinstance(part, Load)},
    )


def _needed(alloc: Alloc, used: set[Buffer], read: set[Buffer]) -> bool:
    if alloc.buffer.memory is Memory.VAR:
        return alloc.buffer in read
    return not alloc.scratch or alloc.buffer in used
