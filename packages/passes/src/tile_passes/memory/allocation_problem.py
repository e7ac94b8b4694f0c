"""State the problem of a memory's planner: intervals, which of them interfere, and where they may
lie. The problem does not depend on statements, and nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from tile_ir import Memory, Target, buffer_bytes, round_up
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.in_place import InPlacePair
from tile_passes.analysis.live_ranges import LiveRange
from tile_passes.analysis.liveness import Liveness
from tile_passes.analysis.lowest_place import Bytes, gaps

if TYPE_CHECKING:
    import networkx as nx

# Two intervals, by number.
Pair = frozenset[int]


@dataclass(frozen=True, slots=True)
class Interval:
    """A buffer: its bytes, the points at which it holds something, and the address that the user
    gave it, if one was given. Then its bytes are taken all the time: they may have other names."""

    size: int
    live: LiveRange
    address: int | None = None


@dataclass(frozen=True)
class AllocationProblem:
    """The intervals of one memory of `capacity` bytes; addresses are multiples of `alignment`.

    Two that interfere must not share a byte: those live at one point, and those that are to be kept
    `apart` whenever they live. `in_place` says which may be one although an operation touches both.
    """

    intervals: tuple[Interval, ...]
    capacity: int
    alignment: int
    in_place: tuple[InPlacePair, ...] = ()
    apart: frozenset[Pair] = frozenset()

    @staticmethod
    def of(
        live: Liveness, memory: Memory, target: Target, pairs: Iterable[InPlacePair] = (),
        apart: Iterable[Pair] = (),
    ) -> AllocationProblem:  # fmt: skip
        """The problem of one memory; `pairs` and `apart` number buffers as `live` does."""
        number = {i: n for n, i in enumerate(live.inside(memory))}
        intervals = (
            Interval(buffer_bytes(live.buffers[i]), live.ranges[i], live.buffers[i].address)
            for i in number
        )
        in_place = (
            InPlacePair(p.point, number[p.source], number[p.result])
            for p in pairs
            if {p.source, p.result} <= number.keys()
        )
        kept = frozenset(frozenset(number[i] for i in p) for p in apart if p <= number.keys())
        room = target.capacity[memory], target.alignment[memory]
        return AllocationProblem(tuple(intervals), *room, tuple(in_place), kept)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bytes, in whole units of the alignment."""
        align = self.alignment
        return tuple(max(round_up(i.size, align), align) for i in self.intervals)

    @cached_property
    def free(self) -> tuple[int, ...]:
        """The intervals that have no address."""
        return tuple(i for i, interval in enumerate(self.intervals) if interval.address is None)

    @cached_property
    def gaps(self) -> tuple[Bytes, ...]:
        """The bytes between those of intervals that have an address."""
        fixed = [(i.address, i.address + i.size) for i in self.intervals if i.address is not None]
        return gaps(fixed, self.alignment, self.capacity)

    @cached_property
    def _swept(self) -> tuple[list[tuple[int, int]], list[frozenset[int]]]:
        """The pairs without an address that are live at one point, and the largest sets that are,
        in order of the points."""
        events = sorted(
            (when, starts, number)
            for number in self.free
            for start, end in self.intervals[number].live
            for when, starts in ((start, True), (end + 1, False))
        )
        pairs: list[tuple[int, int]] = []
        together: list[frozenset[int]] = []
        active: set[int] = set()
        grown = False
        for _, starts, number in events:
            if starts:
                pairs.extend((other, number) for other in active)
                active.add(number)
            else:
                if grown:
                    together.append(frozenset(active))
                active.discard(number)
            grown = starts
        return pairs, together

    @cached_property
    def interference(self) -> nx.Graph:
        """The intervals without an address; an edge joins two that must not share a byte."""
        import networkx as nx  # most kernels have room enough and need no graph

        graph = nx.Graph()
        graph.add_nodes_from(self.free)
        graph.add_edges_from(self._swept[0])
        graph.add_edges_from(self._free_apart)
        return graph

    @cached_property
    def cliques(self) -> tuple[frozenset[int], ...]:
        """Sets of intervals that interfere each with each: the largest that are live at one point,
        in order of the points, and the other pairs that share nothing."""
        return tuple(dict.fromkeys([*self._swept[1], *self._free_apart]))

    @cached_property
    def _free_apart(self) -> list[Pair]:
        return sorted((pair for pair in self.apart if pair <= {*self.free}), key=sorted)

    @cached_property
    def bound(self) -> int:
        """The most bytes that interfere each with each: no placement takes less."""
        return max((sum(self.sizes[i] for i in t) for t in self.cliques), default=0)

    @cached_property
    def room(self) -> int:
        """The bytes that have no owner yet."""
        return sum(high - low for low, high in self.gaps)

    def addresses(self, found: Mapping[int, int]) -> tuple[int, ...]:
        """Those of all intervals: the ones found, and the ones that the user gave."""
        return tuple(
            found[number] if interval.address is None else interval.address
            for number, interval in enumerate(self.intervals)
        )
