"""Whether a plan orders every conflict, on all paths: `completion`, stopped at the first that it
does not order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

from tile_passes.sync.completion import Completion
from tile_passes.sync.flow import Flow
from tile_passes.sync.sync_ops import Plan, SyncOp
from tile_passes.sync.transfer import State
from tile_passes.sync.tree import Instance


class _Unordered(Exception):
    """Something is not ordered."""


class Check(Completion):
    """One plan being looked at, or with `without` one that has fewer ops."""

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

    def without(self, ops: Iterable[SyncOp]) -> Check | None:
        """That without these ops, if all is ordered as it is with them.

        Without them no state holds more: it is enough to run the blocks they stand in, from the
        states there are, and those whose entries lose something by it.
        """
        gone = {id(op) for op in ops}  # hashing them takes longer
        less = copy(self)
        less.changes, less.entries = self.changes.copy(), self.entries.copy()
        changed = []
        for number, changes in enumerate(self.changes):
            kept = [change for change in changes if id(change[1][-1]) not in gone]
            if len(kept) < len(changes) and self.entries[number] is not None:
                less.changes[number] = kept
                changed.append(number)
        try:
            less.propagate(changed)
        except _Unordered:
            return None
        return less


def orders(flow: Flow, plan: Plan) -> bool:
    """Whether the plan orders every conflict."""
    return Check(flow, plan).suffices()


def checked(flow: Flow, plan: Plan) -> Check:
    """The plan, which orders every conflict, as what others are compared with."""
    check = Check(flow, plan)
    ordered = check.suffices()
    assert ordered, "the plan orders everything"
    return check


def superfluous(flow: Flow, plan: Plan, tried: Sequence[SyncOp]) -> list[SyncOp]:
    """The ops that a plan orders everything without, tried one after another: often it does so
    without all of them."""
    if not tried:
        return []
    check = checked(flow, plan)
    if len(tried) > 1 and check.without(tried):
        return list(tried)
    found = []
    for op in tried:
        if (less := check.without([op])) is not None:
            check = less
            found.append(op)
    return found
