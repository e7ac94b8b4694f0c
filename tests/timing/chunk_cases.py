"""Cases of gated linear attention: its kernels on chunks of 128 positions, one block for each chunk.

The page has 16 x 16 heads of 16384 positions: 32768 blocks. A launch has 1024 of them, 42.7 for each core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from case import Case, rows_of, zeros
from measures import TASK, Unit, throughput

F32 = np.float32
PAGE = "tla:examples/linear_attention_and_rnn/README.md"
SHAPE = "B16 H16 L16384 DK128 DV128 C128"
BLOCKS, PART = 1024, 32


def squares() -> Any:
    """[chunk][128][128], f16."""
    return zeros(BLOCKS, 128, 128)


def positions(dtype: Any = F32) -> Any:
    return zeros(BLOCKS, 128, dtype=dtype)


def mask() -> Any:
    return zeros(128, 128, dtype=F32)


def chunk_cases() -> list[Case]:
    f16 = np.float16
    arguments: dict[str, tuple[str, float, Callable[[], list[Any]]]] = {
        "chunk_scaled_dot_kkt": (
            "chunk_products_of_keys", 6.87e10, lambda: [squares(), positions(f16), positions(), mask(), squares(), squares()],
        ),
        "solve_tril": ("chunk_inverse_128", 2.29e10, lambda: [squares(), mask(), squares()]),
        "wy_fast": (
            "chunk_transform", 1.37e11, lambda: [squares(), squares(), positions(f16), positions(), *(squares() for _ in range(5))],
        ),
        "chunk_o": (
            "chunk_output", 3.44e11, lambda: [*(squares() for _ in range(4)), positions(), mask(), *(squares() for _ in range(4))],
        ),
    }  # fmt: skip
    return [
        Case(
            f"linear attention, {name}", PAGE, kernel, BLOCKS, given,
            rows_of(f"KDA/GDN {name}", SHAPE, time=replace(TASK, unit=Unit.MS), throughput=throughput(operations)),
            soc="Ascend910_9391", part=PART, assumed="an A3; the page names no device",
        )
        for name, (kernel, operations, given) in arguments.items()
    ]  # fmt: skip
