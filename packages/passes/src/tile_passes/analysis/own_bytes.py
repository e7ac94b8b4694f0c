"""List the buffers whose bytes the compiler may choose, one by one."""

from __future__ import annotations

from collections.abc import Collection

from tile_ir import Alloc


def with_own_bytes(allocs: Collection[Alloc]) -> list[Alloc]:
    """The buffers without an address of the author's and without a second name."""
    second = {a.alias_of for a in allocs}
    return [
        a for a in allocs if a.address is None and a.alias_of is None and a.buffer not in second
    ]
