"""The statements of a pipelined loop, each with its core: what stages are made of."""

from __future__ import annotations

from dataclasses import dataclass

from tile_ir import Core
from tile_ir.nodes import Stmt


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of the loop with its core; None for a definition that both keep."""

    stmt: Stmt
    core: Core | None


__all__ = ["Step"]
