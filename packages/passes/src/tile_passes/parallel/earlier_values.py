"""Decide which elements of ub surely have a value where a statement stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tile_ir import Buffer, Func, Load, Memory, Stmt, written_buffers
from tile_ir.quick_dataclasses import dataclass
from tile_passes.analysis.gen_kill import NOTHING, GenKill, storages_of
from tile_passes.analysis.path_context import PathContext
from tile_passes.parallel.accesses import access
from tile_passes.parallel.nest import Domain


@dataclass(eq=False)
class EarlierValues:
    """`before` are the statements that surely ran before the one in question, `filled` the buffers
    that any statement writes."""

    effects: GenKill
    filled: frozenset[Buffer]
    before: list[Stmt] = field(default_factory=list)

    @staticmethod
    def of(func: Func) -> EarlierValues:
        tiles = (
            a
            for a in func.launch.allocs
            if a.buffer.memory is Memory.UB and a.buffer.static_shape() is not None
        )
        return EarlierValues(GenKill(storages_of(tiles)), written_buffers(func.launch.body))

    def are_there(self, load: Load, domain: Domain, more: Sequence[Stmt] = ()) -> bool:
        """Whether the elements an access reads over a domain have values, once `more` ran too;
        true for a buffer that no statement fills, which another pass reports."""
        if load.buffer not in self.effects.storages or load.buffer not in self.filled:
            return True
        here = PathContext()
        region = access(load.buffer, load.indices, domain).region
        written = self.effects.block((*self.before, *more), here).written
        return not self.effects.reached(region, here) - (written or NOTHING)
