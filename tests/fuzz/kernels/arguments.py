"""Arguments for a kernel, from its parameters and a number alone: kernels in files get theirs too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tile_ir import Buffer, Func

MOST_TRIPS = 4


def argument_sets(func: Func, seed: int, count: int) -> list[list[Any]]:
    """Small whole numbers in tensors, exact in every type; trip counts from 0 to 4 in scalars. Over
    five sets every scalar takes every trip count."""
    rng = np.random.default_rng(seed)
    result: list[list[Any]] = []
    first = int(rng.integers(MOST_TRIPS + 1))
    for number in range(count):
        values: list[Any] = []
        for place, param in enumerate(func.params):
            if isinstance(param, Buffer):
                shape = param.static_shape()
                assert shape is not None, "tensors of random kernels have fixed shapes"
                values.append(rng.integers(-2, 4, shape).astype(param.dtype.storage))
            else:
                # Two scalars go round at different speeds.
                values.append((first + number * (1 + place % 2) + place) % (MOST_TRIPS + 1))
        result.append(values)
    return result
