"""Kernels whose flags are right while every buffer has bytes of its own, as an author writes them."""

from __future__ import annotations

from dataclasses import replace

from tile_ir import DEFAULT_TARGET, Automatic, Func, Memory, Phase, Target
from tile_passes import apply_passes


def with_ub(size: int) -> Target:
    """The default chip with another size of UB."""
    return replace(DEFAULT_TARGET, capacity={**DEFAULT_TARGET.capacity, Memory.UB: size})


def ordered_by_hand(func: Func) -> Func:
    """The function with flags and barriers for buffers side by side, and no addresses: which
    buffers share bytes is left to the compiler, their order is not."""
    ordered = apply_passes(func, ["plan_memory", "insert_sync"], with_ub(1 << 24))
    allocs = tuple(replace(a, address=None) for a in ordered.launch.allocs)
    bare = replace(ordered, launch=replace(ordered.launch, allocs=allocs), phase=Phase.PIPELINED)
    return replace(bare, automatic=frozenset({Automatic.MEMORY}))
