"""Expression clean-up: canonical integer forms, names of constants, decided branches, loops that do
not run or run once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

from tile_ir import (
    Body,
    Const,
    Expr,
    For,
    Func,
    If,
    Let,
    LoopKind,
    Phase,
    Section,
    Stmt,
    Target,
    Var,
    bodies,
    breaks,
    map_own_expressions,
    reads_memory,
    substitute,
    variables_of,
    walk,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import (
    Ranges,
    is_settled,
    launch_ranges,
    narrow,
    ranges_inside,
    trips,
    with_ranges,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.passdef import ir_pass

# What is put in for names: constant integers and truths, and the only values of loop variables.
Values = Mapping[Var, Expr]
# Loops whose iterations come one after another, whatever else they say.
_IN_TURN = (LoopKind.SERIAL, LoopKind.UNROLL, LoopKind.PIPELINED)


@ir_pass(needs=Phase.BUILT, optional=True, folds=True)
def simplify(func: Func, target: Target) -> Func:
    """Simplify every expression with the ranges of loop and launch variables.

    Needs, gives: any phase. Idea: constant propagation and intervals, top-down. A loop with one
    iteration becomes its body; a pipelined loop only where it belongs to one kind of core: in a
    section, and from SPLIT on. Limits: no relations between variables are used. Names of floats
    stay, because float operations are left to run time.
    """
    defined = (s.var.name for s in walk(func.launch.body) if isinstance(s, (For, Let)))
    twice = frozenset(name for name, count in Counter(defined).items() if count > 1)
    ordered = func.phase >= Phase.SPLIT
    simplifier = _Simplifier(twice, ordered, of_one_core=ordered)
    return func.with_body(simplifier.body(func.launch.body, launch_ranges(func), {}))


@dataclass(frozen=True, slots=True)
class _Simplifier:
    """`twice` has the names that stand for more than one value, each in its own block. `ordered`:
    cores have been ordered. `of_one_core`: the stages of a loop belong to one kind of core, so that
    a pipelined loop of one iteration says nothing more."""

    twice: frozenset[str]
    ordered: bool
    of_one_core: bool

    def body(self, body: Body, ranges: Ranges, values: Values) -> Body:
        result: list[Stmt] = []
        found: dict[Expr, Expr] = {}
        for stmt, known in with_ranges(body, ranges):
            if known is not ranges:
                ranges, found = known, {}
            plain = stmt
            if not (is_settled(stmt) and values.keys().isdisjoint(variables_of(stmt))):
                narrowed = partial(_narrowed, ranges=known, values=values, found=found)
                plain = map_own_expressions(stmt, narrowed)
            match plain:
                case Let(var=var, value=Const() as value) if not var.dtype.is_float:
                    values = {**values, var: value}
                case _:
                    result += self.pieces(plain, known, values)
        return with_statements(body, result)

    def pieces(self, stmt: Stmt, known: Ranges, values: Values) -> Body:
        """The rest of a statement once its inner statements are simplified."""
        inner = bodies(stmt)
        if not inner:
            return (stmt,)
        match stmt:
            case If(condition=Const(value=value)):
                taken = stmt.then if value else stmt.orelse
                # What is behind a break that is no branch's is nobody's: cores are ordered first.
                if self.ordered or not any(breaks(taken)):
                    return self.body(taken, known, values)
            case For(var=var, start=start, kind=kind) if kind in _IN_TURN:
                iterations = trips(stmt, known)
                if iterations.high <= 0:
                    return ()
                if iterations.value == 1 and self.has_place_around(stmt):
                    return self.body(stmt.body, known, {**values, var: start})
        within = replace(self, of_one_core=True) if isinstance(stmt, Section) else self
        inside = ranges_inside(stmt, known)
        new = tuple([within.body(b, inside, values) for b in inner])
        return (with_bodies(stmt, new),)

    def has_place_around(self, loop: For) -> bool:
        """Whether the statements of a loop mean the same in the block around it."""
        if loop.kind is LoopKind.PIPELINED and not self.of_one_core:
            return False
        if reads_memory(loop.start) or any(breaks(loop.body)):
            return False
        return not any(isinstance(s, Let) and s.var.name in self.twice for s in loop.body)


def _narrowed(expr: Expr, ranges: Ranges, values: Values, found: dict[Expr, Expr]) -> Expr:
    if isinstance(expr, Const) or (isinstance(expr, Var) and expr not in values):
        return expr  # nearly always
    new = narrow(substitute(expr, values), ranges, found)
    return expr if new == expr else new
