"""A `T.Parallel` nest as data: its stores, each with the loops and conditions around it.

Statements of a nest are independent of their order over elements, so every store may run over the
whole domain before the next one starts (docs/language/index.md#parallel-loops).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial

from tile_ir import (
    Body,
    Break,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Load,
    Loc,
    LoopKind,
    Op,
    Section,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    map_expressions,
    substitute,
    unary,
    walk,
    walk_expr,
    written_buffers,
)
from tile_ir.analysis import Ranges, loop_range, trip_count
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Domain:
    """One or two parallel variables, from their starts on."""

    vars: tuple[Var, ...]
    starts: tuple[Expr, ...]
    extents: tuple[Expr, ...]

    def only(self, used: tuple[Var, ...]) -> Domain:
        """The domain of some of the variables."""
        kept = [i for i, v in enumerate(self.vars) if v in used]
        return Domain(
            tuple(self.vars[i] for i in kept),
            tuple(self.starts[i] for i in kept),
            tuple(self.extents[i] for i in kept),
        )


@dataclass(frozen=True, slots=True)
class Leaf:
    """One statement of a nest. `loops` are the parallel loops around it, outermost first; `guards`
    hold for all of its elements or for none. A statement other than a store runs element by
    element."""

    loops: tuple[For, ...]
    guards: tuple[Expr, ...]
    stmt: Stmt

    @property
    def vars(self) -> tuple[Var, ...]:
        return tuple(loop.var for loop in self.loops)

    def ranges(self, known: Ranges) -> Ranges:
        """The known ranges where the statement stands."""
        for loop in self.loops:
            known = {**known, loop.var: loop_range(loop, known)}
        return known


class Unsuitable(Exception):
    """Why something cannot be a vector operation; the text completes «stays a loop: …». One with a
    `cure` is final: no instruction does it, and another text is better."""

    def __init__(self, reason: str, loc: Loc | None = None, cure: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.loc = loc
        self.cure = cure


def domain_of(loops: tuple[For, ...]) -> Domain:
    """The domain of nested loops. Raises Unsuitable when it is no rectangle."""
    variables = tuple(loop.var for loop in loops)
    for loop in loops:
        if any(p in variables for bound in (loop.start, loop.stop) for p in walk_expr(bound)):
            raise Unsuitable(f"the bounds of `{loop.var.name}` differ from row to row")
    return Domain(
        variables,
        tuple(loop.start for loop in loops),
        tuple(map(trip_count, loops)),
    )


class NoRoom(Unsuitable):
    """A tile of the compiler's does not fit the memory beside the buffers of the kernel."""

    def __init__(self, size: int, left: int) -> None:
        super().__init__(f"a tile of {size} bytes does not fit the {left} left in ub")
        self.size = size


# A value of every element in a tile of the compiler's: the store to it, and how it is read.
Keep = Callable[[Expr, tuple[For, ...], Loc], tuple[Store, Expr]]


def leaves(loop: For, keep: Keep) -> list[Leaf]:
    """The statements of a nest in order, with names replaced by their values. The name of a value
    that the nest changes is kept in a tile.

    Raises Unsuitable for operations, and where a value cannot be kept.
    """
    written = written_buffers((loop,))
    for stmt in walk((loop,)):
        if isinstance(stmt, (Op, Break, Section, While)):
            raise Unsuitable("it holds more than stores to elements", stmt.loc)
    return list(_leaves((loop,), (), (), {}, written, keep))


def _leaves(
    body: Body,
    loops: tuple[For, ...],
    guards: tuple[Expr, ...],
    names: dict[Var, Expr],
    written: Set[Buffer],
    keep: Keep,
) -> Iterator[Leaf]:
    for original in body:
        stmt = inlined(original, names)
        match stmt:
            case Let(var=var, value=value):
                if any(isinstance(p, Load) and p.buffer in written for p in walk_expr(value)):
                    store, value = keep(value, loops, stmt.loc)
                    yield Leaf(loops, guards, store)
                names = {**names, var: value}
            case For(kind=LoopKind.PARALLEL, body=inner):
                yield from _leaves(inner, (*loops, stmt), guards, names, written, keep)
            case If(condition=c, then=then, orelse=orelse) if _same_for_all(c, loops, written):
                yield from _leaves(then, loops, (*guards, c), names, written, keep)
                yield from _leaves(orelse, loops, (*guards, unary("not", c)), names, written, keep)
            case _:
                yield Leaf(loops, guards, stmt)


def inlined(stmt: Stmt, names: Mapping[Var, Expr]) -> Stmt:
    """A statement with the names around it replaced in all it contains."""
    if not names:
        return stmt
    (found,) = map_expressions((stmt,), partial(substitute, values=names))
    return found


def _same_for_all(condition: Expr, loops: tuple[For, ...], written: Set[Buffer]) -> bool:
    variables = {loop.var for loop in loops}
    return not any(
        p in variables or (isinstance(p, Load) and p.buffer in written)
        for p in walk_expr(condition)
    )


def loads_in(*exprs: Expr) -> Iterator[Load]:
    """Every element that expressions read, those inside indices included."""
    return (part for e in exprs for part in walk_expr(e) if isinstance(part, Load))


def loads_of(stmt: Stmt) -> Iterator[Load]:
    """Every element a statement reads, those inside it included."""
    return (load for inner in walk((stmt,)) for load in loads_in(*expressions(inner)))
