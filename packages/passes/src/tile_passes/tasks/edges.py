"""Which tasks wait for which: what they read and write in gm, from their final texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tile_ir import Buffer, Func, Memory, walk
from tile_ir.analysis import regions_of
from tile_passes.graphs import nx


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """A task that begins once another one is done."""

    first: int
    then: int


def edges_between(tasks: Sequence[Func]) -> tuple[TaskEdge, ...]:
    """The least edges from which all follow, of tasks in an order that is right."""
    touched = [_touched(task) for task in tasks]
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(tasks)))
    for then, later in enumerate(touched):
        for first in range(then):
            if _conflict(touched[first], later):
                graph.add_edge(first, then)
    return tuple(TaskEdge(*pair) for pair in sorted(nx.transitive_reduction(graph).edges))


def _conflict(first: Mapping[Buffer, bool], then: Mapping[Buffer, bool]) -> bool:
    return any(writes or then[tensor] for tensor, writes in first.items() if tensor in then)


def _touched(task: Func) -> dict[Buffer, bool]:
    """The tensors that a task touches, and whether it writes them."""
    found: dict[Buffer, bool] = {}
    for tensor, writes in _accesses(task):
        found[tensor] = found.get(tensor, False) or writes
    return found


def _accesses(task: Func) -> Iterator[tuple[Buffer, bool]]:
    roots = {a.buffer: a.alias_of for a in task.launch.allocs if a.alias_of is not None}
    for stmt in walk(task.launch.body):
        for region, access, _, _ in regions_of(stmt):
            if region.memory is Memory.GM:
                yield roots.get(region.buffer) or region.buffer, access.writes
