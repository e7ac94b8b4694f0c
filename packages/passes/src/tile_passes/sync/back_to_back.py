"""The order that other compilers make: set and wait back to back, right before each consumer.

It covers what `insert_sync` covers, by the same conflicts and facts, but nothing runs while the
consumer's pipe comes up to its place. It is there to be measured against, and no part of the
pipeline: flags may be set again before it is known that the last wait is over.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tile_ir import Target
from tile_ir.machine import Pipe
from tile_passes.sync.conflicts import conflicts
from tile_passes.sync.event_ids import InFlight, give_event_ids
from tile_passes.sync.facts import Facts, State
from tile_passes.sync.fences import Barrier, Do, Fence, Piece, Plan, Reason
from tile_passes.sync.search import Numbers
from tile_passes.sync.tree import Phases, Site, Tree


def plan_back_to_back(tree: Tree, target: Target) -> Plan:
    """A fence at every site for each pipe it would otherwise not be ordered after."""
    found = conflicts(tree)
    plan = Plan()
    _Fencing(tree, found, plan, numbers=Numbers(tree.free_bit())).run()
    walked = InFlight(tree, found, plan)
    walked.run()
    for piece in give_event_ids(walked, target):
        piece.event = 0
    return plan


@dataclass(eq=False)
class _Fencing(Facts):
    """Adds what is missing, where it is missing."""

    numbers: Numbers = field(default_factory=lambda: Numbers(0))

    def uncovered(self, site: Site, need: int, state: State, phases: Phases) -> None:
        item = site.item
        for source, own in enumerate(self.own):
            missing = need & own
            if not missing:
                continue
            _, earlier, _ = next(self.tree.facts_of(missing))
            piece = self.fence(self.tree.pipes[source], site, Reason(earlier.item, item))
            self.plan.add(piece)
            self.act([(_do(piece), piece)], state, phases)

    def fence(self, source: Pipe, site: Site, reason: Reason) -> Piece:
        item = site.item
        if source is item.pipe:
            return Barrier(source, item.block, item.position, reason)
        if (source, item.pipe) not in self.tree.flag_pairs:
            return Barrier(Pipe.ALL, item.block, item.position, reason)
        fence = Fence(source, item.pipe, item.block, item.position, False, reason)
        fence.first_bit = self.numbers.take(1)
        self.waits[self.index[item.pipe]] |= 1 << fence.first_bit
        return fence


def _do(piece: Piece) -> Do:
    return Do.BARRIER if isinstance(piece, Barrier) else Do.FENCE
