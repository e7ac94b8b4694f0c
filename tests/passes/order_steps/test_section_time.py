"""What a plan costs, by the cost query: pipes work side by side, and wait where the plan says."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import tile_ir
from order_steps.random_sections import kernel_flows
from tile_ir import DEFAULT_TARGET, Section
from tile_ir.costs.instruction_cost import cost
from tile_ir.machine import Pipe
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS
from tile_passes.clock.section_time import ModelledTime
from tile_passes.insert_sync import place_all
from tile_passes.order.channels import Flag, Plan
from tile_passes.order.conflicts import conflicts
from tile_passes.order.eliminate_redundant import eliminate
from tile_passes.order.flow_graph import flow_graph
from tile_passes.order.spill import SPILLS, TOLERANCE, full_barrier, spill
from tile_passes.order.tree import Tree, Work
from tile_passes.order.unroll import build_tree

HEAD = """file 0 "kernel.py"
func "k" phase planned automatic sync @0:1:1 {
  tensor $X: float32 [4096] @0:1:1
  launch blocks(30) %cid %vid threads any @0:1:1 {
    alloc $a: ub float32 [4096] address 0 @0:2:5
    alloc $b: ub float32 [4096] address 16384 @0:3:5
    section vector @0:2:9 {
"""
LOAD, EXP = "copy_gm_ub($X, $a) {pad_value=0.0} @0:4:9", "exp($b, $b) @0:5:9"


@dataclass(frozen=True)
class Case:
    """Statements, and what they take: times one load, times one exp."""

    body: tuple[str, ...]
    loads: float
    exps: float


CASES = {
    "one after another on one pipe": Case((EXP, EXP), 0, 2),
    "side by side": Case((LOAD, EXP), 1, 0),
    "rounds of a known number": Case(("for %i: int32 in serial(0, 5) @0:4:1 {", EXP, "}"), 0, 5),
    "no round": Case(("for %i: int32 in serial(0, 0) @0:4:1 {", EXP, "}"), 0, 0),
    "rounds of an unknown number": Case(
        ("for %i: int32 in serial(0, %cid) @0:4:1 {", EXP, "}"), 0, ASSUMED_ITERATIONS
    ),
    "the likely branch": Case(("if %cid < 1 unlikely @0:4:1 {", LOAD, "} else {", EXP, "}"), 0, 1),
}


def tree_of(body: tuple[str, ...]) -> Tree:
    func = tile_ir.parse(HEAD + "".join(f"      {line}\n" for line in body) + "    }\n  }\n}\n")
    (section,) = func.launch.body
    assert isinstance(section, Section)
    return build_tree(func, section, DEFAULT_TARGET)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.whole
def test_pipes_work_side_by_side(name: str) -> None:
    case = CASES[name]
    load, exp = (
        cost(next(i for i in tree_of((s,)).root.walk() if isinstance(i, Work)).stmt, DEFAULT_TARGET)
        for s in (LOAD, EXP)
    )
    expected = case.loads * load.busy + case.exps * exp.busy
    found = ModelledTime(tree_of(case.body), DEFAULT_TARGET)(Plan())
    # The last operation of a pipe is done some time after the pipe could take the next.
    assert expected <= found <= expected + max(load.done - load.busy, exp.done - exp.busy)


def test_waiting_takes_time() -> None:
    tree = tree_of((LOAD, "exp($b, $a) @0:5:9"))
    time = ModelledTime(tree, DEFAULT_TARGET)
    plan = place_all(flow_graph(tree, conflicts(tree))).plan
    assert [type(op) for op in plan.ops] == [Flag]
    assert time(plan) > time(Plan())


def test_full_barriers_are_never_cheaper() -> None:
    dearer = 0
    for seed in range(20):
        for flow in kernel_flows(seed):
            plan = eliminate(place_all(flow)).plan
            time = ModelledTime(flow.tree, DEFAULT_TARGET)
            for op in plan.ops:
                if isinstance(op, Flag) and not op.carried and Pipe.S not in op.pair:
                    with_barrier = time(full_barrier(flow.tree, plan, op))
                    assert with_barrier >= time(plan) * 0.999
                    dearer += with_barrier > time(plan) * 1.01
    assert dearer > 5


def test_a_spill_is_about_as_cheap_as_any() -> None:
    other = 0
    for seed in range(100):
        for flow in kernel_flows(seed):
            plan = eliminate(place_all(flow)).plan
            time = ModelledTime(flow.tree, DEFAULT_TARGET)
            for op in plan.ops:
                if not isinstance(op, Flag):
                    continue
                found = [less for step in SPILLS if (less := step(flow.tree, plan, op)) is not None]
                if not found:
                    stopped = full_barrier(flow.tree, plan, op)
                    assert spill(flow.tree, plan, op, (), time).ops == stopped.ops
                    continue
                chosen = time(spill(flow.tree, plan, op, (), time))
                assert chosen <= min(map(time, found)) * TOLERANCE
                other += chosen < time(found[0])
    assert other > 0
