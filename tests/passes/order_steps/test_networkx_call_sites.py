"""The order engine rests on networkx: without any of these calls it orders nothing any more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import golden
import pytest

import tile_ir
from order_steps.random_sections import flow_of_slots, straight_line
from tile_ir import DEFAULT_TARGET
from tile_passes.graphs import nx
from tile_passes.insert_cross_core_sync import find_signals
from tile_passes.insert_sync import place_all
from tile_passes.order.conflicts import conflicts
from tile_passes.order.eliminate_redundant import eliminate
from tile_passes.order.event_ids import Allocation, allocate_events
from tile_passes.order.flow_graph import flow_graph
from tile_passes.order.unroll import core_tree

# What the engine calls, in which file it stands, and for what.
PIPES = [
    ("immediate_dominators", "tree"),
    ("strongly_connected_components", "flow_graph"),
    ("condensation", "flow_graph"),
    ("lexicographical_topological_sort", "flow_graph"),
    ("MultiDiGraph", "eliminate_redundant"),
    ("transitive_reduction", "eliminate_redundant"),
    ("greedy_color", "event_ids"),
]
CORES = [
    ("immediate_dominators", "tree"),
    ("strongly_connected_components", "flow_graph"),
    ("condensation", "flow_graph"),
    ("greedy_color", "counters"),
]
KERNELS = Path(__file__).parents[1] / "insert_cross_core_sync"


class Removed(Exception):
    """A function of networkx that is not there."""


def allocations() -> list[Allocation]:
    """What orders a loop, and what orders a straight line."""
    trees = flow_of_slots(2, 1).tree, straight_line(0).tree
    flows = [flow_graph(tree, conflicts(tree)) for tree in trees]
    return [allocate_events(eliminate(place_all(flow)), DEFAULT_TARGET) for flow in flows]


def signals() -> list[Allocation]:
    """What orders the cores of a kernel that hands a value over in a branch, and of one that needs
    more signals than there are counters."""
    texts = [golden.read(KERNELS / f"{n}.tir").source for n in ("in_a_branch", "many_values")]
    funcs = list(map(tile_ir.parse, texts))
    return [find_signals(func, core_tree(func), DEFAULT_TARGET) for func in funcs]


def test_the_sections_need_flags() -> None:
    assert all(found.events for found in allocations())


def test_the_cores_share_counters() -> None:
    _, many = signals()
    found = many.events
    assert len(found) > DEFAULT_TARGET.compiler_cross_flags >= len({*found.values()})


@pytest.mark.parametrize(("name", "module"), PIPES)
def test_the_order_of_pipes_needs(name: str, module: str) -> None:
    needs(name, module, allocations)


@pytest.mark.parametrize(("name", "module"), CORES)
def test_the_order_of_cores_needs(name: str, module: str) -> None:
    needs(name, module, signals)


def needs(name: str, module: str, run: Callable[[], object]) -> None:
    with mock.patch.object(nx, name, side_effect=Removed), pytest.raises(Removed) as found:
        run()
    modules = {entry.path.stem for entry in found.traceback if hasattr(entry.path, "stem")}
    assert module in modules
