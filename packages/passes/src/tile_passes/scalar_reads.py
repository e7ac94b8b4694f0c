"""Gives what the scalar unit reads from memory a statement of its own, so that it can be ordered.

The scalar unit reads an operand, a bound or a condition with a loaded element at its statement.
That is too late to signal to another pipe that the reading is over.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from tile_ir import (
    INT32,
    Alloc,
    Binary,
    Body,
    Buffer,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    Load,
    Memory,
    Op,
    Select,
    Stmt,
    Store,
    Var,
    While,
    loads,
    map_own_expressions,
    replace_in,
    rewrite,
    select,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.free_names import FreeNames


# One pass asks for the same text again.
@lru_cache(maxsize=4)
def name_scalar_reads(func: Func) -> Func:
    """The function with element loads in lets and stores only: those of operations, bounds and
    branches become lets before them, the condition of a `while` a variable. Bounds of loops load no
    scalar variables either: behind the loop its bounds decide which flags are still set."""
    body = func.launch.body
    if not any(_is_named(load, stmt) for stmt in walk(body) for load in loads(stmt)):
        return func
    reads = _Reads(FreeNames.of(func))
    body = rewrite(body, reads.named)
    return func.with_body(body, allocs=(*func.launch.allocs, *reads.allocs))


def _has_named(stmt: Stmt) -> bool:
    return any(_is_named(load, stmt) for load in loads(stmt))


@dataclass(slots=True)
class _Reads:
    names: FreeNames
    allocs: list[Alloc] = field(default_factory=list)

    def named(self, stmt: Stmt) -> Stmt | Body:
        if not _has_named(stmt):
            return stmt
        match stmt:
            case While():
                return self.condition(stmt)
            case Op() | For() | If():
                return self.lets(stmt)
        return stmt

    def lets(self, stmt: Stmt) -> Body:
        found: dict[Expr, Let] = {}

        def name(expr: Expr) -> Expr | None:
            wanted = [load for load in _read_first(expr) if _is_named(load, stmt)]
            if not wanted:
                return None
            if expr not in found:
                var = Var(self.names.fresh(wanted[0].buffer.name), expr.dtype)
                found[expr] = Let(var, expr, stmt.loc)
            return found[expr].var

        new = map_own_expressions(stmt, lambda expr: replace_in(expr, name))
        return (*found.values(), new)

    def condition(self, stmt: While) -> Body:
        """The condition is read before the loop and at the end of every iteration."""
        buffer = Buffer(self.names.fresh("goes_on"), Memory.VAR, INT32, (), stmt.loc)
        self.allocs.append(Alloc(buffer, stmt.loc))
        read = Store(buffer, (), select(stmt.condition, Const(1), Const(0)), stmt.loc)
        again = Load(buffer, ()) > 0
        return (read, replace(stmt, condition=again, body=(*stmt.body, replace(read))))


def _read_first(expr: Expr) -> list[Load]:
    """The elements that are read together with the first one of an expression: it itself, or all of
    a choice whose sides are read only if they are chosen."""
    match expr:
        case Load():
            return [expr]
        case Select(then=a, orelse=b):
            lazy: tuple[Expr, ...] = (a, b)
        case Binary(op="and" | "or", right=b):
            lazy = (b,)
        case _:
            return []
    return [part for side in lazy for part in walk_expr(side) if isinstance(part, Load)]


def _is_named(load: Load, stmt: Stmt) -> bool:
    """Whether the element is given a name: scalar variables are registers, and need none."""
    return load.buffer.memory is not Memory.VAR or isinstance(stmt, For)
