"""Move the first loads of a task in front of its wait: loads of tensors that no task of the launch
writes, such as weights, into memory that the task has not touched before.

At the end of a task a block has nothing in flight, so all its on-chip memory is free there. The
loads keep their order on their queue; the flags that order them follow as before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
    buffers_of,
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

    def body(self, body: Body, values: Mapping[Var, Expr], loops: tuple[For, ...]) -> Body:
        """The statements that stay; `values` has those of variables in the first iteration."""
        here = dict(values)
        stay: list[Stmt] = []
        for stmt in body:
            new = self._stays(stmt, here, loops) if self.known else None
            stay += [stmt] if new is None else new
        return with_statements(body, stay)

    def _stays(
        self, stmt: Stmt, values: dict[Var, Expr], loops: tuple[For, ...]
    ) -> Sequence[Stmt] | None:
        """The statements in place of one; None if it stays as it is."""
        match stmt:
            case Let(var=var, value=value) if not reads_memory(value):
                values[var] = substitute(value, values)
                return None
            case For(var=var, start=start, body=body) if self._surely_runs(stmt, values):
                new = self.body(body, {**values, var: substitute(start, values)}, (*loops, stmt))
                # The statements behind the loop follow all its iterations.
                self.known = False
                return (with_bodies(stmt, (new,)),)
            case Op() if self._may_move(stmt, values):
                return self._moved(stmt, values, loops)
        self.passed.update(*(buffers_of(s) for s in walk((stmt,))))
        self.known = not any(isinstance(s, Break) for s in walk((stmt,)))
        return None

    def _moved(self, op: Op, values: Mapping[Var, Expr], loops: tuple[For, ...]) -> Sequence[Stmt]:
        """Load in front of the wait for the first iteration; what stays is for later ones."""
        self.early.append(map_own_expressions(op, lambda e: substitute(e, values)))
        later = [not_equal(loop.var, loop.start) for loop in loops]
        again = Op(op.opdef, op.operands, op.attrs, op.loc)
        return (If(reduce(partial(binary, "or"), later), (again,), (), op.loc),) if later else ()

    def _surely_runs(self, loop: For, values: Mapping[Var, Expr]) -> bool:
        """Whether a loop has a first iteration: a load under a condition could leave the memory
        that later statements read as an earlier task left it."""
        runs = substitute(binary("<", loop.start, loop.stop), values)
        return interval(runs, self.ranges).low == 1

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
