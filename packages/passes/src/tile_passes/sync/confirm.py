"""Whether a plan orders every conflict, on all paths: `completion`, stopped at the first that it
does not order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tile_passes.sync.completion import Completion, Flow, State
from tile_passes.sync.sync_ops import Plan, SyncOp
from tile_passes.sync.tree import Instance


class _Unordered(Exception):
    """Something is not ordered."""


class _Check(Completion):
    def uncovered(self, instance: Instance, need: int, state: State) -> None:
        raise _Unordered

    def suffices(self) -> bool:
        """Whether all is ordered. What is not in a state on the way is not in the final one either,
        so that the first that is found decides."""
        try:
            self.solve()
        except _Unordered:
            return False
        return True

    def suffices_without(self, ops: Iterable[SyncOp]) -> bool:
        """Whether all is ordered without these ops; they stay away if it is."""
        gone, effects = {id(op) for op in ops}, self.effects  # hashing them takes longer
        self.effects = [[e for e in block if id(e[-1]) not in gone] for block in effects]
        if self.suffices():
            return True
        self.effects = effects
        return False


def orders(flow: Flow, plan: Plan) -> bool:
    """Whether the plan orders every conflict."""
    return _Check(flow, plan).suffices()


def superfluous(flow: Flow, plan: Plan, tried: Sequence[SyncOp]) -> list[SyncOp]:
    """The ops that a plan orders everything without, tried one after another: often it does so
    without all of them."""
    check = _Check(flow, plan)
    if len(tried) > 1 and check.suffices_without(tried):
        return list(tried)
    return [op for op in tried if check.suffices_without([op])]
