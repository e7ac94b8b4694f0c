"""`eliminate` leaves a plan in which every op is needed."""

from __future__ import annotations

import pytest

from order_steps.random_sections import kernel_flows, straight_line
from tile_passes.insert_sync import place_all
from tile_passes.order.completion import orders
from tile_passes.order.eliminate_redundant import eliminate
from tile_passes.order.flow_graph import FlowGraph


def spared(flow: FlowGraph) -> int:
    """How many ops are taken away."""
    placed = place_all(flow)
    plan = placed.plan
    assert orders(flow, plan)
    less = eliminate(placed).plan
    assert orders(flow, less)
    for op in less.ops:
        assert not orders(flow, less.without(op)), op
    return len(plan.ops) - len(less.ops)


@pytest.mark.parametrize("first", range(0, 50, 25))
def test_kernels(first: int) -> None:
    seeds = range(first, first + 25)
    assert sum(spared(flow) for seed in seeds for flow in kernel_flows(seed)) > 0


def test_straight_lines() -> None:
    """The reduction leaves nothing to take away."""
    for seed in range(40):
        assert spared(straight_line(seed)) == 0
