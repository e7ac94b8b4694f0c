"""Going over a function's statements: visiting and rewriting, which keeps every object that did not
change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import is_

from tile_ir.expr import Const, Expr, Load, Var, rebuild, walk_expr
from tile_ir.nodes import (
    Body,
    Break,
    Buffer,
    For,
    Func,
    If,
    Let,
    Op,
    Operand,
    Region,
    Section,
    Slice,
    Stmt,
    Store,
    While,
)
from tile_ir.opdef import accesses
from tile_ir.quick_dataclasses import replace

_LEAVES = (Op, Let, Store, Break)


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The statement lists directly inside a statement."""
    if isinstance(stmt, _LEAVES):  # nearly always
        return ()
    return (stmt.then, stmt.orelse) if isinstance(stmt, If) else (stmt.body,)


def with_bodies(stmt: Stmt, new: tuple[Body, ...]) -> Stmt:
    """The statement around other statement lists; itself if they are the same objects."""
    if not new or _same(bodies(stmt), new):
        return stmt
    match stmt:
        case For() | While() | Section():
            return replace(stmt, body=new[0])
        case If():
            return replace(stmt, then=new[0], orelse=new[1])
    return stmt


def with_statements(body: Body, new: Iterable[Stmt]) -> Body:
    """Other statements in place of a body; the body itself if they are the same objects."""
    found = tuple(new)
    return body if len(found) == len(body) and _same(body, found) else found


def walk(body: Body) -> Iterator[Stmt]:
    """Every statement, outer before inner, in textual order."""
    return iter(_walked(body))


@lru_cache(maxsize=32768)
def _walked(body: Body) -> tuple[Stmt, ...]:
    found: list[Stmt] = []
    for stmt in body:
        found.append(stmt)
        for inner in bodies(stmt):
            found += _walked(inner)
    return tuple(found)


def breaks(body: Body) -> Iterator[Break]:
    """Those that leave the loop around the body."""
    for stmt in body:
        if isinstance(stmt, Break):
            yield stmt
        elif not isinstance(stmt, (*_LEAVES, For, While)):
            for inner in bodies(stmt):
                yield from breaks(inner)


def walk_ops(body: Body) -> Iterator[Op]:
    for stmt in walk(body):
        if isinstance(stmt, Op):
            yield stmt


@lru_cache(maxsize=32768)
def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The scalar expressions written in a statement itself, region bounds included."""
    match stmt:
        case Op(operands=operands):
            found: list[Expr] = []
            for operand in operands:
                if isinstance(operand, Region):
                    for s in operand.dims:
                        found += (s.offset, s.extent)
                elif operand is not None:
                    found.append(operand)
            return tuple(found)
        case For(start=start, stop=stop):
            return start, stop
        case While(condition=c) | If(condition=c):
            return (c,)
        case Let(value=v):
            return (v,)
        case Store(indices=indices, value=v):
            return (*indices, v)
    return ()


@lru_cache(maxsize=32768)
def compounds(stmt: Stmt) -> tuple[Expr, ...]:
    """Those of them that are more than a number or a name."""
    return tuple([expr for expr in expressions(stmt) if not isinstance(expr, (Const, Var))])


@lru_cache(maxsize=32768)
def buffers_of(stmt: Stmt) -> frozenset[Buffer]:
    """The buffers a statement touches itself, not those of statements inside it."""
    found = {load.buffer for load in loads(stmt)}
    if isinstance(stmt, Op):
        found.update([o.buffer for o in stmt.operands if isinstance(o, Region)])
    if isinstance(stmt, Store):
        found.add(stmt.buffer)
    return frozenset(found)


@lru_cache(maxsize=32768)
def variables_of(stmt: Stmt) -> frozenset[Var]:
    """The variables a statement names itself, in its own expressions."""
    found: set[Var] = set()
    for expr in expressions(stmt):
        if isinstance(expr, Var):
            found.add(expr)
    for expr in compounds(stmt):
        found.update([part for part in walk_expr(expr) if isinstance(part, Var)])
    return frozenset(found)


@lru_cache(maxsize=32768)
def variables_in(body: Body) -> set[Var]:
    """The variables that statements, and those inside them, name."""
    return {var for stmt in walk(body) for var in variables_of(stmt)}


@lru_cache(maxsize=32768)
def loads(stmt: Stmt) -> tuple[Load, ...]:
    """Element loads in a statement's own expressions."""
    found = [part for e in compounds(stmt) for part in walk_expr(e) if isinstance(part, Load)]
    return tuple(found)


Rewrite = Callable[[Stmt], "Stmt | Body"]


def rewrite(body: Body, fn: Rewrite) -> Body:
    """Inner statements first, then `fn` on each statement; it may give back several or none."""
    result: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, _LEAVES):
            stmt = with_bodies(stmt, tuple([rewrite(b, fn) for b in bodies(stmt)]))
        new = fn(stmt)
        result.extend(new if isinstance(new, tuple) else (new,))
    return with_statements(body, result)


def map_expressions(body: Body, fn: Callable[[Expr], Expr]) -> Body:
    """Every scalar expression replaced by `fn` of it."""
    return rewrite(body, lambda stmt: map_own_expressions(stmt, fn))


def map_own_expressions(stmt: Stmt, fn: Callable[[Expr], Expr]) -> Stmt:
    match stmt:
        case Op(operands=operands):
            new = tuple([_map_operand(o, fn) for o in operands])
            return stmt if _same(operands, new) else Op(stmt.opdef, new, stmt.attrs, stmt.loc)
        case For(start=a, stop=b):
            x, y = fn(a), fn(b)
            return stmt if x is a and y is b else replace(stmt, start=x, stop=y)
        case While(condition=c) | If(condition=c):
            x = fn(c)
            return stmt if x is c else replace(stmt, condition=x)
        case Let(value=v):
            x = fn(v)
            return stmt if x is v else replace(stmt, value=x)
        case Store(indices=indices, value=v):
            places, x = tuple(fn(i) for i in indices), fn(v)
            if x is v and _same(indices, places):
                return stmt
            return replace(stmt, indices=places, value=x)
    return stmt


def _same(old: tuple[object, ...], new: tuple[object, ...]) -> bool:
    return all(map(is_, old, new))


def _map_operand(operand: Operand, fn: Callable[[Expr], Expr]) -> Operand:
    if operand is None:
        return None
    if isinstance(operand, Region):
        return map_region(operand, fn)
    return fn(operand)


def map_region(region: Region, fn: Callable[[Expr], Expr]) -> Region:
    """The region with its bounds replaced by `fn` of them."""
    dims = tuple([_map_slice(s, fn) for s in region.dims])
    return region if _same(region.dims, dims) else Region(region.buffer, dims)


def _map_slice(s: Slice, fn: Callable[[Expr], Expr]) -> Slice:
    offset, extent = fn(s.offset), fn(s.extent)
    if offset is s.offset and extent is s.extent:
        return s
    return Slice(offset, extent, s.stride)


def generated(stmt: Stmt) -> Stmt:
    """Return the statement with the origin of one that the compiler added."""
    return replace(stmt, loc=replace(stmt.loc, generated=True))


def has_generated(body: Body) -> bool:
    """Whether the compiler added one of the statements."""
    return any(stmt.loc.generated for stmt in walk(body))


def replace_buffers(
    body: Body, new: Mapping[Buffer, Buffer], parts: Mapping[Buffer, Expr] | None = None
) -> Body:
    """Every use of a buffer that has a replacement is one of that; if it is among `parts`, of the
    part of its replacement that has this index in the first dimension."""
    return rewrite(body, lambda stmt: replace_own_buffers(stmt, new, parts or {}))


def replace_own_buffers(
    stmt: Stmt, new: Mapping[Buffer, Buffer], parts: Mapping[Buffer, Expr]
) -> Stmt:
    """The same for what a statement itself uses; statements inside it stay."""
    if new.keys().isdisjoint(buffers_of(stmt)):
        return stmt

    def part(region: Region) -> Region | None:
        old = region.buffer
        if old not in new:
            return None
        first = (Slice(parts[old], Const(1)),) if old in parts else ()
        return Region(new[old], (*first, *region.dims))

    changed = map_places(stmt, part)
    match stmt, changed:
        case Op(opdef=opdef), Op() if "dim" in (names := [a.name for a in opdef.attrs]):
            # The only dimension of its source becomes the last.
            src, given = stmt.region("src"), zip(names, stmt.attrs, strict=True)
            if len(src.dims) == 1 and src.buffer in parts:
                attrs = tuple(-1 if name == "dim" else value for name, value in given)
                return replace(changed, attrs=attrs)
    return changed


def map_places(stmt: Stmt, fn: Callable[[Region], Region | None]) -> Stmt:
    """Replace the regions and elements of a statement, but not of those inside it, by `fn` of them.
    None keeps one, and an element stays an element."""

    def element(e: Expr) -> Expr:
        inside = rebuild(e, element)
        if not isinstance(inside, Load) or (new := at(inside.buffer, inside.indices)) is None:
            return inside
        return Load(new.buffer, _offsets(new))

    def at(buffer: Buffer, indices: tuple[Expr, ...]) -> Region | None:
        return fn(Region(buffer, tuple([Slice(index, Const(1)) for index in indices])))

    if loads(stmt):
        stmt = map_own_expressions(stmt, element)
    match stmt:
        case Op(opdef=opdef, operands=operands, attrs=attrs):
            changed = tuple([fn(o) or o if isinstance(o, Region) else o for o in operands])
            return stmt if _same(operands, changed) else Op(opdef, changed, attrs, stmt.loc)
        case Store(buffer=buffer, indices=indices):
            new = at(buffer, indices)
            return stmt if new is None else replace(stmt, buffer=new.buffer, indices=_offsets(new))
    return stmt


def _offsets(region: Region) -> tuple[Expr, ...]:
    return tuple([s.offset for s in region.dims])


def replace_in(expr: Expr, fn: Callable[[Expr], Expr | None]) -> Expr:
    """The expression with every part for which `fn` gives an answer replaced by it."""
    found = fn(expr)
    return found if found is not None else rebuild(expr, lambda child: replace_in(child, fn))


@lru_cache(maxsize=32768)
def written_buffers(body: Body) -> frozenset[Buffer]:
    """The buffers that the statements and those inside them write, by elements or operations."""
    return frozenset([buffer for stmt in walk(body) for buffer in written_by(stmt)])


def written_by(stmt: Stmt) -> Iterable[Buffer]:
    """The buffers that a statement writes itself."""
    if isinstance(stmt, Op):
        return [r.buffer for r, access in accesses(stmt) if access.writes]
    return (stmt.buffer,) if isinstance(stmt, Store) else ()


def written_tensors(func: Func) -> frozenset[Buffer]:
    """The tensors that a function writes, under their own names or others."""
    tensors = {a.buffer: a.alias_of for a in func.launch.allocs if a.alias_of is not None}
    found = {tensors.get(b, b) for b in written_buffers(func.launch.body)}
    return frozenset(t for t in func.tensors if t in found)


def buffers(func: Func) -> tuple[Buffer, ...]:
    """All buffers of a function: tensors, then allocations."""
    return (*func.tensors, *(a.buffer for a in func.launch.allocs))
