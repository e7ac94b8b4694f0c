"""The order engine rests on networkx: without any of these calls it orders nothing any more."""

from __future__ import annotations

from unittest import mock

import networkx as nx
import pytest

from order_steps.random_sections import flow_of_slots, straight_line
from tile_ir import DEFAULT_TARGET
from tile_passes.insert_sync import place_all
from tile_passes.order.conflicts import conflicts
from tile_passes.order.eliminate_redundant import eliminate
from tile_passes.order.event_ids import Allocation, allocate_events
from tile_passes.order.flow_graph import flow_graph

# What the engine calls, and in which file it stands.
CALL_SITES = {
    "strongly_connected_components": "flow_graph",
    "condensation": "flow_graph",
    "lexicographical_topological_sort": "flow_graph",
    "MultiDiGraph": "eliminate_redundant",
    "transitive_reduction": "eliminate_redundant",
    "greedy_color": "event_ids",
}


class Removed(Exception):
    """A function of networkx that is not there."""


def allocations() -> list[Allocation]:
    """What orders a loop, and what orders a straight line."""
    trees = flow_of_slots(2, 1).tree, straight_line(0).tree
    flows = [flow_graph(tree, conflicts(tree)) for tree in trees]
    return [allocate_events(eliminate(place_all(flow)), DEFAULT_TARGET) for flow in flows]


def test_the_sections_need_flags() -> None:
    assert all(found.events for found in allocations())


@pytest.mark.parametrize("name", CALL_SITES)
def test_the_engine_needs(name: str) -> None:
    with mock.patch.object(nx, name, side_effect=Removed), pytest.raises(Removed) as found:
        allocations()
    modules = {entry.path.stem for entry in found.traceback if hasattr(entry.path, "stem")}
    assert CALL_SITES[name] in modules
