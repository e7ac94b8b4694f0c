"""Which operations of a loop take slots in turn, one after the other over all iterations: those
whose turns the compiler orders phase by phase. How it finds the phases is in `tile_ir.analysis`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from tile_ir import Automatic, Body, Break, Expr, For, Func, Op, While, bodies, simplify, walk
from tile_ir.analysis import MOST_RESIDUES, constant_trips, modulus_of

SLOTS = 2


def turns_in(loop: For, func: Func, turns_of: Callable[[Op], int]) -> Mapping[Op, Expr]:
    """The number of the first turn of each operation that stands in the loop, but not in another of
    several iterations inside it, counted over its iterations; `turns_of` says how many an operation
    takes.

    Nothing where slots `number % SLOTS` would not be ordered slot by slot: a break, or a period of
    the user's that would make too many residues, leave no slots."""
    if Automatic.SYNC not in func.automatic:
        return {}
    if any(isinstance(stmt, Break) for stmt in walk(loop.body)):
        return {}
    taken = [(op, count) for op in _own(loop.body) if (count := turns_of(op))]
    if not taken or math.lcm(modulus_of(loop, {}), SLOTS) > MOST_RESIDUES:
        return {}
    each = sum(count for _, count in taken)
    # Slots are the same in every iteration, unless the turns of an iteration are odd.
    before = loop.var * (each % SLOTS)
    found: dict[Op, Expr] = {}
    for op, count in taken:
        found[op] = simplify(before)
        before = before + count
    return found


def has_turns(loop: For) -> bool:
    """Whether operations in it take turns of its own, and not those of a loop around: it has more
    than one iteration."""
    return constant_trips(loop) != 1


def _own(body: Body) -> Iterator[Op]:
    for stmt in body:
        if isinstance(stmt, Op):
            yield stmt
        elif not isinstance(stmt, While) and not (isinstance(stmt, For) and has_turns(stmt)):
            for inner in bodies(stmt):
                yield from _own(inner)
