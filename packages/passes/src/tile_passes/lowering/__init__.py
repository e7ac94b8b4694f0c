"""Lower composite operations of the op table: one rule each, found by its name."""

from __future__ import annotations

from collections.abc import Callable

from tile_ir import Body, Op
from tile_ir.analysis import Ranges
from tile_passes.lowering.builder import Builder
from tile_passes.lowering.byte_broadcasts import lower_broadcast_bytes
from tile_passes.lowering.clear_accumulator import lower_clear_accumulator
from tile_passes.lowering.composed import lower_sigmoid, lower_silu, lower_xor
from tile_passes.lowering.copies import lower_atomic_update, lower_copy
from tile_passes.lowering.gathers import lower_gather_elements
from tile_passes.lowering.gemm import lower_gemm
from tile_passes.lowering.packed_rows import lower_broadcast_packed
from tile_passes.lowering.reductions import lower_composed_reduction
from tile_passes.lowering.sorts import lower_merge_top

Lowering = Callable[[Op, Ranges, Builder], Body]

LOWERINGS: dict[str, Lowering] = {
    "copy": lower_copy,
    "atomic_add": lower_atomic_update,
    "atomic_max": lower_atomic_update,
    "atomic_min": lower_atomic_update,
    "gemm": lower_gemm,
    "gemm_v0": lower_gemm,
    "gemm_v0_bias": lower_gemm,
    "clear_l0c": lower_clear_accumulator,
    "sigmoid": lower_sigmoid,
    "silu": lower_silu,
    "bitwise_xor": lower_xor,
    "gather_elements": lower_gather_elements,
    "merge_top": lower_merge_top,
    "broadcast_packed": lower_broadcast_packed,
    "broadcast_bytes": lower_broadcast_bytes,
    "reduce_sum_composed": lower_composed_reduction,
    "reduce_max_composed": lower_composed_reduction,
    "reduce_min_composed": lower_composed_reduction,
}

__all__ = ["LOWERINGS", "Lowering"]
