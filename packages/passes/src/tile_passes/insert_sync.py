"""Order the pipes of every core by flags and barriers: what conflicts, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from types import MappingProxyType
from typing import TypeAlias

from tile_ir import Automatic, Func, Phase, Section, Target, has_generated
from tile_ir.quick_dataclasses import replace
from tile_passes.clock.section_time import ModelledTime
from tile_passes.order.channels import Plan
from tile_passes.order.completion import Completion, orders
from tile_passes.order.conflicts import conflicts, with_generated
from tile_passes.order.eliminate_redundant import Stage, eliminate, reduce
from tile_passes.order.event_ids import Allocation, allocate_events
from tile_passes.order.flow_graph import FlowGraph, flow_graph
from tile_passes.order.placement import place
from tile_passes.order.share_flags import rings, shared
from tile_passes.order.tree import Tree
from tile_passes.order.unroll import build_tree
from tile_passes.order.write import written
from tile_passes.passdef import ir_pass
from tile_passes.scalar_reads import name_scalar_reads

Trees: TypeAlias = Mapping[Section, Tree]


@ir_pass(needs=Phase.PLANNED, optional=True)
def insert_sync(func: Func, target: Target) -> Func:
    """Insert the flags and barriers that order all conflicting accesses of each core.

    Needs, gives: PLANNED. Idea: the dependences between accesses of physical bytes, with loops
    unrolled to the residues that select slots; their transitive reduction. Each edge becomes a
    flag, from right behind the earlier access to right before the later one, once per slot. Event
    ids come from colouring an interference graph. User flags are kept and taken into account. In a
    manually ordered kernel only generated statements are ordered. Limits: `check_sync` verifies
    user flags; the order between cores is that of `insert_cross_core_sync` or of the user.
    """
    if Automatic.SYNC in func.automatic:
        return order_sections(func, target, plan_section)
    if not has_generated(func.launch.body):
        return func

    def plan(tree: Tree, target: Target) -> Allocation:
        return plan_for(tree, conflicts(tree, with_generated(tree)), target)

    return order_sections(func, target, plan, settled=func.settled)


def plan_section(tree: Tree, target: Target) -> Allocation:
    """The sync ops that order one section, with event ids."""
    return _planned(flow_graph(tree, conflicts(tree)), target)


def plan_for(tree: Tree, wanted: Sequence[int], target: Target) -> Allocation:
    """The sync ops that order these conflicts besides the author's flags, which mostly suffice."""
    if not any(wanted):
        return Allocation(Plan())
    flow = flow_graph(tree, wanted)
    return Allocation(Plan()) if orders(flow, Plan()) else _planned(flow, target)


def _planned(flow: FlowGraph, target: Target) -> Allocation:
    found, time = _with_ids(flow, target), cache(ModelledTime(flow.tree, target))
    for ring in rings(found.plan):
        if all(op in found.plan.ops for op in ring):
            other = _with_ids(flow, target, shared(found.plan, ring))
            found = min(found, other, key=lambda each: time(each.plan))
    return found


def _with_ids(flow: FlowGraph, target: Target, plan: Plan | None = None) -> Allocation:
    return allocate_events(eliminate(place_all(flow, plan)), target)


def place_all(flow: FlowGraph, plan: Plan | None = None) -> Completion:
    """The plan with ops for all that is left of the dependences, until a reduction under the plan
    finds nothing: that all is ordered on all paths."""
    plan = plan or Plan()
    for stage in _before_all(flow.tree):
        plan = place(flow.tree, plan, reduce(flow, plan, stage).edges())
    while edges := (reduction := reduce(flow, plan)).edges():
        plan = place(flow.tree, plan, edges)
    return reduction


def _before_all(tree: Tree) -> Iterator[Stage]:
    """The stages of the section that are worth a reduction of their own."""
    if not tree.flat:
        yield Stage.WITHIN_ITERATIONS
        if tree.seldom:
            yield Stage.LIKELY


def section_trees(func: Func, target: Target) -> Trees:
    """Build the tree of each section of a function with named scalar reads."""
    return {s: build_tree(func, s, target) for s in func.launch.body if isinstance(s, Section)}


def order_sections(
    func: Func,
    target: Target,
    plan: Callable[[Tree, Target], Allocation],
    known: Trees = MappingProxyType({}),
    settled: Set[Section] = frozenset(),
) -> Func:
    """Return the planned function with the flags and barriers of a plan in each section that is not
    settled. Those that are `known` have their trees."""
    func = name_scalar_reads(func)

    def ordered(section: Section) -> Section:
        tree = known.get(section) or build_tree(func, section, target)
        found = plan(tree, target)
        return replace(section, body=written(tree, found)) if found.plan.ops else section

    body = tuple(
        ordered(s) if isinstance(s, Section) and s not in settled else s for s in func.launch.body
    )
    changed = any(a is not b for a, b in zip(body, func.launch.body, strict=True))
    return func.with_body(body) if changed else func
