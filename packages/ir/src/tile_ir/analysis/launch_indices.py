"""Find out whether a kernel uses its block and vector core indices, with hints if it does not.

Without an index all blocks or vector cores do the same work, and no order between them makes that
right.
"""

from __future__ import annotations

from tile_ir.expr import Var
from tile_ir.expr import walk_expr as walk_expression
from tile_ir.nodes import Func
from tile_ir.traversal import expressions, walk


def uses_lane(func: Func) -> bool:
    """Whether anything depends on the number of the vector core."""
    return _uses(func, func.launch.lane)


def uses_block(func: Func) -> bool:
    """Whether anything depends on the number of the block."""
    return _uses(func, func.launch.block)


def own_lane_part(func: Func) -> str:
    """The hint that gives each vector core its own part of the work."""
    if func.launch.threads == 2:  # each has its part, by the compiler
        return (
            "both vector cores reach these bytes: keep what is read apart from what is written, "
            "in the arguments of the call too, or write `threads=1`"
        )
    lane = func.launch.lane.name
    return f"index by `{lane}`, or guard with `if {lane} == 0`, or write `threads=2`"


def own_block_part(func: Func) -> str:
    """The hint that gives each block its own part of the work."""
    block = func.launch.block.name
    return f"index by `{block}`, or guard with `if {block} == 0`, or launch one block"


def _uses(func: Func, index: Var) -> bool:
    return any(
        index in walk_expression(e) for stmt in walk(func.launch.body) for e in expressions(stmt)
    )
