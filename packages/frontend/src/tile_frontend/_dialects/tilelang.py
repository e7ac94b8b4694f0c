"""Table of TileLang for GPUs, the mainline."""

from __future__ import annotations

from tile_frontend._dialects.dialect import Dialect

TILELANG = Dialect(
    name="tilelang",
    signs=frozenset(("gemm", "const", "empty", "StridedTensor")),
)
