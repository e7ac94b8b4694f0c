"""Move the first loads of a task in front of its wait: loads of tensors that no task of the launch
writes, such as weights, into memory that the task has not touched before.

At the end of a task a block has nothing in flight, so all its on-chip memory is free there. The
loads keep their order on their queue; the flags that order them follow as before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from tile_ir import (
    Alloc,
    Body,
    Break,
    Buffer,
    Effect,
    Expr,
    For,
    If,
    Let,
    Memory,
    Op,
    Pipe,
    Stmt,
    Var,
    binary,
    bodies,
    buffers_of,
    conjunction,
    expressions,
    map_own_expressions,
    not_equal,
    pipe_of,
    reads_memory,
    share_bytes,
    walk,
    walk_expr,
    with_bodies,
    with_statements,
)
from tile_ir.analysis import Ranges, interval, regions_of
from tile_ir.expr import substitute


@dataclass(frozen=True, slots=True)
class Prefetched:
    """The loads in front of the wait of a task, and the text of the task without them."""

    early: Body
    rest: Body


def prefetched(
    work: Body, allocs: Sequence[Alloc], fixed: Collection[Buffer], ranges: Ranges
) -> Prefetched:
    """Split the text of a task on one core; no task of its launch writes the tensors `fixed`."""
    defined = frozenset(s.var for s in walk(work) if isinstance(s, (For, Let)))
    mover = _Mover(allocs, fixed, defined, ranges)
    rest = mover.body(work, {}, ())
    return Prefetched(tuple(mover.early), rest)


# The loops and branches around a statement, outer before inner.
Frames = tuple[For | If, ...]


@dataclass
class _Mover:
    """Follows the first iteration of a text, up to the first statement with an unknown way on."""

    allocs: Sequence[Alloc]
    fixed: Collection[Buffer]
    defined: frozenset[Var]
    ranges: Ranges
    early: list[Stmt] = field(default_factory=list)
    passed: set[Buffer] = field(default_factory=set)
    known: bool = True

    def __post_init__(self) -> None:
        self.places = {a.buffer: a for a in self.allocs}
        self.roots = {a.buffer: a.alias_of for a in self.allocs if a.alias_of is not None}

    def body(self, body: Body, values: Mapping[Var, Expr], frames: Frames) -> Body:
        """The statements that stay; `values` has those of variables in the first iteration."""
        here = dict(values)
        stay: list[Stmt] = []
        for stmt in body:
            new = self._stays(stmt, here, frames) if self.known else None
            stay += [stmt] if new is None else new
        return with_statements(body, stay)

    def _stays(self, stmt: Stmt, values: dict[Var, Expr], frames: Frames) -> Sequence[Stmt] | None:
        """The statements in place of one; None if it stays as it is."""
        match stmt:
            case Let(var=var, value=value) if not reads_memory(value):
                values[var] = substitute(value, values)
                return None
            case For(var=var, start=start):
                first = {**values, var: substitute(start, values)}
                new = self._inside(stmt, first, frames)
                # The statements behind the loop follow all its iterations.
                self.known = False
                return new
            case If(condition=c, orelse=()) if self._early(substitute(c, values)):
                return self._inside(stmt, values, frames)
            case Op() if self._may_move(stmt, values):
                return self._moved(stmt, values, frames)
        self.passed.update(*(buffers_of(s) for s in walk((stmt,))))
        self.known = not any(isinstance(s, Break) for s in walk((stmt,)))
        return None

    def _inside(self, stmt: For | If, values: Mapping[Var, Expr], frames: Frames) -> Sequence[Stmt]:
        body, *others = bodies(stmt)
        new = self.body(body, values, (*frames, stmt))
        return (with_bodies(stmt, (new, *others)),)

    def _moved(self, op: Op, values: Mapping[Var, Expr], frames: Frames) -> Sequence[Stmt]:
        """Load in front of the wait, if the first iteration runs; what stays is for later ones."""
        first = map_own_expressions(op, lambda e: substitute(e, values))
        runs = [substitute(_runs(frame), values) for frame in frames]
        self._do_early(first, [c for c in runs if interval(c, self.ranges).low != 1])
        later = [not_equal(f.var, f.start) for f in frames if isinstance(f, For)]
        again = Op(op.opdef, op.operands, op.attrs, op.loc)
        return (If(reduce(partial(binary, "or"), later), (again,), (), op.loc),) if later else ()

    def _do_early(self, stmt: Stmt, conditions: Sequence[Expr]) -> None:
        if not conditions:
            self.early.append(stmt)
            return
        due, latest = conjunction(conditions), self.early[-1] if self.early else None
        if isinstance(latest, If) and latest.condition == due:
            self.early[-1] = replace(latest, then=(*latest.then, stmt))
        else:
            self.early.append(If(due, (stmt,), (), stmt.loc))

    def _may_move(self, op: Op, values: Mapping[Var, Expr]) -> bool:
        if op.opdef.effect is not Effect.DATA or pipe_of(op) is not Pipe.MTE2:
            return False
        if not all(self._early(substitute(e, values)) for e in expressions(op)):
            return False
        regions = list(regions_of(op))
        reads = [r.buffer for r, access, _, _ in regions if access.reads]
        target = [r.buffer for r, access, _, _ in regions if access.writes]
        outside = all(b.memory is Memory.GM and self._root(b) in self.fixed for b in reads)
        return outside and bool(target) and all(map(self._free, target))

    def _early(self, expr: Expr) -> bool:
        """Whether an expression has its value in front of the wait."""
        return not reads_memory(expr) and self.defined.isdisjoint(walk_expr(expr))

    def _free(self, target: Buffer) -> bool:
        """Whether no statement before touches the bytes of a buffer."""
        place = self.places.get(self._root(target))
        if place is None or place.address is None:
            return False
        others = [self.places.get(self._root(b)) for b in self.passed if b.memory is target.memory]
        return not any(o is None or o is place or share_bytes(place, o) for o in others)

    def _root(self, buffer: Buffer) -> Buffer:
        return self.roots.get(buffer) or buffer


def _runs(frame: For | If) -> Expr:
    """The condition on which the first iteration of a loop or a branch runs."""
    return frame.condition if isinstance(frame, If) else binary("<", frame.start, frame.stop)
