"""Loops whose rounds are all ordered alike, whatever their residue, and how a fact about one round
is one about the round after it.

In a loop looked at modulo m each statement is m instances. Where what conflicts depends only on how
many rounds lie between two instances, one round stands for all: residue 0 is the round that runs,
residue m - 1 the one before it, and so on. From one round to the next every fact about a residue
becomes one about the residue before it; the rounds that came before a residue m times ago are one
fact with the present one, as they are without this. Says nothing about what is known where.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tile_passes.order.tree import Order, Repeat, Residues, Tree, Work

# Bits, each with that of the same fact a round later.
Successors: TypeAlias = Mapping[int, int]


class Renaming:
    """Facts as they are called in the next round. Those that no successor is given keep theirs."""

    def __init__(self, successors: Successors) -> None:
        moved: dict[int, int] = defaultdict(int)
        for bit, then in successors.items():
            moved[then - bit] |= 1 << bit
        up = [(shift, mask) for shift, mask in moved.items() if shift > 0]
        down = [(-shift, mask) for shift, mask in moved.items() if shift < 0]
        self.successors = successors
        self.up, self.down = up, down
        self.kept = ~sum(mask for _, mask in (*up, *down))

    def __call__(self, bits: int) -> int:
        found = bits & self.kept
        for shift, mask in self.up:
            found |= (bits & mask) << shift
        for shift, mask in self.down:
            found |= (bits & mask) >> shift
        return found


def symmetric_loops(tree: Tree, conflicts: Sequence[int]) -> dict[Repeat, Successors]:
    """The outermost loops with residues that are symmetric, each with the successors of its facts.
    Only the outermost: what is outside of them is outside of all loops, and needs of a statement
    inside, by symmetry, all of its rounds or none, whatever their names are then."""
    found: dict[Repeat, Successors] = {}
    for item in tree.root.walk():
        if isinstance(item, Repeat) and item.modulus > 1 and item.block.loop is None:
            successors = _successors(tree, item)
            if successors is not None and _all_alike(tree, conflicts, Renaming(successors)):
                found[item] = successors
    return found


def _successors(tree: Tree, loop: Repeat) -> Successors | None:
    """Those of all that stands in the loop, if that is there in every residue."""
    m = loop.modulus
    if len(loop.turns) < m or not loop.wraps:
        return None
    result: dict[int, int] = {}
    for item in loop.body.walk():
        if isinstance(item, Order) and len({*item.ids.values()}) > 1:
            return None  # other flags in other rounds
        if isinstance(item, Work):
            for residues, instance in item.instances.items():
                then = item.instances.get(_a_round_later(residues, m))
                if then is None:
                    return None
                result[instance.bit] = then.bit
    runs = {run.instance.bit: run.bit for run in tree.runs}
    result |= {runs[bit]: runs[result[bit]] for bit in runs if bit in result}
    return result


def _a_round_later(residues: Residues, m: int) -> Residues:
    return (residues[0] - 1) % m, *residues[1:]


def _all_alike(tree: Tree, conflicts: Sequence[int], later: Renaming) -> bool:
    """Whether every instance conflicts with the same in each round."""
    then = later.successors
    return all(
        conflicts[then.get(instance.bit, instance.bit)] == later(conflicts[instance.bit])
        for instance in tree.instances
    )
