"""Import networkx at the first graph: kernels that need none do not pay for it. Also a
topological sort, and longest paths, of small graphs, which take longer to build there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import networkx as nx
else:
    from tile_ir.lazy import LazyModule

    nx = LazyModule("networkx")

N = TypeVar("N")
Length = TypeVar("Length", int, float)

# A length that is only a matter of rounding.
NOTHING = 1e-6


def topological(
    nodes: Sequence[N], edges: Iterable[tuple[N, N]], key: Callable[[N], Any]
) -> list[N] | None:
    """Sort nodes by key, but each behind those that have edges to it; of equal keys the first node
    comes first. None where edges form a cycle."""
    behind: dict[N, list[N]] = {node: [] for node in nodes}
    waits = dict.fromkeys(nodes, 0)
    for a, b in edges:
        behind[a].append(b)
        waits[b] += 1
    place = {node: n for n, node in enumerate(nodes)}
    free = [(key(node), place[node], node) for node in nodes if not waits[node]]
    heapify(free)
    found: list[N] = []
    while free:
        *_, node = heappop(free)
        found.append(node)
        for other in behind[node]:
            waits[other] -= 1
            if not waits[other]:
                heappush(free, (key(other), place[other], other))
    return found if len(found) == len(waits) else None


def extend_paths(edges: Sequence[tuple[N, N, Length]], longest: dict[N, Length]) -> bool:
    """Raise the length of the longest path to each node, by relaxation. Return whether that ends:
    it does in as many rounds as there are nodes, unless a cycle is longer than nothing."""
    for _ in longest:
        changed = False
        for a, b, length in edges:
            if longest[a] + length > longest[b] + NOTHING:
                longest[b] = longest[a] + length
                changed = True
        if not changed:
            return True
    return False


__all__ = ["extend_paths", "nx", "topological"]
