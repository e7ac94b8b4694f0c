"""Check that each scalar store to gm goes to a line of the data cache that no other core writes."""

from __future__ import annotations

from collections.abc import Set

from tile_ir import (
    CACHE_LINE_BYTES,
    Buffer,
    Expr,
    For,
    Func,
    Let,
    Op,
    Store,
    Var,
    accesses,
    constant_value,
    expressions,
    linear_form,
    walk,
    walk_expr,
)
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnLines:
    """Facts of one function: `of_block` are the names whose values differ from block to block,
    `moved` the tensors that transfers store to."""

    alone: bool  # there is one block
    same_lanes: bool  # both vector cores of a block do the same
    of_block: frozenset[Var]
    moved: frozenset[Buffer]

    @staticmethod
    def in_function(func: Func) -> OwnLines:
        launch = func.launch
        varying = {launch.block}
        lanes = False
        for stmt in walk(launch.body):
            used = {p for e in expressions(stmt) for p in walk_expr(e)}
            lanes = lanes or launch.lane in used
            match stmt:
                case Let(var=var, value=start) | For(var=var, start=start):
                    if _follows(start, varying):
                        varying.add(var)
        ops = (s for s in walk(launch.body) if isinstance(s, Op))
        moved = frozenset(r.buffer for op in ops for r, access in accesses(op) if access.writes)
        alone = constant_value(launch.blocks) == 1
        return OwnLines(alone, not lanes, frozenset(varying), moved)

    def has(self, store: Store, one_lane: bool) -> bool:
        """Whether the lines of a store are its core's alone: rows are whole lines, and every block
        has rows of its own. `one_lane`: one of the two vector cores does it."""
        buffer = store.buffer
        width = constant_value(buffer.shape[-1])
        whole = width is not None and width * buffer.dtype.bits % (8 * CACHE_LINE_BYTES) == 0
        if not whole or buffer in self.moved:
            return False
        apart = self.alone or any(_follows(i, self.of_block) for i in store.indices[:-1])
        return apart and (one_lane or self.same_lanes)


def _follows(index: Expr, names: Set[Var]) -> bool:
    """Whether an index is another one wherever one of the names is: not so in `i // 2`."""
    terms, _ = linear_form(index)
    return any(step and atom in names for atom, step in terms.items())
