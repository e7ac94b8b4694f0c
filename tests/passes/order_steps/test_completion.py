"""`completion` never knows less for more sync ops: what `needed`, `eliminate` and the spills rest on."""

from __future__ import annotations

import random

import pytest

from order_steps.random_sections import kernel_flows
from tile_ir.machine import Pipe
from tile_passes.insert_sync import place_all
from tile_passes.order.channels import Barrier, Flag, Plan, Reason, SyncOp, point_to_point
from tile_passes.order.completion import Completion
from tile_passes.order.flow_graph import FlowGraph
from tile_passes.order.tree import Block, Branch, Instance, Repeat, Work
from tile_passes.order.worklist import State


class Unstopped(Completion):
    """The analysis of plans that do not order everything."""

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        pass


def entries(flow: FlowGraph, plan: Plan) -> list[list[int] | None]:
    """What every pipe knows of instances and of earlier runs where each basic block begins."""
    found = Unstopped(flow, plan)
    found.solve()
    facts = (1 << flow.tree.free_bit()) - 1
    pipes = range(len(flow.tree.pipes))
    return [
        None if s is None else [found.knows(pipe, s.known) & facts for pipe in pipes]
        for s in found.entries
    ]


def blocks_of(flow: FlowGraph) -> list[Block]:
    found = [flow.tree.root]
    for item in flow.tree.root.walk():
        if isinstance(item, Branch):
            found += [item.then, item.orelse]
        if isinstance(item, Repeat):
            found.append(item.body)
    return found


def any_op(rng: random.Random, flow: FlowGraph) -> SyncOp:
    """Of any kind, anywhere, whether it orders anything or not."""
    work = [item for item in flow.tree.root.walk() if isinstance(item, Work)]
    reason = Reason(rng.choice(work), rng.choice(work))
    block = rng.choice(blocks_of(flow))
    source, target = rng.choice(sorted(flow.tree.flag_pairs, key=str))
    position = rng.randint(0, len(block.items))
    kind = rng.random()
    if kind < 0.2:
        return Barrier(rng.choice((*flow.tree.pipes, Pipe.ALL)), block, position, reason)
    if kind < 0.5 or not block.items:
        return point_to_point(source, target, (block, position, False), reason)
    first = rng.randrange(len(block.items))
    if block.loop is None or rng.random() < 0.4:
        return Flag(
            source, target, block, first, rng.randint(first + 1, len(block.items)), 0, 1, reason
        )
    loop = block.loop
    slots = rng.choice([s for s in range(1, loop.modulus + 1) if loop.modulus % s == 0])
    return Flag(source, target, block, first, rng.randint(0, first), slots, slots, reason)


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_more_ops_are_never_less_known(first: int) -> None:
    more = 0
    for seed in range(first, first + 25):
        rng = random.Random(seed)
        for flow in kernel_flows(seed):
            ops = [*place_all(flow).plan.ops, *(any_op(rng, flow) for _ in range(4))]
            for _ in range(3):
                many = [op for op in ops if rng.random() < 0.8]
                few = [op for op in many if rng.random() < 0.7]
                pairs = zip(entries(flow, Plan(few)), entries(flow, Plan(many)), strict=True)
                for a, b in pairs:
                    assert (a is None) == (b is None)
                    if a is not None and b is not None:
                        assert not any(x & ~y for x, y in zip(a, b, strict=True)), seed
                        more += a != b
    assert more > 100
