"""The meaning of a mixed kernel's text, from top to bottom: the cores of a block go through it
together, and the memories of the cube core are one for all of them, so that a copy from one core to
another is a copy. Nothing of the passes is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tile_ir import DEFAULT_TARGET, Core, Func, Op
from tile_ir.interpreter.cores import CoreState, Steps
from tile_ir.interpreter.run import Machine
from tile_ir.nodes import Stmt
from tile_ir.ops.movement import goes_through_workspace

MOST_WHILE_ROUNDS = 1000


def run_together(func: Func, arguments: Sequence[Any]) -> None:
    """Change the arrays as the text says."""
    _Together(func, [arguments], DEFAULT_TARGET, MOST_WHILE_ROUNDS, True).run()


class _Together(Machine):
    def make_cores(self, rank: int, block: int) -> Iterator[CoreState]:
        cores = list(super().make_cores(rank, block))
        cube = cores[0]
        for core in cores[1:]:
            core.storage = {**cube.storage, **core.storage}
        yield from cores

    def stmt(self, stmt: Stmt, core: CoreState) -> Steps:
        crossing = isinstance(stmt, Op) and goes_through_workspace(stmt)
        if crossing and core.kind is Core.CUBE:
            return
        yield from super().stmt(stmt, core)
