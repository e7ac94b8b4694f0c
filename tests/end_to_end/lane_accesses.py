"""Which elements of gm each vector core of a block reads and stores, as the interpreter goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tile_ir import DEFAULT_TARGET, Buffer, Func, Memory, Op, Region
from tile_ir.expr import Expr, Load
from tile_ir.interpreter.cores import CoreState
from tile_ir.interpreter.run import MAX_WHILE_STEPS, Machine
from tile_ir.machine import Core

# Of a tensor: how often each element is touched, by block and lane.
Counts = dict[tuple[Buffer, int, int], Any]


class Recorder(Machine):
    """An interpreter that counts. What adds itself to gm may meet others, and is not counted."""

    def __init__(self, func: Func, arguments: Sequence[Any]) -> None:
        super().__init__(func, [arguments], DEFAULT_TARGET, MAX_WHILE_STEPS, False)
        self.stored: Counts = {}
        self.read_: Counts = {}
        self.atomic = False

    def data(self, op: Op, core: CoreState) -> None:
        self.atomic = op.opdef.atomic
        super().data(op, core)
        self.atomic = False

    def read(self, region: Region, core: CoreState) -> Any:
        self._count(self.read_, region, core)
        return super().read(region, core)

    def write(self, region: Region, values: Any, core: CoreState) -> None:
        self._count(self.stored, region, core)
        super().write(region, values, core)

    def load(self, load: Load, core: CoreState) -> Any:
        self._element(self.read_, load.buffer, load.indices, core)
        return super().load(load, core)

    def store(
        self, buffer: Buffer, indices: tuple[Expr, ...], value: Expr, core: CoreState
    ) -> None:
        self._element(self.stored, buffer, indices, core)
        super().store(buffer, indices, value, core)

    def _count(self, counts: Counts, region: Region, core: CoreState) -> None:
        if region.memory is Memory.GM and core.kind is Core.VECTOR and not self.atomic:
            offset, extents, steps = self.window(region, core)
            grid = np.ogrid[tuple(slice(n) for n in extents)] if extents else []
            places = offset + sum(g * step for g, step in zip(grid, steps, strict=True))
            np.add.at(self._of(counts, region.buffer, core), np.asarray(places).reshape(-1), 1)

    def _element(
        self, counts: Counts, buffer: Buffer, indices: tuple[Expr, ...], core: CoreState
    ) -> None:
        if buffer.memory is Memory.GM and core.kind is Core.VECTOR:
            self._of(counts, buffer, core)[self.element(buffer, indices, core)[1]] += 1

    def _of(self, counts: Counts, buffer: Buffer, core: CoreState) -> Any:
        size = core.storage[buffer].elements.size
        return counts.setdefault((buffer, core.block, core.lane), np.zeros(size, np.int64))


def run_recorded(func: Func, arguments: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The arrays after a run on copies, and where lanes of a block meet: an element that one of
    them stores and the other touches."""
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    recorder = Recorder(func, arrays)
    recorder.run()
    met = []
    for (buffer, block, lane), stored in recorder.stored.items():
        for what, counts in (("stored", recorder.stored), ("read", recorder.read_)):
            other = counts.get((buffer, block, 1 - lane))
            if other is not None and ((stored > 0) & (other > 0)).any():
                place = int(np.flatnonzero((stored > 0) & (other > 0))[0])
                met.append(
                    f"{buffer.name}[{place}] of block {block}: stored by lane {lane}, {what} by "
                    "the other"
                )
    return arrays, met
