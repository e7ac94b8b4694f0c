"""A loop whose statements stand in stages, written as a loop: what it means in the order of its
text stays, so that all later passes and checks treat it as any other.

Round `i` of the new loop has round `i - k` of stage `k`. The loop runs the rounds that have all
stages, so that nothing is asked in it; those before and behind it stand alone. With fewer rounds
than that takes, the loop is the one it was. Says nothing about which stages there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from tile_ir import (
    Alloc,
    Body,
    Buffer,
    Expr,
    For,
    If,
    Let,
    Stmt,
    Var,
    bodies,
    buffers_of,
    map_expressions,
    reads_memory,
    replace_buffers,
    simplify,
    substitute,
    walk,
    with_bodies,
)
from tile_ir.analysis import Ranges, decided, trip_count
from tile_passes.free_names import FreeNames
from tile_passes.pipelining.modulo_schedule import Arrangement
from tile_passes.pipelining.round_units import Unit


@dataclass(slots=True)
class Again:
    """Writes statements once more: with free names, and the working memory of the function by
    buffer, to which it adds."""

    names: FreeNames
    scratch: dict[Buffer, Alloc]
    added: list[Alloc] = field(default_factory=list)

    def fresh(self, name: str) -> str:
        return self.names.fresh(name)

    def written(self, body: Body) -> Body:
        """The statements once more, with working memory of their own: what is done again elsewhere
        does not need the same bytes, and would keep them from all that is done in between."""
        used = dict.fromkeys(b for s in walk(body) for b in buffers_of(s) if b in self.scratch)
        new: dict[Buffer, Buffer] = {}
        for buffer in used:
            new[buffer] = replace(buffer, name=self.fresh(buffer.name))
            self.added.append(replace(self.scratch[buffer], buffer=new[buffer]))
            self.scratch[new[buffer]] = self.added[-1]
        return _copied(replace_buffers(body, new) if new else body)


def _copied(body: Body) -> Body:
    """Other objects: a statement has one place in the text."""
    return tuple(replace(with_bodies(s, tuple(_copied(b) for b in bodies(s)))) for s in body)


def skewed(loop: For, arrangement: Arrangement, again: Again, known: Ranges) -> Body:
    """The statements in place of a serial loop with the units of the arrangement; `known` are the
    intervals of what is visible there."""
    before: list[Stmt] = []

    def named(bound: Expr, what: str) -> Expr:
        """What is asked again behind the loop has one value."""
        if not reads_memory(bound):
            return bound
        var = Var(again.fresh(f"{loop.var.name}_{what}"), bound.dtype)
        before.append(Let(var, bound, loop.loc))
        return var

    loop = replace(loop, start=named(loop.start, "start"), stop=named(loop.stop, "stop"))
    pipelined = tuple(_Skew(loop, arrangement, again).written())
    enough = simplify(trip_count(loop) >= arrangement.last)
    always = decided(enough, known)
    if always is None:
        plain = again.written((loop,))
        return (*before, If(enough, pipelined, plain, loop.loc))
    return (*before, *(pipelined if always else (loop,)))


@dataclass(frozen=True, slots=True)
class _Skew:
    loop: For
    arrangement: Arrangement
    again: Again

    def written(self) -> Iterator[Stmt]:
        last, start, stop = self.arrangement.last, self.loop.start, self.loop.stop
        for turn in range(last):
            yield from self.alone(start + turn, range(turn + 1))
        body = tuple(s for u in self.arrangement.units for s in self.unit(u, self.loop.var))
        yield replace(self.loop, start=simplify(start + last), body=body)
        for turn in range(last):
            yield from self.alone(stop + turn, range(turn + 1, last + 1))

    def alone(self, number: Expr, stages: range) -> Iterator[Stmt]:
        """A round outside of the loop, which has some of the stages."""
        for unit in self.arrangement.units:
            if self.arrangement.stage[unit] in stages:
                yield from self.again.written(self.unit(unit, number))

    def unit(self, unit: Unit, number: Expr) -> Body:
        """The statements of a unit in a new round."""
        at = simplify(number - self.arrangement.stage[unit])
        values: dict[Var, Expr] = {} if at == self.loop.var else {self.loop.var: at}
        found: list[Stmt] = []
        for stmt in unit.stmts:
            (stmt,) = map_expressions((stmt,), partial(substitute, values=dict(values)))
            if isinstance(stmt, Let):
                var = replace(stmt.var, name=self.again.fresh(stmt.var.name))
                values[stmt.var] = var
                stmt = replace(stmt, var=var)
            found.append(stmt)
        return tuple(found)


__all__ = ["Again", "skewed"]
