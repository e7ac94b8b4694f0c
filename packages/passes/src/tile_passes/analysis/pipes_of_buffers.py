"""List the pipes that write each buffer of some statements, and the pipes that read it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from itertools import chain, product

from tile_ir import Body, Buffer, Pipe, walk
from tile_ir.analysis import regions_of
from tile_ir.quick_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PipesOfBuffers:
    """The pipes that write each buffer, and those that read it; none for all others."""

    writers: Mapping[Buffer, set[Pipe]]
    readers: Mapping[Buffer, set[Pipe]]

    @staticmethod
    def of(body: Body) -> PipesOfBuffers:
        writers: dict[Buffer, set[Pipe]] = defaultdict(set)
        readers: dict[Buffer, set[Pipe]] = defaultdict(set)
        for region, access, _, pipe in chain.from_iterable(map(regions_of, walk(body))):
            if access.writes:
                writers[region.buffer].add(pipe or Pipe.S)
            if access.reads:
                readers[region.buffer].add(pipe or Pipe.S)
        return PipesOfBuffers(writers, readers)

    def is_handed(self, buffer: Buffer) -> bool:
        """Whether one pipe writes it and another one reads it."""
        readers = self.readers[buffer]
        return bool(readers) and len(self.writers[buffer] | readers) > 1

    def most_between_two(self, buffers: Collection[Buffer]) -> int:
        """The number of these buffers that the pipes of one pair hand to each other, at most."""
        pairs = Counter(
            pair
            for b in buffers
            for pair in product(self.writers[b], self.readers[b])
            if len({*pair}) > 1
        )
        return max(pairs.values(), default=0)
