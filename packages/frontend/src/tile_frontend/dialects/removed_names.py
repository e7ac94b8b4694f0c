"""Names that do not exist where they are looked for, and what to write instead.

Names of other versions that lead to an operation of today are in `older_spellings`.
"""

from __future__ import annotations

from tile_frontend.dialects.foreign_names import written_here
from tile_ir import OPS

REMOVED = {
    "alloc_local": "allocate with T.alloc_ub, or T.alloc_var for one scalar",
    "alloc_tmem": "allocate with T.alloc_L0C",
    "alloc_barrier": "order pipes with T.set_flag and T.wait_flag",
    "gemm": "write T.gemm_v0(A, B, C, init=...)",
    "dyn": "write T.symbolic(name)",
    "vectorized": "write T.Parallel",
    "reduce_abssum": "take T.tile.abs first, then T.reduce_sum",
    "reduce_absmax": "take T.tile.abs first, then T.reduce_max",
    "block": "write `with T.Kernel(...)`",
    "attr": "write T.Scope, T.annotate_layout or T.annotate_address",
    # What newer versions have for chips that are not here, or outside the language.
    "alloc_L1_scale_a": "block-scaled products need an A5 chip",
    "alloc_L1_scale_b": "block-scaled products need an A5 chip",
    "copy_cv_experiment": "l0c reaches ub directly on A5 chips only: T.copy goes through gm",
    "copy_vc_experiment": "ub reaches l1 directly on A5 chips only: T.copy goes through gm",
    "gemm_mx": "block-scaled products need an A5 chip; T.gemm_v0 multiplies int8 and float16",
    "_src_code": "source that is pasted in can not be checked or simulated: write operations",
}
REMOVED_OF_TILE = {
    "exp_experiment": "write T.tile.exp on the slice that is meant",
    "fill_experiment": "write T.tile.fill on the slice that is meant",
}


def advice(module: str, name: str) -> str | None:
    """What to write instead of `module.name`, if that is known."""
    if module in ("tile_frontend", "tilelang.language"):
        return REMOVED.get(name) or written_here(name)
    if module == "tile_frontend.tile":
        opdef = OPS.get(name)
        if opdef is not None and opdef.namespace == "":
            return f"write T.{name}"
        return REMOVED_OF_TILE.get(name) or written_here(name)
    return None
