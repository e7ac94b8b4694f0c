"""`reduce` against `networkx.transitive_reduction`, on straight lines."""

from __future__ import annotations

import networkx as nx
import pytest

from order_steps.random_sections import straight_line
from tile_ir.machine import Pipe
from tile_passes.order.channels import Plan
from tile_passes.order.eliminate_redundant import reduce
from tile_passes.order.flow_graph import FlowGraph


def all_orders(flow: FlowGraph) -> nx.DiGraph:
    """Two nodes for each instance, when it begins and when a flag set behind it is up. A pipe
    begins its work in order; its flag comes after all it began before, and whoever waits begins
    after the flag. A dependence is such a wait, for the instance itself; but a pipe waits for
    itself by a barrier, for all it was given, and only where nothing else makes it."""
    graph: nx.DiGraph = nx.DiGraph()
    last: dict[Pipe, int] = {}
    scalar = None
    for later in flow.tree.instances:
        y, pipe = later.bit, later.item.pipe
        graph.add_edge(("begins", y), ("flag", y))
        if pipe in last:
            graph.add_edge(("begins", last[pipe]), ("begins", y))
            graph.add_edge(("flag", last[pipe]), ("flag", y))
        if scalar is not None:
            # What the scalar unit waits for holds back everything issued after.
            graph.add_edge(("begins", scalar), ("begins", y))
        own = None
        for earlier in flow.tree.instances[:y]:
            if flow.conflicts[y] >> earlier.bit & 1:
                if earlier.item.pipe is not pipe:
                    graph.add_edge(("flag", earlier.bit), ("begins", y))
                elif not later.item.in_order and pipe is not Pipe.S:
                    own = earlier.bit
        if own is not None and not nx.has_path(graph, ("flag", own), ("begins", y)):
            graph.add_edge(("flag", last[pipe]), ("begins", y))
        last[pipe] = y
        scalar = y if pipe is Pipe.S else scalar
    return graph


def waits_of(flow: FlowGraph, graph: nx.DiGraph) -> set[tuple[int, int]]:
    """Which instance waits for the flag behind which other one, or by a barrier for its pipe."""
    return {
        (x, y) for (flag, x), (begins, y) in graph.edges if flag == "flag" and begins == "begins"
    }


def left(flow: FlowGraph) -> set[tuple[int, int]]:
    found = set()
    instances = flow.tree.instances
    for edge in reduce(flow, Plan()).edges():
        (earlier,) = edge.earlier.instances.values()
        x, y = earlier.bit, edge.later.bit
        if edge.source is edge.target:
            x = max(i.bit for i in instances[:y] if i.item.pipe is edge.source)
        found.add((x, y))
    return found


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_straight_lines(first: int) -> None:
    edges = 0
    for seed in range(first, first + 25):
        flow = straight_line(seed)
        assert flow.tree.flat
        wanted = waits_of(flow, nx.transitive_reduction(all_orders(flow)))
        assert left(flow) == wanted, seed
        edges += len(wanted)
    assert edges > 100
