"""The steps of `insert_sync` for one section: dependences, reduce, place, eliminate, allocate.
Normalising comes before them, in `sections`, and writing after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tile_ir import Target
from tile_passes.order.channels import Plan
from tile_passes.order.completion import Completion, orders
from tile_passes.order.conflicts import conflicts
from tile_passes.order.eliminate_redundant import Stage, eliminate, reduce
from tile_passes.order.event_ids import Allocation, allocate_events
from tile_passes.order.flow_graph import FlowGraph, flow_graph
from tile_passes.order.placement import place
from tile_passes.order.tree import Tree


def plan_section(tree: Tree, target: Target) -> Allocation:
    """What orders one section, with event ids."""
    return _planned(flow_graph(tree, conflicts(tree)), target)


def plan_for(tree: Tree, wanted: Sequence[int], target: Target) -> Allocation:
    """What orders these conflicts of a section besides the flags of its author, which mostly do."""
    if not any(wanted):
        return Allocation(Plan())
    flow = flow_graph(tree, wanted)
    return Allocation(Plan()) if orders(flow, Plan()) else _planned(flow, target)


def _planned(flow: FlowGraph, target: Target) -> Allocation:
    return allocate_events(eliminate(place_all(flow)), target)


def place_all(flow: FlowGraph) -> Completion:
    """A plan for all that is left of the dependences, until a reduction under the plan finds
    nothing: that all is ordered on all paths."""
    plan = Plan()
    for stage in _before_all(flow.tree):
        plan = place(flow.tree, plan, reduce(flow, plan, stage).edges())
    while edges := (reduction := reduce(flow, plan)).edges():
        plan = place(flow.tree, plan, edges)
    return reduction


def _before_all(tree: Tree) -> Iterator[Stage]:
    """What of the section is worth a reduction of its own."""
    if not tree.flat:
        yield Stage.WITHIN_ROUNDS
        if tree.seldom:
            yield Stage.LIKELY
