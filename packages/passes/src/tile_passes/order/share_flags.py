"""Let loops in a row take the same flags in turn.

The flag of a slot goes on from the last iteration of one loop to the first of the next, so that
flags between the loops may go.

Needs: a plan that orders everything. Gives: one from which the rest follows by `place`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tile_ir.quick_dataclasses import replace
from tile_passes.order.channels import Flag, Plan


def shared(plan: Plan, ring: Sequence[Flag]) -> Plan:
    """The plan with these flags as one, without the others of the pair in the blocks around."""
    outer = _between(plan, ring)
    why = "loops in a row take it in turn"
    one = (replace(op, shared=True, reason=replace(op.reason, why=why)) for op in ring)
    return plan.without(*ring, *outer).with_ops(*one)


def rings(plan: Plan) -> list[list[Flag]]:
    """Flags that could be one, with others of the pair in the blocks around. No iteration takes one
    while another is held, and each gives back what it takes, so that all slots are raised whenever
    the next loop begins."""
    alike: dict[object, list[Flag]] = defaultdict(list)
    for op in plan.flags:
        if op.carried and op.by_slot and not op.local:
            ring = alike[replace(op, shared=True).identity]
            if all(_apart(op, other) for other in ring):
                ring.append(op)
    return [ring for ring in alike.values() if len(ring) > 1 and _between(plan, ring)]


def _between(plan: Plan, ring: Sequence[Flag]) -> list[Flag]:
    around = {block for op in ring for block in op.block.outward() if block is not op.block}
    return [op for op in plan.flags if op.pair == ring[0].pair and op.block in around]


def _apart(one: Flag, other: Flag) -> bool:
    """Whether neither is held, from its wait to its set, while the other is taken."""
    blocks = [*other.block.outward()]
    around = next(block for block in one.block.outward() if block in blocks)
    held = []
    for op in (one, other):
        place, owner = (op.wait_before, op.set_after), op.block.owner
        held.append(place if op.block is around or owner is None else (around.place(owner),) * 2)
    return held[0][1] < held[1][0] or held[1][1] < held[0][0]
