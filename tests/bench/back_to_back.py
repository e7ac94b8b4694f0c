"""The order that other compilers make: set and wait back to back, right before each consumer.

It covers what `insert_sync` covers, by the same dependences and the same analysis, but nothing runs
while the consumer's pipe comes up to its place. It is there to be measured against, and no part of
the pipeline: flags may be set again before it is known that the last wait is over.
"""

from __future__ import annotations

from tile_ir import Automatic, Func, Phase, Pipe, Target
from tile_passes.insert_sync import order_sections
from tile_passes.order.channels import Barrier, Plan, Reason, SyncOp, point_to_point
from tile_passes.order.completion import Completion
from tile_passes.order.conflicts import conflicts
from tile_passes.order.event_ids import Allocation, colour, live_flags
from tile_passes.order.flow_graph import FlowGraph, flow_graph
from tile_passes.order.tree import Instance, Tree
from tile_passes.order.worklist import State
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.PLANNED, optional=True)
def insert_back_to_back(func: Func, target: Target) -> Func:
    """Insert a set and its wait back to back, right before each consumer.

    Needs, gives: PLANNED. Idea: the dependences of `insert_sync`; whatever a pipe is not ordered
    after it waits for where it needs it. Limits: in no pipeline; measurements put it in the place
    of `insert_sync`.
    """
    if Automatic.SYNC not in func.automatic:
        return func
    return order_sections(func, target, plan_back_to_back)


def plan_back_to_back(tree: Tree, target: Target) -> Allocation:
    """A set and wait at every instance for each pipe it would otherwise not be ordered after."""
    flow = flow_graph(tree, conflicts(tree))
    placing = _Placing(flow)
    placing.solve()
    plan = Plan(placing.found)
    events, failed = colour(live_flags(flow, plan), target)
    return Allocation(plan, {**events, **dict.fromkeys(failed, 0)})


class _Placing(Completion):
    """Notes what is missing, where it is missing, and goes on as if it were there."""

    def __init__(self, flow: FlowGraph) -> None:
        super().__init__(flow, Plan())
        self.found: dict[SyncOp, None] = {}

    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        target = self.index[instance.item.pipe]
        for source, own in enumerate(self.own):
            if missing := need & own:
                _, earlier, _ = next(self.tree.facts_of(missing))
                op = self.op(source, instance, Reason(earlier.item, instance.item))
                self.found[op] = None
                if isinstance(op, Barrier):
                    self.stop(-1 if op.pipe is Pipe.ALL else source, state)
                else:
                    self.learn(target, own | self.knows(source, state.known), state)

    def op(self, source: int, instance: Instance, reason: Reason) -> SyncOp:
        item, pipe = instance.item, self.tree.pipes[source]
        if pipe is item.pipe:
            return Barrier(pipe, item.block, item.position, reason)
        if (pipe, item.pipe) not in self.tree.flag_pairs:
            return Barrier(Pipe.ALL, item.block, item.position, reason)
        return point_to_point(pipe, item.pipe, (item.block, item.position, False), reason)
