"""Put the text of one function into another.

Its definitions get names that are free there, and its parameters become the passed arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tile_ir.expr import Buffer, Expr, Var, substitute
from tile_ir.nodes import Alloc, Body, For, Func, Let, Op, Stmt, Store
from tile_ir.traversal import map_own_expressions, replace_buffers, rewrite, walk

# Gives a name that nothing has yet, like the one it is asked for.
Naming = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Embedded:
    """A function's text in another one: its statements, none of them the same object as before, its
    allocations, and its parameters for which nothing was passed, under their new names."""

    body: Body
    allocs: tuple[Alloc, ...]
    blocks: Expr
    added: tuple[Buffer, ...]


@dataclass(slots=True)
class _Names:
    fresh: Naming
    values: dict[Var, Expr] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)

    def expr(self, expr: Expr) -> Expr:
        return substitute(expr, self.values)

    def variable(self, var: Var) -> Var:
        new = Var(self.fresh(var.name), var.dtype)
        self.values[var] = new
        return new

    def buffer(self, buffer: Buffer) -> Buffer:
        shape = tuple(map(self.expr, buffer.shape))
        new = Buffer(self.fresh(buffer.name), buffer.memory, buffer.dtype, shape, buffer.loc)
        self.buffers[buffer] = new
        return new


def embedded(
    func: Func,
    tensors: Mapping[Buffer, Buffer],
    values: Mapping[Var, Expr],
    fresh: Naming,
    parts: Mapping[Buffer, Expr] | None = None,
) -> Embedded:
    """The text of `func` with `tensors` for its tensors and `values` for its scalars, symbols and
    launch indices. A tensor among `parts` becomes the part of its replacement that has this index
    in its first dimension."""
    names = _Names(fresh, dict(values), dict(tensors))
    added = tuple(names.buffer(t) for t in func.tensors if t not in tensors)
    allocs = tuple(_allocated(alloc, names) for alloc in func.launch.allocs)
    for stmt in walk(func.launch.body):
        if isinstance(stmt, (For, Let)):
            names.variable(stmt.var)
    body = rewrite(func.launch.body, lambda stmt: _renamed(stmt, names))
    body = replace_buffers(body, names.buffers, parts)
    return Embedded(body, allocs, names.expr(func.launch.blocks), added)


def _allocated(alloc: Alloc, names: _Names) -> Alloc:
    root = alloc.alias_of
    new = names.buffer(alloc.buffer)
    return replace(alloc, buffer=new, alias_of=None if root is None else names.buffers[root])


def _renamed(stmt: Stmt, names: _Names) -> Stmt:
    """The statement anew, whatever changes in it: a text may be put somewhere twice."""
    stmt = map_own_expressions(stmt, names.expr)
    match stmt:
        case For() | Let():
            new = names.values[stmt.var]
            assert isinstance(new, Var), "a variable of the text is renamed"
            return replace(stmt, var=new)
        case Op():
            return Op(stmt.opdef, stmt.operands, stmt.attrs, stmt.loc)
        case Store():
            return replace(stmt, indices=tuple(stmt.indices))
    return replace(stmt)
