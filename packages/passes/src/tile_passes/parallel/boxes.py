"""Conditions that leave a box of a domain: the elements under them are those of narrower loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from tile_ir import (
    Binary,
    Body,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Stmt,
    Store,
    Var,
    binary,
    cast,
    ceildiv,
    conjunction,
    difference,
    expressions,
    linear_form,
    maximum,
    minimum,
    simplify,
    unary,
    walk,
    walk_expr,
    written_buffers,
)
from tile_ir.analysis import Ranges, at_least, interval
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import Domain, Keep, Leaf, Unsuitable, inlined, loads_in

_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def leaves_in_boxes(leaf: Leaf, known: Ranges, keep: Keep) -> list[Leaf] | None:
    """The stores under a branch, each under loops that leave out what its conditions do; None where
    the conditions are none of bounds. The name of a value that the branch changes is kept in a
    tile; None where it cannot be."""
    assert isinstance(leaf.stmt, If), "the leaf is a branch"
    try:
        return _sides(replace(leaf, guards=()), known, written_buffers((leaf.stmt,)), keep)
    except Unsuitable:
        return None


def _sides(leaf: Leaf, known: Ranges, written: frozenset[object], keep: Keep) -> list[Leaf] | None:
    stmt = leaf.stmt
    if isinstance(stmt, Store):
        return [leaf]
    if not isinstance(stmt, If) or any(x.buffer in written for x in loads_in(stmt.condition)):
        return None
    sides = [(stmt.condition, stmt.then)]
    if stmt.orelse:
        sides.append((negated(stmt.condition), stmt.orelse))
    found: list[Leaf] = []
    for condition, body in sides:
        loops, rest = _narrowed(leaf.loops, condition)
        same_for_all = () if rest is None else tuple(operands("and", rest))
        if any(_varies(part, leaf.loops) for part in same_for_all):
            return None
        guards = (*leaf.guards, *same_for_all, *_have_iterations(loops, leaf.loops, known))
        for inner in _without_names(body, loops, keep):
            parts = _sides(Leaf(loops, guards, inner), known, written, keep)
            if parts is None:
                return None
            found += parts
    return found


def _varies(condition: Expr, loops: Sequence[For]) -> bool:
    """Whether a condition differs from element to element."""
    variables = {loop.var for loop in loops}
    return any(p in variables for p in walk_expr(condition))


def _without_names(body: Body, loops: tuple[For, ...], keep: Keep) -> list[Stmt]:
    """The statements with the values of the names that they define, which are kept where one is
    used behind a store to a buffer that it reads. Raises Unsuitable."""
    names: dict[Var, Expr] = {}
    result: list[Stmt] = []
    for number, original in enumerate(body):
        stmt = inlined(original, names)
        if not isinstance(stmt, Let):
            result.append(stmt)
            continue
        names[stmt.var] = stmt.value
        read = {x.buffer for x in loads_in(stmt.value)}
        if _used_behind_store(stmt.var, read, body[number + 1 :]):
            store, names[stmt.var] = keep(stmt.value, loops, stmt.loc)
            result.append(store)
    return result


def _used_behind_store(name: Var, read: Set[Buffer], body: Body) -> bool:
    """Whether statements use a name behind a store to one of the buffers that its value reads."""
    stored = False
    used = {name}
    for stmt in body:
        parts = {p for s in walk((stmt,)) for e in expressions(s) for p in walk_expr(e)}
        if not used.isdisjoint(parts):
            if stored:
                return True
            if isinstance(stmt, Let):
                used.add(stmt.var)
        stored = stored or not read.isdisjoint(written_buffers((stmt,)))
    return False


_Bounds = Mapping[Var, tuple[Expr, Expr]]


def _narrowed(loops: Sequence[For], condition: Expr) -> tuple[tuple[For, ...], Expr | None]:
    """The loops over the elements for which the conditions on bounds hold, and what is left of the
    condition."""
    bounds, rest = _bounded({loop.var: (loop.start, loop.stop) for loop in loops}, condition)
    new = []
    for loop in loops:
        start, stop = bounds[loop.var]
        same = start is loop.start and stop is loop.stop
        new.append(loop if same else replace(loop, start=start, stop=stop))
    return tuple(new), rest


def part_of(domain: Domain, condition: Expr) -> Domain | None:
    """The elements of a domain for which a condition holds; None if they are no box, or the
    condition reads memory."""
    if next(loads_in(condition), None) is not None:
        return None
    triples = zip(domain.vars, domain.starts, domain.extents, strict=True)
    bounds, rest = _bounded({v: (s, simplify(s + n)) for v, s, n in triples}, condition)
    if rest is not None:
        return None
    starts = tuple(bounds[v][0] for v in domain.vars)
    extents = tuple(difference(bounds[v][1], bounds[v][0]) for v in domain.vars)
    return Domain(domain.vars, starts, extents)


def has_elements(part: Domain, known: Ranges) -> Expr | None:
    """The condition under which a part of a domain is not empty; None if it never is."""
    tests = [n > 0 for n in part.extents if interval(n, known).low < 1]
    return conjunction(tests) if tests else None


def _bounded(bounds: _Bounds, condition: Expr) -> tuple[_Bounds, Expr | None]:
    """The bounds where those conditions hold that say something of one variable, and the rest."""
    found, left = dict(bounds), list[Expr]()
    for part in operands("and", condition):
        limit = _limit(part, tuple(bounds))
        if limit is None:
            left.append(part)
            continue
        var, first, end = limit
        start, stop = found[var]
        if first is not None:
            start = simplify(maximum(start, cast(first, start.dtype)))
        if end is not None:
            stop = simplify(minimum(stop, cast(end, stop.dtype)))
        found[var] = start, stop
    return found, conjunction(left) if left else None


def _have_iterations(new: Sequence[For], old: Sequence[For], known: Ranges) -> Iterator[Expr]:
    """Conditions under which no narrower loop is empty."""
    for loop, before in zip(new, old, strict=True):
        if loop is not before and at_least(difference(loop.stop, loop.start), known, ()) < 1:
            yield binary("<", loop.start, loop.stop)


def negated(condition: Expr) -> Expr:
    match condition:
        case Binary(op=op, left=a, right=b) if op in _NEGATED:
            return binary(_NEGATED[op], a, b)
    return unary("not", condition)


def operands(op: str, condition: Expr) -> Iterator[Expr]:
    """The operands of a chain of one logical operator."""
    if isinstance(condition, Binary) and condition.op == op:
        yield from operands(op, condition.left)
        yield from operands(op, condition.right)
    else:
        yield condition


def _limit(part: Expr, variables: Sequence[Var]) -> tuple[Var, Expr | None, Expr | None] | None:
    """The variable that a comparison bounds, with the first value it may have and that behind the
    last; None where it is no such comparison."""
    if not isinstance(part, Binary) or part.op not in (*_NEGATED, "=="):
        return None
    if part.left.dtype.is_float or part.right.dtype.is_float:
        return None
    apart = difference(part.left, part.right)
    used = {p for p in walk_expr(apart) if p in variables}
    if len(used) != 1:
        return None
    (var,) = used
    terms, _ = linear_form(apart)
    step = terms.get(var, 0)
    if step == 0 or any(var in walk_expr(atom) for atom in terms if atom is not var):
        return None
    rest = simplify(apart - var * step)  # step * var + rest op 0
    op = part.op
    if step < 0:
        step, rest = -step, simplify(-rest)
        op = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
    assert isinstance(var, Var)
    # var * step op -rest
    at_least, behind = simplify(ceildiv(-rest, step)), simplify((-rest) // step + 1)
    match op:
        case "<":
            return var, None, at_least
        case "<=":
            return var, None, behind
        case ">":
            return var, behind, None
        case ">=":
            return var, at_least, None
    if step != 1:
        return None
    return var, at_least, behind
