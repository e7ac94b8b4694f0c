"""Cases of convolutions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from case import Case, rows_of, zeros
from measures import TASK, Unit, share

CONV = "pto:kernels/manual/a2a3/conv2d_forward/README.md"


def conv_cases() -> list[Case]:
    return [
        conv(blocks, height, width)
        for blocks, height, width in ((8, 8, 48), (16, 12, 64), (24, 12, 96), (32, 16, 96))
    ]


def conv(blocks: int, height: int, width: int) -> Case:
    """Four images on 4 x 6 cores; 12 n for each block of 16 channels, as in all rows of the page."""
    batch, n = 4, blocks * 12 * 16

    def arguments() -> list[Any]:
        x, y = zeros(batch, blocks, height, width, 16), zeros(batch, n // 16, height * width, 16)
        return [x, zeros(blocks * 9, n // 16, 16, 16), y, blocks, height, width, n, n // 6]

    return Case(
        f"3x3 convolution of {height}x{width}x{16 * blocks} to {n}", CONV, "conv2d_f16", 24, arguments,
        rows_of(
            "conv2d forward", f"X[4,{blocks},{height},{width},16] K[{blocks * 9},{n // 16},16,16]",
            time=replace(TASK, unit=Unit.MS), TMATMUL_ratio=share("aic", "M"), TLOAD_ratio=share("aic", "MTE2"),
        ),
        soc="Ascend910_9391", full=blocks > 16, notes="the csv says an f32 result; the page's kernel stores f16",
    )  # fmt: skip
