"""The order engine rests on networkx: without any of these calls it orders nothing any more."""

from __future__ import annotations

from unittest import mock

import networkx as nx
import pytest

from order_steps.random_sections import flow_of_slots
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
    "greedy_color": "event_ids",
}


class Removed(Exception):
    """A function of networkx that is not there."""


def allocation() -> Allocation:
    tree = flow_of_slots(2, 1).tree
    flow = flow_graph(tree, conflicts(tree))
    return allocate_events(eliminate(place_all(flow)), DEFAULT_TARGET)


def test_the_section_needs_flags() -> None:
    assert allocation().events


@pytest.mark.parametrize("name", CALL_SITES)
def test_the_engine_needs(name: str) -> None:
    with mock.patch.object(nx, name, side_effect=Removed), pytest.raises(Removed) as found:
        allocation()
    modules = {entry.path.stem for entry in found.traceback if hasattr(entry.path, "stem")}
    assert CALL_SITES[name] in modules
