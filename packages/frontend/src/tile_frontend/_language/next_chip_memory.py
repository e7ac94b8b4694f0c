"""Allocate tiles in a memory of the cube core, as scripts for the next chip, A5, write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_frontend._language.allocation import ALLOCATORS
from tile_frontend._tracing.values import Tile


def _allocator(name: str, here: str) -> Callable[..., Tile]:
    def allocate(shape: Any, dtype: Any, scope: Any = None, layout: Any = True) -> Tile:
        return ALLOCATORS[here](shape, dtype)

    allocate.__name__ = allocate.__qualname__ = name
    allocate.__doc__ = f"`T.{here}`; `scope` says the same again, and layouts are the memory's."
    return allocate


ALLOCATORS_OF_NEXT_CHIP = {
    name: _allocator(name, here)
    for name, here in (
        ("alloc_l1", "alloc_L1"),
        ("alloc_l0a", "alloc_L0A"),
        ("alloc_l0b", "alloc_L0B"),
        ("alloc_l0c", "alloc_L0C"),
    )
}
