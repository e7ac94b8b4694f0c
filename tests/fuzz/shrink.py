"""Makes a kernel small while something about it stays true: statements removed, loops and branches
unwrapped, bounds and places made constant, tiles made shorter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tile_ir import Buffer, For, Func, If, Op, Region, Section, While
from tile_ir.dtypes import BOOL, INT32
from tile_ir.expr import Const, Expr, Load, Var, constant_value, substitute, walk_expr
from tile_ir.nodes import Alloc, Body, Slice, Stmt, Store
from tile_ir.traversal import (
    bodies,
    buffers_of,
    expressions,
    map_expressions,
    map_own_expressions,
    replace_in,
    rewrite,
    with_bodies,
)
from tile_ir.traversal import walk as walk_body
from tile_ir.verification.verifier import problems

Predicate = Callable[[Func], bool]


def shrink(func: Func, still: Predicate, most: int = 600) -> Func:
    """A small function for which `still` holds, as it does for `func`; `most` functions are tried.
    Only functions that pass the verifier are."""
    tried = 0
    changed = True
    while changed:
        changed = False
        for ways in (_removals, _unwrappings, _constants, _shorter):
            again = True
            while again:
                again = False
                for candidate in ways(func):
                    smaller = _trimmed(candidate)
                    if next(problems(smaller), None) is not None:
                        continue
                    tried += 1
                    if still(smaller):
                        func, again, changed = smaller, True, True
                        break
                    if tried >= most:
                        return func
    return func


def _trimmed(func: Func) -> Func:
    """Without what nothing uses any more."""
    used = {b for s in walk_body(func.launch.body) for b in buffers_of(s)}
    roots = {a.alias_of for a in func.launch.allocs if a.buffer in used}
    allocs = tuple(a for a in func.launch.allocs if a.buffer in used or a.buffer in roots)
    params = tuple(p for p in func.params if isinstance(p, Var) or p in used)
    body = tuple(s for s in func.launch.body if not isinstance(s, Section) or s.body)
    launch = replace(func.launch, allocs=allocs, body=body)
    return replace(func, params=params, launch=launch)


def _removals(func: Func) -> Iterator[Func]:
    """Without some neighbouring statements of one body: many, then few."""
    longest = max((len(b) for b in _all_bodies(func.launch.body)), default=0)
    size = longest
    while size >= 1:
        for stmt, n in _holders(func.launch.body):
            inner = bodies(stmt)[n]
            for start in range(0, len(inner), size):
                yield _with_inner(func, stmt, n, inner[:start] + inner[start + size :])
        size //= 2


def _all_bodies(body: Body) -> Iterator[Body]:
    for stmt in walk_body(body):
        yield from bodies(stmt)


def _holders(body: Body) -> Iterator[tuple[Stmt, int]]:
    """Statements with bodies, and which of them."""
    for stmt in walk_body(body):
        for n, inner in enumerate(bodies(stmt)):
            if inner:
                yield stmt, n


def _with_inner(func: Func, holder: Stmt, which: int, inner: Body) -> Func:
    new = tuple(inner if n == which else b for n, b in enumerate(bodies(holder)))
    return func.with_body(_replaced(func.launch.body, holder, (with_bodies(holder, new),)))


def _replaced(body: Body, old: Stmt, new: Body) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if stmt is old:
            result.extend(new)
        else:
            inner = tuple(_replaced(b, old, new) for b in bodies(stmt))
            result.append(with_bodies(stmt, inner) if inner else stmt)
    return tuple(result)


def _unwrappings(func: Func) -> Iterator[Func]:
    """The body of a loop or branch in its place."""
    for stmt in walk_body(func.launch.body):
        match stmt:
            case For(var=var, body=body):
                inner = map_expressions(body, lambda e, v=var: substitute(e, {v: Const(0)}))
                yield func.with_body(_replaced(func.launch.body, stmt, inner))
            case While(body=body):
                yield func.with_body(_replaced(func.launch.body, stmt, body))
            case If(then=then, orelse=orelse):
                yield func.with_body(_replaced(func.launch.body, stmt, then))
                if orelse:
                    yield func.with_body(_replaced(func.launch.body, stmt, orelse))


def _constants(func: Func) -> Iterator[Func]:
    """One scalar expression as a number."""
    for stmt in walk_body(func.launch.body):
        for expr in dict.fromkeys(expressions(stmt)):
            if isinstance(expr, Const):
                continue
            kind = BOOL if expr.dtype is BOOL else INT32 if expr.dtype.is_integer else expr.dtype
            values = (True, False) if kind is BOOL else (1, 0) if kind is INT32 else (1.0,)
            if isinstance(stmt, For):
                values = (1, 2)
            for value in values:
                number = Const(value, kind)
                if isinstance(stmt, While) and value:
                    continue  # never ends
                new = map_own_expressions(stmt, lambda e, o=expr, c=number: c if e == o else e)
                yield func.with_body(_replaced(func.launch.body, stmt, (new,)))


def _shorter(func: Func) -> Iterator[Func]:
    """All last dimensions halved, where they and all slices of them allow it."""
    sizes = {constant_value(b.shape[-1]) for b in _buffers(func) if b.shape}
    for size in sorted((s for s in sizes if s is not None and s >= 16), reverse=True):
        new: dict[Buffer, Buffer] = {}
        for buffer in _buffers(func):
            if buffer.shape and constant_value(buffer.shape[-1]) == size:
                new[buffer] = replace(buffer, shape=(*buffer.shape[:-1], Const(size // 2)))
        yield _with_buffers(func, new)


def _buffers(func: Func) -> list[Buffer]:
    return [*func.tensors, *(a.buffer for a in func.launch.allocs)]


def _with_buffers(func: Func, new: dict[Buffer, Buffer]) -> Func:
    def region(old: Region) -> Region:
        if old.buffer not in new:
            return old
        last = old.dims[-1]
        offset, extent = constant_value(last.offset), constant_value(last.extent)
        if offset is not None and extent is not None:
            last = Slice(Const(offset // 2), Const(max(extent // 2, 1)), last.stride)
        return Region(new[old.buffer], (*old.dims[:-1], last))

    def loads(expr: Expr) -> Expr:
        def swap(part: Expr) -> Expr | None:
            if isinstance(part, Load) and part.buffer in new:
                return Load(new[part.buffer], tuple(loads(i) for i in part.indices))
            return None

        return replace_in(expr, swap)

    def stmt(old: Stmt) -> Stmt:
        old = map_own_expressions(old, loads)
        if isinstance(old, Op):
            operands = (region(o) if isinstance(o, Region) else o for o in old.operands)
            return replace(old, operands=tuple(operands))
        if isinstance(old, Store) and old.buffer in new:
            return replace(old, buffer=new[old.buffer])
        return old

    def alloc(old: Alloc) -> Alloc:
        root = None if old.alias_of is None else new.get(old.alias_of, old.alias_of)
        return replace(old, buffer=new.get(old.buffer, old.buffer), alias_of=root)

    params = tuple(new.get(p, p) if isinstance(p, Buffer) else p for p in func.params)
    allocs = tuple(map(alloc, func.launch.allocs))
    body = rewrite(func.launch.body, stmt)
    return replace(func, params=params, launch=replace(func.launch, allocs=allocs, body=body))


def size(func: Func) -> int:
    """Statements, and parts of expressions: what shrinking makes less."""
    total = 0
    for stmt in walk_body(func.launch.body):
        total += 1 + sum(1 for e in expressions(stmt) for _ in walk_expr(e))
    return total
