"""One round of a loop for all: what a statement touches of a buffer, told from where the round's
own part begins, so that a part that moves on by one step each round stands still.

For checks that follow a function's text. Not here: what is asked of the round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from tile_ir.analysis.accesses import Touch, layout
from tile_ir.analysis.circumstances import Circumstances
from tile_ir.analysis.intervals import interval, narrow
from tile_ir.expr import Const, Expr, Var, substitute, walk_expr
from tile_ir.layout.geometry import BLOCK_BYTES, is_contiguous
from tile_ir.machine import Memory, Pipe
from tile_ir.nodes import Buffer, Op, Region, Slice, Stmt
from tile_ir.opdef import element_limit, pipe_of
from tile_ir.scalars.affine import linear_form, simplify

_DMA = (Pipe.MTE2, Pipe.MTE3)


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes a statement touches, by address in the round whose variables are 0, which need not be
    in the buffer. `solid` if it touches all of them, whatever variables hold."""

    touch: Touch
    low: float
    high: float
    solid: bool


@dataclass(frozen=True, slots=True)
class OneRound:
    """Of some loops around a statement one round each: by how many bytes the part of the buffer
    `root` moves on from one to the next."""

    root: Buffer
    steps: Mapping[Var, int] = field(default_factory=dict)

    def inside(self, var: Var, step: int) -> OneRound:
        return replace(self, steps={**self.steps, var: step})

    def parts(
        self, stmt: Stmt, touches: Sequence[Touch], base: int, here: Circumstances
    ) -> list[Part] | None:
        """What it touches of the buffer, which begins at `base`; None if something of that moves
        on in another way than the part of the round."""
        blocks = isinstance(stmt, Op) and pipe_of(stmt) in _DMA
        partial = isinstance(stmt, Op) and (
            element_limit(stmt) is not None or stmt.opdef.uses is not None
        )
        found = []
        for touch in touches:
            for var, step in self.steps.items():
                if step_of(touch.region, var, here) != step or (blocks and step % BLOCK_BYTES):
                    return None
            region = self._standing(touch.region, here)
            low, high = _hull(region, here)
            if blocks and -math.inf < low and high < math.inf:
                low, high = low // BLOCK_BYTES * BLOCK_BYTES, -(-high // BLOCK_BYTES) * BLOCK_BYTES
            solid = is_solid(region) and not partial
            found.append(Part(touch, base + low, base + high, solid))
        return found

    def begin(self, region: Region, here: Circumstances) -> float:
        """The first byte of the buffer it may touch in the round whose variables are 0."""
        return _hull(self._standing(region, here), here)[0]

    def _standing(self, region: Region, here: Circumstances) -> Region:
        start: dict[Var, Expr] = {var: Const(0, var.dtype) for var in self.steps}
        return Region(
            region.buffer,
            tuple(
                Slice(
                    simplify(substitute(here.spelled(s.offset), start)),
                    narrow(here.spelled(s.extent), here.ranges),
                    s.stride,
                )
                for s in region.dims
            ),
        )


def step_of(region: Region, var: Var, here: Circumstances) -> int | None:
    """By how many bytes a region moves on when a variable grows by one; None if that differs."""
    pitches, total = _pitches(region.buffer), 0
    for s, pitch in zip(region.dims, pitches, strict=True):
        factors, _ = linear_form(simplify(here.spelled(s.offset)))
        if any(atom != var and var in walk_expr(atom) for atom in factors):
            return None
        factor = factors.get(var, 0)
        if factor and not pitch:
            return None
        total += factor * pitch
    return None if total % 8 else total // 8


def _pitches(buffer: Buffer) -> tuple[int, ...]:
    """Bits between elements of each dimension; 0 where they do not lie in a line, as in matrices
    in fractals."""
    steps, bits, _ = layout(buffer)
    if buffer.memory is Memory.UB:
        return tuple(step * bits for step in steps)
    leading = len(buffer.shape) - 2
    return (*(8 * step for step in steps[: max(leading, 0)]), *((0,) * min(2, len(buffer.shape))))


def _hull(region: Region, here: Circumstances) -> tuple[float, float]:
    """From the first byte to the one behind the last."""
    steps, bits, total = layout(region.buffer)
    low = high = 0.0
    for s, pitch in zip(region.dims, _pitches(region.buffer), strict=True):
        if pitch:
            offset, extent = interval(s.offset, here.ranges), interval(s.extent, here.ranges)
            low += offset.low * pitch
            high += (offset.high + (extent.high - 1) * s.stride) * pitch
    if region.memory is not Memory.UB:
        matrix = steps[-1] if len(region.dims) > 2 else total
        return low // 8, high // 8 + matrix
    return low // 8, -(-(high + bits) // 8)


def is_solid(region: Region) -> bool:
    """Whether every byte of the region's hull belongs to it, whatever variables hold."""
    if not all(isinstance(s.offset, Const) and isinstance(s.extent, Const) for s in region.dims):
        return False
    if region.memory is not Memory.UB:
        last = zip(region.dims[-2:], region.buffer.shape[-2:], strict=True)
        if any(s.extent != size for s, size in last):
            return False
    return is_contiguous(region)


__all__ = ["OneRound", "Part", "is_solid", "step_of"]
