"""The form of a nest in the text: what is one, how many dimensions it has, and where serial loops
around lines are one of two dimensions."""

from __future__ import annotations

from typing import TypeGuard

from tile_ir import For, LoopKind, Memory, Stmt, walk_expr
from tile_passes.parallel.nest import Leaf, loads_of

# The dimensions of a tile: the inner ones of a nest that has more.
MOST_DIMENSIONS = 2
# The elements in a part of a line that has no room as a whole: shorter instructions take longer.
LEAST_PART = 64


def is_parallel(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and stmt.kind is LoopKind.PARALLEL


def is_loop_of_lines(stmt: Stmt) -> TypeGuard[For]:
    """Whether a serial loop holds one-dimensional nests and nothing else."""
    return (
        isinstance(stmt, For)
        and stmt.kind is LoopKind.SERIAL
        and bool(stmt.body)
        and all(is_parallel(s) and not any(map(is_parallel, s.body)) for s in _loops(stmt))
        and len(_loops(stmt)) == len(stmt.body)
    )


def takes_element_of_row(leaf: Leaf) -> bool:
    """Whether all elements of a row meet one element of ub."""
    return any(
        load.buffer.memory is Memory.UB
        and not any(leaf.vars[-1] in walk_expr(index) for index in load.indices)
        for load in loads_of(leaf.stmt)
    )


def _loops(loop: For) -> tuple[For, ...]:
    return tuple(s for s in loop.body if isinstance(s, For))
