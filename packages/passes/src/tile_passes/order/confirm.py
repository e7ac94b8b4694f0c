"""Whether a plan orders every conflict, on all paths: `completion`, stopped at the first that it
does not order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tile_passes.order.channels import Plan, SyncOp
from tile_passes.order.completion import Completion
from tile_passes.order.flow import Flow
from tile_passes.order.transfer import State
from tile_passes.order.tree import Instance


class _Unordered(Exception):
    """Something is not ordered."""


class Check(Completion):
    """One plan being looked at."""

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

    def suffices_without(self, ops: Iterable[SyncOp]) -> Check | None:
        """The check without these ops, if all is ordered as it is with them."""
        try:
            return self.without(ops)
        except _Unordered:
            return None


def orders(flow: Flow, plan: Plan) -> bool:
    """Whether the plan orders every conflict."""
    return Check(flow, plan).suffices()


def spared(check: Check, tried: Sequence[SyncOp]) -> Check:
    """The plan without the ops that it orders everything without, tried one after another: often it
    does so without all of them."""
    if len(tried) > 1 and (less := check.suffices_without(tried)) is not None:
        return less
    for op in tried:
        check = check.suffices_without([op]) or check
    return check
