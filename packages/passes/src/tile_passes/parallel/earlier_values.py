"""Which elements of ub surely have a value where a statement stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tile_ir import Buffer, Func, Load, Memory, Stmt, buffer_bytes, written_buffers
from tile_passes.analysis.sure_writes import SureWrites
from tile_passes.parallel.accesses import access
from tile_passes.parallel.nest import Domain


@dataclass(eq=False)
class EarlierValues:
    """`before` are the statements that surely ran before the one that is asked about."""

    roots: dict[Buffer, tuple[int, int]]
    sizes: list[int]
    filled: frozenset[Buffer]
    before: list[Stmt] = field(default_factory=list)

    @staticmethod
    def of(func: Func) -> EarlierValues:
        tiles = {
            a.buffer: (a, a.alias_of or a.buffer)
            for a in func.launch.allocs
            if a.buffer.memory is Memory.UB and a.buffer.static_shape() is not None
        }
        numbers = {home: n for n, home in enumerate(dict.fromkeys(h for _, h in tiles.values()))}
        sizes = [buffer_bytes(tiles[home][0]) for home in numbers]
        roots = {b: (numbers[home], sizes[numbers[home]]) for b, (_, home) in tiles.items()}
        filled = written_buffers(func.launch.body)
        return EarlierValues(roots, sizes, filled)

    def are_there(self, load: Load, domain: Domain, more: Sequence[Stmt] = ()) -> bool:
        """Whether the elements an access meets over a domain have values, once `more` ran too. What
        nothing ever fills is not this pass's business."""
        if load.buffer not in self.roots or load.buffer not in self.filled:
            return True
        region = access(load.buffer, load.indices, domain).region
        return SureWrites.cover((*self.before, *more), region, self.roots, self.sizes)
