"""Solve forward must-analyses over a flow graph: one worklist for pipes and for cores.

A fact is a bit. A state holds several sets of facts, packed into one number as lanes, and the set
that each raised flag carries. Where paths join, the states meet: a fact holds if it holds on all of
them. An analysis supplies the transfer function of a basic block as a method, `run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class State:
    """The facts at one program point: `known` in lanes, `flags` by flag."""

    __slots__ = ("flags", "known")

    def __init__(self, known: int, flags: dict[int, int]) -> None:
        self.known, self.flags = known, flags

    def copy(self) -> State:
        return State(self.known, self.flags.copy())

    def met(self, other: State) -> State:
        """Return the facts of both states; the state itself if the other one holds them all."""
        if other is self:
            return self
        known = self.known & other.known
        theirs, flags = other.flags, self.flags
        if flags != theirs:
            flags = {k: v & theirs[k] for k, v in flags.items() if k in theirs}
        return self if known == self.known and flags == self.flags else State(known, flags)


class Dataflow:
    """One analysis of basic blocks, numbered in topological order of their components.

    `solve` computes the state at the entry of every block; `report` then runs blocks once more in
    their final state, with `reporting` set.
    """

    def __init__(self, successors: Sequence[Sequence[int]]) -> None:
        self.successors = successors
        # What `run` applies in each block.
        self.steps: list[list[Any]] = []
        self.entries: list[State | None] = []
        self.reporting = False
        # The block that is run.
        self.at = 0

    def run(self, number: int, state: State) -> None:
        """Apply one basic block to the state at its entry, in place."""
        raise NotImplementedError

    def solve_from(self, start: State) -> None:
        """Compute all entries; the analysis begins with `start` in the first block."""
        self.entries = [None] * len(self.successors)
        self.entries[0] = start
        self.propagate([0])

    def propagate(self, changed: Iterable[int]) -> None:
        """Run these blocks, and those whose entries lose facts by it, the first of them first."""
        entries = self.entries
        waiting = 0
        for number in changed:
            waiting |= 1 << number
        while waiting:
            first = waiting & -waiting
            waiting ^= first
            number = first.bit_length() - 1
            entry = entries[number]
            assert entry is not None, "only what is reached is waiting"
            state = entry
            if self.steps[number]:
                self.at = number
                state = entry.copy()
                self.run(number, state)
            for successor in self.successors[number]:
                known = entries[successor]
                met = state if known is None else known.met(state)
                if met is not known:
                    entries[successor] = met
                    waiting |= 1 << successor

    def report(self, blocks: Iterable[int] | None = None) -> None:
        """Run all blocks, or these, in their final state."""
        self.reporting = True
        for number in range(len(self.entries)) if blocks is None else blocks:
            entry = self.entries[number]
            if entry is not None and self.steps[number]:
                self.at = number
                self.run(number, entry.copy())
