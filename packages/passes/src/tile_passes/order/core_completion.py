"""Compute which work of other cores is complete for each core, and the signals that it needs.

A core's own completion does not depend on signals: `_OwnWork` first computes the work that is
complete when a pipe is, by way of the values on the chip that its work reads. Bytes say nothing:
later passes may give each value of a buffer its own. The rest is `completion`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count, product
from typing import Any, TypeAlias

from tile_ir import Core, For, IRError, Pipe, Var, walk_expr
from tile_passes.order.channels import Counter, Plan
from tile_passes.order.completion import Completion, Unordered
from tile_passes.order.core_dependences import CoreDependence
from tile_passes.order.eliminate_redundant import spared
from tile_passes.order.flow_graph import Access, Enter, FlowGraph, Signal, Step
from tile_passes.order.tree import CORES, Leaf, LeafAccess
from tile_passes.order.worklist import Dataflow, State

# Writes of a buffer on the chip by one core: of the whole buffer, or of one region in one iteration
# of the loops that move it.
_Group: TypeAlias = "tuple[object, ...]"
# So many credits are tried to do without.
MOST_TRIED = 16


def needed_signals(
    flow: FlowGraph, proposed: Sequence[Counter], found: Sequence[CoreDependence]
) -> list[Counter]:
    """Return the signals without the redundant ones: first without those whose wait adds no fact to
    the earlier waits', then, one by one, without those whose facts other signals bring in time."""
    planned = Completion(flow, Plan(proposed))
    planned.steps = _OwnWork(flow, planned.steps).told()
    analysis = Completion(flow, planned.plan, planned)
    told: set[Counter] = set()
    analysis.telling = told
    analysis.solve()
    try:
        check = Completion(flow, planned.plan, planned)
        check.solve()
        check = check.without(s for s in proposed if s not in told)
    except Unordered as lost:
        leaf, need = lost.args
        d = next(d for d in found if d.later is leaf and need & flow.facts.asked((d,)))
        earlier, later = d.earlier.item.loc, d.later.item.loc
        raise IRError(
            "cross-order",
            f"the order between `{d.before.region.buffer.name}` in lines {earlier.line} and "
            f"{later.line} was lost",
            later,
            "this is a bug of the compiler",
        ) from None
    # Credits of outer loops often say what those of inner ones say right before the access.
    credits = (s for s in check.plan.flags if s.carried)
    tried = sorted(credits, key=lambda s: s.block.depth)[:MOST_TRIED]
    return [s for s in spared(check, tried).plan.ops if isinstance(s, Counter)]


class _OwnWork(Dataflow):
    """The work that is complete when the work of a pipe so far is, and when a group of writes is: a
    lane each. The last lane holds work never done, which always counts as complete."""

    def __init__(self, flow: FlowGraph, steps: Iterable[Iterable[Step]]) -> None:
        super().__init__(flow.successors)
        self.steps = [[*own] for own in steps]
        self.numbers: dict[_Group, int] = defaultdict(count().__next__)
        # The groups whose regions a loop moves.
        self.moved: dict[Var, list[int]] = defaultdict(list)
        # The groups of each buffer: a whole write begins all of them anew.
        self.parts: dict[_Group, set[int]] = defaultdict(set)
        # The pipe of each access of a leaf, and its `groups`.
        self.chip: dict[Any, list[tuple[int, set[int], set[int], set[int]]]] = {
            leaf: [(self.numbers[leaf.core, a.pipe], *self.groups(leaf.core, a)) for a in item.chip]
            for item in flow.tree.root.walk()
            for leaf in item.leaves
        }
        for pipe in product(CORES, Pipe):
            self.numbers[pipe]
        self.width = flow.width
        self.lane = (1 << flow.width) - 1
        self.each = sum(1 << lane * flow.width for lane in range(len(self.numbers) + 1))

    def told(self) -> list[list[Step]]:
        """Return the steps, each signal with its facts about the own work of its source."""
        self.solve_from(State(self.lane * self.each, {}))
        self.report()
        return self.steps

    def groups(self, core: Core, access: LeafAccess) -> tuple[set[int], set[int], set[int]]:
        """Return the groups an access comes after, those it is in, and those it begins anew."""
        region, parts = access.region, self.parts[core, access.region.buffer]
        whole = self.numbers[core, region.buffer, "whole"]
        own = whole if region.is_whole() else self.numbers[core, region.buffer, id(region)]
        if not access.writes:
            return parts if own is whole else {whole, own}, set(), set()
        parts.add(own)
        inside = (walk_expr(e) for s in region.dims for e in (s.offset, s.extent))
        for v in {v for part in inside for v in part if isinstance(v, Var)}:
            self.moved[v].append(own)
        return set(), {own}, parts if own is whole else {own}

    def run(self, number: int, state: State) -> None:
        width, lane = self.width, self.lane
        for place, step in enumerate(self.steps[number]):
            match step:
                case Access(instance=Leaf() as leaf, bit=bits):
                    known = state.known & ~(bits * self.each)
                    lanes = self.chip[leaf]
                    for _, after, _, _ in lanes:
                        for group in after:
                            bits |= known >> group * width & lane
                    for pipe, _, among, anew in lanes:
                        told = bits | known >> pipe * width & lane
                        for group in anew:
                            known &= ~(lane << group * width)
                        for group in among:
                            known |= told << group * width
                    # The scalar unit is done when the next instruction is issued.
                    pipes = {access.pipe for access in (*leaf.item.gm, *leaf.item.chip)}
                    for each in Pipe if Pipe.S in pipes else pipes:
                        known |= bits << self.numbers[leaf.core, each] * width
                    state.known = known
                case Signal(op=Counter() as op, sets=True) if self.reporting:
                    at = self.numbers[op.source, op.pipe] * width
                    self.steps[number][place] = step._replace(bits=state.known >> at & lane)
                case Enter():
                    known = step.older(state.known, self.each)
                    stmt = step.loop.stmt
                    if isinstance(stmt, For):
                        never = known >> len(self.numbers) * width
                        for group in self.moved[stmt.var]:
                            at = group * width
                            known = known & ~(lane << at) | never << at
                    state.known = known
