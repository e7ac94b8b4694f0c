"""Takes sync ops away that the others make superfluous: in loops, what was placed first may be
implied by what the next round needs.

Needs: a plan that orders everything. Gives: one in which every op is needed.
"""

from __future__ import annotations

from typing import TypeAlias

from tile_passes.order.channels import Plan, SyncOp
from tile_passes.order.completion import Completion
from tile_passes.order.confirm import Check, spared
from tile_passes.order.flow import Flow
from tile_passes.order.symmetric_loops import Renaming
from tile_passes.order.transfer import State
from tile_passes.order.tree import Block

# What a pipe knew, and what ops told it.
_Told: TypeAlias = tuple[int, tuple[tuple[SyncOp, int], ...]]


def eliminate(solved: Completion) -> Completion:
    """The plan without redundant ops: those in the deepest loops are tried first, since they are
    run most often, and of these the last placed."""
    if solved.tree.flat:
        return solved  # the reduction of a straight line is minimal
    surely = needed(solved)
    tried = [op for op in reversed(solved.plan.ops) if op not in surely]
    tried.sort(key=lambda op: -loops_around(op.block))
    return spared(Check.beside(solved), tried)


def loops_around(block: Block) -> int:
    """How many loops a block stands in."""
    count, loop = 0, block.loop
    while loop is not None:
        count, loop = count + 1, loop.block.loop
    return count


def needed(solved: Completion) -> frozenset[SyncOp]:
    """Ops of a plan that are surely needed: right before an instance, its pipe learns of what it
    needs from nobody else. With fewer ops no pipe ever knows more, so that none of these can be
    spared in a smaller plan either."""
    analysis = _Needed.beside(solved)
    analysis.report()
    return frozenset(analysis.found)


class _Needed(Completion):
    def __init__(self, flow: Flow, plan: Plan, solved: Completion | None = None) -> None:
        super().__init__(flow, plan, solved)
        self.found: set[SyncOp] = set()
        # Since its last instance: what a pipe knew without the plan's ops, and what each of these
        # told it. What is not known on one way to a block is not known in it.
        self.told: dict[int, _Told] = {}
        self.inherited: dict[int, dict[int, _Told]] = {}

    def run(self, number: int, state: State) -> None:
        self.told = self.inherited.pop(number, {}).copy()
        super().run(number, state)
        for successor in self.flow.blocks[number].successors:
            self.inherited.setdefault(successor, self.told)

    def entered(self) -> None:
        self.told.clear()

    def renamed(self, later: Renaming) -> None:
        self.told = {
            pipe: (later(before), tuple((op, later(bits)) for op, bits in by))
            for pipe, (before, by) in self.told.items()
        }

    def learned(self, pipe: int, bits: int, op: SyncOp | None, state: State) -> None:
        before, by = self.told.get(pipe) or (self.knows(pipe, state.known), ())
        if op is None:
            self.told[pipe] = before | bits, by
        else:
            self.told[pipe] = before, (*by, (op, bits))

    def accessed(self, pipe: int, must: int, state: State) -> None:
        before, by = self.told.pop(pipe, (0, ()))
        for op, _ in by:
            without = before
            for other, bits in by:
                if other is not op:
                    without |= bits
            if must & ~(self.knows(pipe, state.known) & without):
                self.found.add(op)
