"""Quotients and rests of integers by constants, on the vector unit for every int32."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from end_to_end.language_for_gpus import T
from tile_runtime import jit

pytestmark = pytest.mark.usefixtures("strict")

DIVISORS = (3, 7, 48, 1000, 99991, 2**18)
LOW, HIGH = -(2**31), 2**31 - 1


@jit
def divided(divisors: tuple[int, ...], length: int) -> Any:
    count = len(divisors)

    @T.prim_func
    def kernel(
        X: T.Tensor((length,), "int32"),
        Q: T.Tensor((count, length), "int32"),
        R: T.Tensor((count, length), "int32"),
        S: T.Tensor((count, length), "int32"),
    ):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((length,), "int32")
            T.copy(X, x)
            for number, divisor in enumerate(divisors):
                for i in T.Parallel(length):
                    Q[number, i] = x[i] // divisor
                    R[number, i] = x[i] % divisor
                    S[number, i] = T.truncmod(x[i], divisor)

    return kernel


def test_every_integer_is_divided_exactly() -> None:
    near = torch.tensor([LOW, HIGH, LOW + 1, HIGH - 1, 0, -1, 1])
    multiples = [torch.randint(LOW // d, HIGH // d, (60,)) * d for d in DIVISORS]
    around = torch.cat([m + k for m in multiples for k in (-1, 0, 1)])
    x = torch.cat([near, around, torch.randint(LOW, HIGH, (200,))]).clamp(LOW, HIGH).int()
    q, r, s = (torch.zeros(len(DIVISORS), len(x), dtype=torch.int32) for _ in range(3))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*scalar-loop")
        divided(DIVISORS, len(x))(x, q, r, s)
    assert torch.equal(q, torch.stack([x // d for d in DIVISORS]))
    assert torch.equal(r, torch.stack([x % d for d in DIVISORS]))
    assert torch.equal(s, torch.stack([torch.fmod(x, d) for d in DIVISORS]))
