"""Which conflicts only reach back to earlier runs of a loop: its rounds touch other bytes each.

A loop over rows need not order its rounds for what every round does to a row of its own. Says
nothing about loops with residues, whose slots are told apart already.
"""

from __future__ import annotations

from collections import defaultdict

from tile_ir import For
from tile_ir.analysis import meet_in_run
from tile_passes.order.tree import Instance, Repeat, Residues, Tree, round_by_round


def look_back_only(tree: Tree, conflicts: list[int]) -> None:
    """Replace an instance that another never meets in one run of their loop, by what it did before
    that run; by nothing where the loop is run only once."""
    groups: dict[tuple[Repeat, Residues], list[Instance]] = defaultdict(list)
    for instance in tree.instances:
        if (loop := round_by_round(instance)) is not None:
            groups[loop, instance.residues].append(instance)
    before = {run.instance: 1 << run.bit for run in tree.runs}
    for (loop, _), instances in groups.items():
        for later in instances:
            for earlier in instances:
                bit = 1 << earlier.bit
                if conflicts[later.bit] & bit and not _meet(tree, earlier, later, loop):
                    conflicts[later.bit] ^= bit
                    conflicts[later.bit] |= before.get(earlier, 0)


def _meet(tree: Tree, earlier: Instance, later: Instance, loop: Repeat) -> bool:
    """Whether two instances ever touch the same bytes in one run of the loop, one before the
    other."""
    assert isinstance(loop.stmt, For)
    same_round = earlier.bit < later.bit
    return any(
        meet_in_run(
            earlier.reach(one), earlier.item.path, later.reach(two), later.item.path,
            tree.ranges, loop.stmt, same_round,
        )
        for one in earlier.touches
        for two in later.touches
        if one.conflicts(two)
    )  # fmt: skip
