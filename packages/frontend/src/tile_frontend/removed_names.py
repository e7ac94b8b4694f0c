"""Names of other tile languages that do not exist here, and what to write instead."""

from __future__ import annotations

REMOVED = {
    "alloc_local": "allocate with T.alloc_ub, or T.alloc_var for one scalar",
    "alloc_tmem": "allocate with T.alloc_L0C",
    "alloc_barrier": "order pipes with T.set_flag and T.wait_flag",
    "gemm": "write T.gemm_v0(A, B, C, init=...)",
    "atomic_add": "write T.tile.atomic_add(dst, src)",
    "clear": "write T.tile.clear(buf)",
    "fill": "write T.tile.fill(buf, value)",
    "dynamic": "write T.symbolic(name)",
    "dyn": "write T.symbolic(name)",
    "vectorized": "write T.Parallel",
    "thread_binding": "T.Kernel yields the block and lane indices",
    "reduce_abssum": "take T.tile.abs first, then T.reduce_sum",
    "reduce_absmax": "take T.tile.abs first, then T.reduce_max",
    "cumsum": "there is no prefix sum on the vector unit",
    "block": "write `with T.Kernel(...)`",
    "attr": "write T.Scope, T.annotate_layout or T.annotate_address",
}
