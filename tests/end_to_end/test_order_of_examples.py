"""Automatic order of the examples, their own flags taken out: nothing that no dependence asks for, no
full barrier in a loop, no more memory than needed."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
from bench.back_to_back import insert_back_to_back, plan_back_to_back
from bench.order import peaks_to_bounds
from bench.order_quality import BACK_TO_BACK, left_to_compiler, ordered_by
from example_kernels import automatic, traced, unsynchronised
from fuzz.minimality import Minimality, minimality

from tile_checkers import check_sync
from tile_ir import DEFAULT_TARGET, Func, Op, Section
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, For, While
from tile_ir.opdef import pipe_of
from tile_ir.traversal import walk
from tile_passes import PIPELINE
from tile_passes.order.completion import orders
from tile_passes.order.conflicts import conflicts
from tile_passes.order.flow_graph import flow_graph
from tile_passes.order.unroll import build_tree
from tile_passes.plan_memory import plan_memory
from tile_passes.scalar_reads import name_scalar_reads

EXAMPLES = traced() | automatic()
# The other size of this product differs only in how often loops run.
KERNELS = [name for name in EXAMPLES if name != "gemm_intrinsic_20"]


@functools.cache
def ordered(name: str) -> Func:
    return ordered_by(EXAMPLES[name], PIPELINE, DEFAULT_TARGET)


def before(name: str, last: str) -> Func:
    """The function as a pass is given it."""
    func = left_to_compiler(EXAMPLES[name])
    for p in PIPELINE:
        if p.name == last:
            break
        func = p.run(func, DEFAULT_TARGET).at_phase(p.gives or func.phase)
    return func


def full_barriers_in_loops(body: Body) -> int:
    loops = [s for s in walk(body) if isinstance(s, (For, While))]
    found = {
        id(s)
        for loop in loops
        for s in walk(loop.body)
        if isinstance(s, Op) and s.opdef.name == "barrier_all" and pipe_of(s) is Pipe.ALL
    }
    return len(found)


@pytest.mark.parametrize("name", KERNELS)
def test_no_full_barrier_in_a_loop(name: str) -> None:
    assert full_barriers_in_loops(ordered(name).launch.body) == 0


@pytest.mark.exhaustive
def test_every_instruction_is_needed() -> None:
    """Left out, it is missed by the static checker; the same for all instructions of a flag."""
    total = sum((minimality(ordered(n), noticed) for n in KERNELS), Minimality())
    needed = total.single_noticed + total.flags_noticed
    assert needed >= 0.99 * (total.single + total.flags), total.unnoticed


def noticed(func: Func) -> bool:
    return bool(check_sync(func, DEFAULT_TARGET))


@pytest.mark.parametrize("name", KERNELS)
def test_back_to_back_orders_everything(name: str) -> None:
    func = name_scalar_reads(before(name, "insert_sync"))
    for section in func.launch.body:
        if isinstance(section, Section):
            tree = build_tree(func, section, DEFAULT_TARGET)
            plan = plan_back_to_back(tree, DEFAULT_TARGET)
            assert orders(flow_graph(tree, conflicts(tree)), plan.plan)


def test_back_to_back_is_asked_for() -> None:
    func = before("vector_add", "insert_sync")
    assert (
        insert_back_to_back.run(replace(func, automatic=frozenset()), DEFAULT_TARGET).launch
        == func.launch
    )
    names = [p.name for p in BACK_TO_BACK]
    assert "insert_back_to_back" in names and "insert_sync" not in names
    assert unsynchronised(EXAMPLES["rope"]) is EXAMPLES["rope"]


@pytest.mark.parametrize("name", KERNELS)
def test_memory_is_as_small_as_its_bound(name: str) -> None:
    peaks = peaks_to_bounds(before(name, plan_memory.name), DEFAULT_TARGET)
    assert peaks and all(peak <= 1.0 for peak in peaks.values()), peaks
