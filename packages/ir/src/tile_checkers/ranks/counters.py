"""Model the counters between cores of one rank.

A wait takes the oldest token, with the table of the operations that were complete at its set
(docs/hardware/index.md#flags-between-cores).
"""

from __future__ import annotations

from collections import deque

from tile_checkers.ranks.party import Party, Table
from tile_ir.lazy import np

# Modes of a flag between cores: all cores of a kind, the vector cores of a block, the other kind.
OF_KIND, OF_LANES, OF_OTHERS = 0, 1, 2


class RankCounters:
    """All counters of all cores."""

    def __init__(self, parties: list[Party]) -> None:
        self.parties = parties
        self.tokens: dict[tuple[int, int], deque[Table]] = {}
        # Sets that wait for those of others, by those whose sets count together.
        self.parts: dict[tuple[object, ...], dict[int, deque[Table]]] = {}
        self.groups: dict[tuple[int, int], tuple[list[Party], list[Party]]] = {}

    def set(self, party: Party, mode: int, number: int, table: Table) -> None:
        """A core sets a flag: it counts once all whose sets count together have."""
        together, targets = self._groups(party, mode)
        key = (mode, number, together[0].number)
        parts = self.parts.setdefault(key, {p.number: deque() for p in together})
        parts[party.number].append(table)
        if not all(parts.values()):
            return
        joined = np.maximum.reduce([queue.popleft() for queue in parts.values()])
        for target in targets:
            self.tokens.setdefault((target.number, number), deque()).append(joined)

    def wait(self, party: Party, number: int) -> bool:
        """Take a token, if there is one."""
        tokens = self.tokens.get((party.number, number))
        if not tokens:
            return False
        party.receive(tokens.popleft())
        return True

    def _groups(self, party: Party, mode: int) -> tuple[list[Party], list[Party]]:
        """Those whose sets count together, and those whose counters they raise."""
        at = (party.number, mode)
        if at not in self.groups:
            cube = party.core == 0
            rank = [p for p in self.parties if p.rank == party.rank]
            block = [p for p in rank if p.block == party.block]
            same = [p for p in block if (p.core == 0) is cube]
            others = [p for p in block if (p.core == 0) is not cube]
            of_kind = [p for p in rank if (p.core == 0) is cube]
            self.groups[at] = {
                OF_KIND: (of_kind, of_kind),
                OF_LANES: (same, same),
                OF_OTHERS: (same, others),
            }[mode]
        return self.groups[at]


__all__ = ["RankCounters"]
