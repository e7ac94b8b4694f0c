"""How a vector instruction walks memory, element by element: strides and masks in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
REPEAT = 256


@dataclass(frozen=True)
class Strides:
    """Block and repeat stride of one operand, in 32 B."""

    block: int
    repeat: int


def mask_bits(mask: int | Sequence[int], lanes: int) -> list[bool]:
    """Active lanes of a continuous mask or of a pair of 64-bit words."""
    if isinstance(mask, int):
        return [lane < mask for lane in range(lanes)]
    return [bool(mask[lane // 64] >> (lane % 64) & 1) for lane in range(lanes)]


def positions(strides: Strides, itemsize: int, lanes: int, repeat: int) -> list[int]:
    """Element offset of every lane of one repeat."""
    per_block = BLOCK // itemsize
    return [
        (repeat * strides.repeat + lane // per_block * strides.block) * per_block + lane % per_block
        for lane in range(lanes)
    ]


def apply(
    function: Callable[..., NDArray[np.generic]],
    dst: NDArray[np.generic],
    sources: Sequence[NDArray[np.generic]],
    mask: int | Sequence[int],
    repeats: int,
    strides: Sequence[Strides],
) -> None:
    """dst = function(old dst, *sources) on the active lanes of every repeat; strides: dst first."""
    lanes = REPEAT // max(a.itemsize for a in (dst, *sources))
    active = mask_bits(mask, lanes)
    for repeat in range(repeats):
        out = positions(strides[0], dst.itemsize, lanes, repeat)
        inputs = [
            source[
                [
                    p
                    for p, on in zip(
                        positions(s, source.itemsize, lanes, repeat), active, strict=True
                    )
                    if on
                ]
            ]
            for source, s in zip(sources, strides[1:], strict=True)
        ]
        chosen = [p for p, on in zip(out, active, strict=True) if on]
        dst[chosen] = function(dst[chosen], *inputs)
