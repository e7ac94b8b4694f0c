"""Import networkx at the first graph: kernels that need none do not pay for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import networkx as nx
else:
    from tile_ir.lazy import LazyModule

    nx = LazyModule("networkx")

__all__ = ["nx"]
