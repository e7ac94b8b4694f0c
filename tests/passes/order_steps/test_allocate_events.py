"""`allocate_events` gives ids that are free, and its spills keep what their op ordered."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from order_steps.random_sections import flow_of_slots, kernel_flows
from tile_ir import DEFAULT_TARGET
from tile_passes.insert_sync import place_all
from tile_passes.order.channels import Flag, Plan, SyncOp
from tile_passes.order.completion import orders
from tile_passes.order.eliminate_redundant import eliminate, reduce
from tile_passes.order.event_ids import allocate_events, live_flags
from tile_passes.order.flow_graph import FlowGraph, flow_graph
from tile_passes.order.placement import place
from tile_passes.order.spill import SPILLS, full_barrier

MOST_ROUNDS = 20


@pytest.mark.parametrize("ids", [1, 2, 8])
def test_flags_in_flight_have_ids_of_their_own(ids: int) -> None:
    target = replace(DEFAULT_TARGET, events_per_pair=ids)
    beside = 0
    for seed in range(20):
        for flow in kernel_flows(seed):
            found = allocate_events(eliminate(place_all(flow)), target)
            assert orders(flow, found.plan)
            live = live_flags(flow, found.plan)
            assert not live.incomplete and not live.early
            used = {
                op: range(found.events[op], found.events[op] + op.slots) for op in found.plan.flags
            }
            assert all(span.start >= 0 and span.stop <= ids for span in used.values())
            rivals = ((a, b) for a, others in live.interference.items() for b in others)
            for one, two in ((live.flags[a], live.flags[b]) for a, b in rivals):
                assert one.pair == two.pair
                assert not set(used[one]) & set(used[two]), seed
                beside += 1
    assert beside or ids == 1


def hazards_of(flow: FlowGraph, op: SyncOp) -> FlowGraph:
    """Only what the op was placed for."""
    wanted = [0] * len(flow.conflicts)
    for edge in op.reason.edges:
        wanted[edge.later.bit] |= edge.needs
    return flow_graph(flow.tree, wanted)


def placed_again(flow: FlowGraph, plan: Plan) -> Plan:
    for _ in range(MOST_ROUNDS):
        edges = reduce(flow, plan).edges()
        if not edges:
            return plan
        plan = place(flow.tree, plan, edges)
    raise AssertionError("placing does not come to an end")


def test_spills_keep_the_dependences() -> None:
    """At once what the op was placed for; all the others when what was lost is placed again."""
    count: Counter[str] = Counter()
    for seed in range(32):
        # Few random kernels have slots that could share ids.
        slots = [flow_of_slots(4, ahead) for ahead in (0, 1, 3) if seed == 0]
        for flow in (*kernel_flows(seed), *slots):
            plan = eliminate(place_all(flow)).plan
            for op in plan.ops:
                if not isinstance(op, Flag) or op.at_once:
                    continue
                assert orders(hazards_of(flow, op), plan)
                for way in (*SPILLS, full_barrier):
                    less = way(flow.tree, plan, op)
                    if less is None:
                        continue
                    count[way.__name__] += 1
                    assert op not in less.ops or way.__name__ == "end_use_before"
                    assert orders(hazards_of(flow, op), less), (seed, way.__name__, op)
                    if not orders(flow, less):
                        count["placed again"] += 1
                        assert orders(flow, placed_again(flow, less))
    assert set(count) == {*(way.__name__ for way in (*SPILLS, full_barrier)), "placed again"}
