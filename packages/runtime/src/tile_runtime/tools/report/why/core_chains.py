"""Which blocks ran one after the other on one core, and what the cores of the chip did meanwhile.

A timeline says when the instructions of a block ran; it does not say where. Blocks start in their
order, the next one on the core whose block has ended first (docs/hardware/time_model.md), which
gives it
back. Says nothing about what blocks did.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.timeline import CORES, WORK, Timeline


@dataclass(frozen=True)
class CoreChains:
    """Blocks in their order: `blocks` are their numbers, `start` and `end` their cycles, `before`
    the place in these lists of the one that ran before on the same core, -1 for none.

    `cores` is how many of such blocks the chip runs at a time.
    """

    blocks: Any
    start: Any
    end: Any
    before: Any
    cores: int

    @property
    def last(self) -> list[int]:
        """The blocks of the core that ends last, in order of time, as places in the lists."""
        found: list[int] = []
        at = int(np.argmax(self.end)) if len(self.end) else -1
        while at >= 0:
            found.append(at)
            at = int(self.before[at])
        return found[::-1]

    @cached_property
    def used(self) -> int:
        """The cores that had a block at all."""
        return int((self.before < 0).sum())

    @property
    def gaps(self) -> float:
        """Cycles between the blocks of the core that ends last."""
        chain = self.last
        return float(sum(self.start[b] - self.end[a] for a, b in pairwise(chain)))

    @property
    def taken(self) -> float:
        """Cycles all cores are taken by blocks and between two of them."""
        has_next = self.before[self.before >= 0]
        ends = np.delete(self.end, has_next)
        return float(ends.sum() - self.start[self.before < 0].sum())


def core_chains(timeline: Timeline) -> CoreChains:
    """The chains of a timeline."""
    events = timeline.events
    if not len(events):
        none = np.zeros(0)
        return CoreChains(none, none, none, none.astype(int), timeline.cube_cores)
    # Events of a block lie together, blocks in order.
    first = np.flatnonzero(np.diff(events["block"].astype(np.int64), prepend=-1))
    begins = events["begin"] - np.where(events["kind"] == WORK, events["waited"], 0)
    start = np.minimum.reduceat(begins, first)
    end = np.maximum.reduceat(np.maximum(events["complete"], events["end"]), first)
    together = int((start < end.min()).sum()) or len(first)
    before = np.full(len(first), -1)
    # The n-th block that follows starts where the n-th block has ended.
    later = len(first) - together
    before[together:] = np.argsort(end, kind="stable")[:later]
    groups = bool((events["core"] != CORES.index("aiv0")).any())
    cores = timeline.cube_cores if groups else timeline.vector_cores
    return CoreChains(events["block"][first], start, end, before, max(cores, together))
