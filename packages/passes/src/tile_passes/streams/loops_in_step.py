"""Loops of the two cores that go in step: the n-th iteration of one with the n-th of the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tile_ir import (
    Body,
    Buffer,
    Expr,
    For,
    If,
    Load,
    Memory,
    Region,
    Section,
    Stmt,
    Var,
    bodies,
    constant_value,
    linear_form,
    resolved,
    simplify,
    substitute,
    walk_expr,
)
from tile_ir.analysis import INF
from tile_ir.quick_dataclasses import dataclass
from tile_passes.streams.items import GmAccess, mentions, same_run, works_on


@dataclass(frozen=True, slots=True)
class Meanings:
    """The values of names, and the tensors written in the kernel: all others have the same
    values wherever they are read."""

    values: Mapping[Var, Expr]
    written: frozenset[Buffer]

    def fixed(self, expr: Expr, names: Mapping[Var, Expr]) -> Expr | None:
        """The expression in terms of constants of the kernel; None if it depends on more."""
        meant = simplify(resolved(substitute(resolved(expr, self.values), names), self.values))
        loaded = {part.buffer for part in walk_expr(meant) if isinstance(part, Load)}
        return (
            meant if all(b.memory is Memory.GM and b not in self.written for b in loaded) else None
        )


@dataclass(frozen=True, slots=True)
class LoopsInStep:
    """A loop around a writer and one around a reader of the other core, both of which touch the
    same bytes in every iteration. `same_guards` says whether the branches around them are surely
    taken together, and `equally_often` whether they surely take the same iterations. `unknown` says
    that their bounds may change, so that this is open."""

    writer: For
    reader: For
    same_guards: bool
    equally_often: bool
    unknown: bool


def loops_in_step(
    writer: GmAccess, reader: GmAccess, outside: int, meanings: Meanings
) -> LoopsInStep | None:
    """The outermost such loops of the two, below so many statements that are around both."""
    a, b = writer.path[outside:], reader.path[outside:]
    if not a or not b or works_on(a[0]) & works_on(b[0]):
        return None
    names: dict[Var, Expr] = {}
    guarded = True
    while a and b:
        x, y = a[0], b[0]
        match x, y:
            case If(), If():
                branches = (_branch(x, a, writer), _branch(y, b, reader))
                same = _same(x.condition, y.condition, names, meanings)
                if same and branches[0] != branches[1]:
                    return None  # never both
                guarded = guarded and same
                a, b = a[1:], b[1:]
            case If(), _:
                guarded, a = False, a[1:]
            case _, If():
                guarded, b = False, b[1:]
            case For(), For():
                equal = same_run(x, y) or (
                    _same(x.start, y.start, names, meanings)
                    and _same(x.stop, y.stop, names, meanings)
                )
                if iterations_share(writer, x, meanings.values) and iterations_share(
                    reader, y, meanings.values
                ):
                    return LoopsInStep(x, y, guarded, equal, _may_change(x, y, meanings))
                names[y.var] = x.var
                places = writer.region, reader.region
                if not equal or not _same_place(places, (x, y), names, meanings):
                    return None
                a, b = a[1:], b[1:]
            case _:
                return None
    return None


def _may_change(x: For, y: For, meanings: Meanings) -> bool:
    """Whether a bound of one of the loops is what something in the kernel changes."""
    bounds = (x.start, x.stop, y.start, y.stop)
    return any(meanings.fixed(bound, {}) is None for bound in bounds)


def iterations_share(access: GmAccess, loop: For, values: Mapping[Var, Expr]) -> bool:
    """Whether an access touches the same bytes in every iteration of a loop around it."""
    bounds = [part for s in access.region.dims for part in (s.offset, s.extent)]
    return not any(mentions(part, loop.var, values) for part in bounds)


def comes_too_early(
    first: GmAccess, then: GmAccess, loops: tuple[For, For], meanings: Meanings
) -> bool:
    """Whether `then`, which the text runs behind all iterations of the loop of `first`, would meet
    places of its later iterations, were the two loops one.

    Places that are the same in every round are handed over from round to round, and nothing is
    known of those that differ by no constant: neither comes too early.
    """
    one, other = loops
    nearest, farthest = 1, INF
    depends = False
    for s, t in zip(first.region.dims, then.region.dims, strict=True):
        its, others = meanings.fixed(s.offset, {}), meanings.fixed(t.offset, {other.var: one.var})
        size, taken = constant_value(s.extent), constant_value(t.extent)
        if its is None or others is None or size is None or taken is None:
            return False
        step, others_step = (linear_form(e)[0].get(one.var, 0) for e in (its, others))
        ahead = constant_value(simplify(others - its - one.var * (others_step - step)))
        if ahead is None:
            return False
        depends = depends or bool(step or others_step)
        if step == others_step:
            low, high = ahead - size + 1, ahead + taken - 1
            if step < 0:
                low, high = -high, -low
            if step:
                nearest = max(nearest, -(-low // abs(step)))
                farthest = min(farthest, high // abs(step))
            elif not low <= 0 <= high:
                return False
    return depends and nearest <= farthest


def path_to(stmt: Stmt, outer: Stmt) -> tuple[Stmt, ...]:
    """The statements around a statement from `outer` on, that included, sections left out."""
    return next(_paths(stmt, outer), ())


def _paths(stmt: Stmt, outer: Stmt) -> Iterator[tuple[Stmt, ...]]:
    around = () if isinstance(outer, Section) else (outer,)
    for body in bodies(outer):
        for inside in body:
            if inside is stmt:
                yield around
            yield from ((*around, *path) for path in _paths(stmt, inside))


def _branch(branch: If, path: Sequence[Stmt], access: GmAccess) -> bool:
    """Whether an access stands where the condition holds."""
    inside = path[1] if len(path) > 1 else access.stmt
    return any(inside is s for s in _opened(branch.then))


def _opened(body: Body) -> Iterator[Stmt]:
    for stmt in body:
        if isinstance(stmt, Section):
            yield from _opened(stmt.body)
        else:
            yield stmt


def _same(a: Expr, b: Expr, names: Mapping[Var, Expr], meanings: Meanings) -> bool:
    first, second = meanings.fixed(a, {}), meanings.fixed(b, names)
    return first is not None and first == second


def _same_place(
    places: tuple[Region, Region],
    loops: tuple[For, For],
    names: Mapping[Var, Expr],
    meanings: Meanings,
) -> bool:
    """Whether the reader is at the writer's place in every iteration of their loops, in the
    dimensions in which the place of either depends on the iteration."""
    writer, reader = places
    for s, t in zip(writer.dims, reader.dims, strict=True):
        parts = ((s.offset, t.offset), (s.extent, t.extent))
        depends = any(
            mentions(e, loop.var, meanings.values)
            for pair in parts
            for e, loop in zip(pair, loops, strict=True)
        )
        if depends and not all(_same(p, q, names, meanings) for p, q in parts):
            return False
    return True
