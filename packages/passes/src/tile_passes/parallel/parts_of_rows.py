"""A store whose tiles have no room for all of its rows: as many rows at a time as they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tile_ir import (
    Expr,
    For,
    LoopKind,
    Stmt,
    Store,
    as_expr,
    map_expressions,
    simplify,
    substitute,
)
from tile_ir.analysis import Ranges, constant_trips, loop_range
from tile_ir.quick_dataclasses import replace
from tile_passes.parallel.nest import Leaf, Unsuitable
from tile_passes.parallel.nest_form import LEAST_PART
from tile_passes.parallel.temporaries import Temporaries

# Numbers of parts that need not be of one size.
MOST_UNEQUAL = 16
# A store over a domain, or its rows. Raises Unsuitable.
Steps = Callable[[Store, Leaf, Ranges], list[Stmt]]


def parts_of_rows(
    leaf: Leaf, known: Ranges, steps_of: Steps, temporaries: Temporaries
) -> tuple[int, list[Stmt]] | None:
    """How many rows, or elements of a line, a part has, and the steps for all parts; None where not
    even the least part has room."""
    outer, *inner = leaf.loops
    trips, least = constant_trips(outer) or 1, 2 if inner else LEAST_PART
    sizes = {n for n in range(least, trips // 2 + 1) if trips % n == 0}
    sizes |= {n for k in range(2, MOST_UNEQUAL + 1) if (n := -(-trips // k)) >= least}
    for count in sorted(sizes, reverse=True):
        made = len(temporaries.allocs)
        try:
            return count, _steps(leaf, count, trips, known, steps_of, temporaries)
        except Unsuitable:  # fewer rows have room, and may start at whole blocks
            temporaries.forget_since(made)
    return None


def _steps(
    leaf: Leaf, count: int, trips: int, known: Ranges, steps_of: Steps, temporaries: Temporaries
) -> list[Stmt]:
    outer = leaf.loops[0]
    part = temporaries.builder.scalar(outer.var.name)
    loop = For(part, as_expr(0), as_expr(trips // count), LoopKind.SERIAL, (), outer.loc)
    inside = {**known, part: loop_range(loop, known)}
    start = simplify(outer.start + part * count)
    steps = _rows_from(leaf, start, count, inside, steps_of, temporaries)
    result: list[Stmt] = [replace(loop, body=tuple(steps))]
    rest = trips % count
    if rest:
        temporaries.give_back_all()
        start = simplify(outer.start + trips // count * count)
        result += _rows_from(leaf, start, rest, known, steps_of, temporaries)
    return result


def _rows_from(
    leaf: Leaf, start: Expr, count: int, known: Ranges, steps_of: Steps, temporaries: Temporaries
) -> list[Stmt]:
    outer, *inner = leaf.loops
    row = temporaries.builder.scalar(outer.var.name)
    values = {outer.var: simplify(start + row)}
    (moved,) = map_expressions((leaf.stmt,), partial(substitute, values=values))
    assert isinstance(moved, Store), "a store is taken in parts"
    several = replace(outer, var=row, start=as_expr(0), stop=as_expr(count))
    inside = {**known, row: loop_range(several, known)}
    return steps_of(moved, Leaf((several, *inner), (), moved), inside)
