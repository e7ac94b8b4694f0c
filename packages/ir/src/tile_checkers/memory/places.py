"""Where a region lies, as a sum of variables and constant bytes.

Rows that a loop writes one after the other are one place here, `pitch * k`, and bytes from there.
"""

from __future__ import annotations

from tile_checkers.memory.circumstances import Circumstances
from tile_ir import (
    BLOCK_BYTES,
    Expr,
    Memory,
    Region,
    constant_value,
    is_contiguous,
    linear_form,
    reads_memory,
    simplify,
)
from tile_ir.analysis import narrow
from tile_ir.analysis.accesses import layout
from tile_ir.quick_dataclasses import replace

# Bytes for each atom of a sum; empty for an absolute place.
Terms = frozenset[tuple[Expr, int]]
# Regions that are no run of bytes stand for themselves.
Place = Terms | Region


def spelled(region: Region, here: Circumstances) -> Region | None:
    """The region in one spelling; None if it depends on memory, which may change."""
    dims = tuple(
        replace(
            s,
            offset=simplify(here.spelled(s.offset)),
            extent=narrow(here.spelled(s.extent), here.ranges),
        )
        for s in region.dims
    )
    if any(reads_memory(e) for s in dims for e in (s.offset, s.extent)):
        return None
    return Region(region.buffer, dims)


def run_of_bytes(region: Region, blocks: bool, gaps: bool = False) -> tuple[Terms, int, int] | None:
    """The place of a spelled region that is a run of bytes, with the first of them and the one
    behind the last; of whole blocks for the DMA. None for others, but where `gaps` between them are
    taken in."""
    pitches = _pitches(region)
    terms: dict[Expr, int] = {}
    low = size = 0
    for s, pitch in zip(region.dims, pitches, strict=True):
        factors, first = linear_form(s.offset)
        extent = constant_value(s.extent)
        if extent is None or extent < 1 or (factors and not pitch):
            return None
        for atom, factor in factors.items():
            terms[atom] = terms.get(atom, 0) + factor * pitch
        low += first * pitch
        size += (extent - 1) * s.stride * pitch
    if not (gaps or _fills_its_hull(region)):
        return None
    steps, bits, total = layout(region.buffer)
    if region.memory is Memory.UB:
        size += bits
    else:
        size += 8 * (steps[-1] if len(region.dims) > 2 else total)
    if low % 8 or size % 8 or any(t % 8 for t in terms.values()):
        return None
    low, high = low // 8, (low + size) // 8
    found = frozenset((atom, t // 8) for atom, t in terms.items() if t)
    if blocks and region.memory is Memory.UB:
        if any(t % BLOCK_BYTES for _, t in found):
            return None
        low, high = low // BLOCK_BYTES * BLOCK_BYTES, -(-high // BLOCK_BYTES) * BLOCK_BYTES
    return found, low, high


def _pitches(region: Region) -> tuple[int, ...]:
    """Bits between elements of each dimension; 0 in matrices of fractals, which are taken whole."""
    steps, bits, _ = layout(region.buffer)
    if region.memory is Memory.UB:
        return tuple(step * bits for step in steps)
    rank = len(region.dims)
    return (*(8 * step for step in steps[: max(rank - 2, 0)]), *((0,) * min(2, rank)))


def _fills_its_hull(region: Region) -> bool:
    """Whether every byte from the first to the last belongs to the region."""
    if region.memory is not Memory.UB:
        last = zip(region.dims[-2:], region.buffer.shape[-2:], strict=True)
        if any(s.extent != size for s, size in last):
            return False
    return is_contiguous(region)


__all__ = ["Place", "Terms", "run_of_bytes", "spelled"]
