"""The topological sort is that of networkx, which takes longer for small graphs."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from tile_passes.graphs import topological


def random_graph(seed: int) -> nx.DiGraph[int]:
    """Of up to nine nodes in some order."""
    rng = random.Random(seed)
    nodes = rng.sample(range(20), rng.randrange(1, 10))
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    for _ in range(rng.randrange(2 * len(nodes))):
        a, b = rng.choice(nodes), rng.choice(nodes)
        if a != b:
            graph.add_edge(a, b)
    return graph


@pytest.mark.parametrize("seed", range(200))
def test_topological(seed: int) -> None:
    graph = random_graph(seed)

    def key(node: int) -> int:
        return node % 3  # equal keys: the first node comes first

    if nx.is_directed_acyclic_graph(graph):
        expected = list(nx.lexicographical_topological_sort(graph, key))
        assert topological([*graph], graph.edges, key) == expected
    else:
        assert topological([*graph], graph.edges, key) is None
