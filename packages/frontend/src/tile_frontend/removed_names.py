"""Names that do not exist where they are looked for, and what to write instead."""

from __future__ import annotations

from tile_ir import OPS

REMOVED = {
    "alloc_local": "allocate with T.alloc_ub, or T.alloc_var for one scalar",
    "alloc_tmem": "allocate with T.alloc_L0C",
    "alloc_barrier": "order pipes with T.set_flag and T.wait_flag",
    "gemm": "write T.gemm_v0(A, B, C, init=...)",
    "dynamic": "write T.symbolic(name)",
    "dyn": "write T.symbolic(name)",
    "vectorized": "write T.Parallel",
    "thread_binding": "T.Kernel yields the block and lane indices",
    "reduce_abssum": "take T.tile.abs first, then T.reduce_sum",
    "reduce_absmax": "take T.tile.abs first, then T.reduce_max",
    "block": "write `with T.Kernel(...)`",
    "attr": "write T.Scope, T.annotate_layout or T.annotate_address",
}


def advice(module: str, name: str) -> str | None:
    """What to write instead of `module.name`, if that is known."""
    opdef = OPS.get(name)
    if module in ("tile_frontend", "tilelang.language"):
        if opdef is not None and opdef.namespace == "tile":
            return f"write T.tile.{name}"
        return REMOVED.get(name)
    if module == "tile_frontend.tile" and opdef is not None and opdef.namespace == "":
        return f"write T.{name}"
    return None
