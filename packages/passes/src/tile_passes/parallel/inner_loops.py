"""Serial loops inside a nest, turned inside out: each iteration becomes a nest of its own.

Iterations of the nest are independent, so all of them may do an iteration before the next one
starts. Where their numbers of iterations differ, those that have no more are left alone by a
condition."""

from __future__ import annotations

from collections.abc import Set

from tile_ir import (
    Automatic,
    Body,
    Const,
    Expr,
    For,
    If,
    Load,
    LoopKind,
    Stmt,
    binary,
    cast,
    constant_value,
    simplify,
    walk_expr,
    written_buffers,
)
from tile_ir.analysis import Ranges, constant_trips, interval
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import Leaf
from tile_passes.parallel.nest_form import is_loop_of_lines

# Of more iterations than these, most of which may do nothing, each iteration runs its own.
MOST_ITERATIONS = 4096


def iterations_outside(leaf: Leaf, known: Ranges) -> For | None:
    """The serial loop that a leaf is, around a nest; `known` is what is known inside that. None
    where the iterations have no bounds that are known before the nest."""
    loop = leaf.stmt
    if not isinstance(loop, For) or loop.kind not in (LoopKind.SERIAL, LoopKind.UNROLL):
        return None
    written = written_buffers((loop,))
    if any(
        isinstance(p, Load) and p.buffer in written for e in _bounds(loop) for p in walk_expr(e)
    ):
        return None
    low, high = (_for_all(e, leaf) for e in _bounds(loop))
    if low and high:
        return replace(loop, body=_nest(leaf, loop.body))
    start = loop.start if low else _limit(interval(loop.start, known).low, loop)
    stop = loop.stop if high else _limit(interval(loop.stop, known).high, loop)
    if start is None or stop is None:
        return None
    first, last = constant_value(simplify(start)), constant_value(simplify(stop))
    if first is None or last is None or last - first > MOST_ITERATIONS:
        return None
    has_round: Expr | None = None
    if not low:
        has_round = binary(">=", loop.var, loop.start)
    if not high:
        below = binary("<", loop.var, loop.stop)
        has_round = below if has_round is None else binary("and", has_round, below)
    assert has_round is not None, "some bound differs"
    body = (If(has_round, loop.body, (), loop.loc),)
    return replace(loop, start=start, stop=stop, body=_nest(leaf, body))


def _bounds(loop: For) -> tuple[Expr, Expr]:
    return loop.start, loop.stop


def _for_all(bound: Expr, leaf: Leaf) -> bool:
    return not any(p in leaf.vars for p in walk_expr(bound))


def _limit(value: float, loop: For) -> Expr | None:
    """A bound of intervals as one of the loop; None for none."""
    if abs(value) > 1 << 30:
        return None
    return cast(Const(int(value)), loop.var.dtype)


def _nest(leaf: Leaf, body: Body) -> Body:
    for loop in reversed(leaf.loops):
        body = (replace(loop, body=body),)
    return body


def overlapping(stmt: Stmt, automatic: Set[Automatic]) -> Stmt:
    """Leave a loop of lines that are no nest of two dimensions to the scheduler: while they wait
    for those of the iteration before, the vector pipe can take those of another."""
    free = {Automatic.SYNC, Automatic.ITERATIONS} <= automatic
    if not free or not is_loop_of_lines(stmt) or constant_trips(stmt) in (0, 1):
        return stmt
    return replace(stmt, kind=LoopKind.PIPELINED, stages=0)
