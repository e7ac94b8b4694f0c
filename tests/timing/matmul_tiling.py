"""The tiling a matmul kernel is launched with: the Python side of MatmulTiling in kernels/matmul_tile.h."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

N_BY_K, K_BY_N, COLUMN_BLOCKS = 0, 1, 2


@dataclass(frozen=True)
class MatmulTiling:
    """Fields and order of the C++ struct, where they are explained."""

    m: int
    n: int
    k: int
    base_m: int = 128
    base_n: int = 256
    base_k: int = 64
    step_ka: int = 4
    step_kb: int = 4
    layout_b: int = N_BY_K
    prefetch: bool = True
    unit_flag: bool = False
    l1_buffers: int = 2
    panel_m: int = 0
    panel_n: int = 0
    panels_m: int = 1
    m_inner: bool = True
    swizzle: int = 0
    swizzle_direction: int = 0
    in_runs: bool = False
    keep_a: bool = False
    rotate_k: bool = False

    def array(self) -> Any:
        return np.array(astuple(self), np.int32)
