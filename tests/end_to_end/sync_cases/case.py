"""What a case of automatic synchronisation is, and the tensors and sums that cases share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tile_frontend as T
from tile_ir import Func

W = 64  # elements of a tile
MOST = 8  # rounds a tensor has room for
F = "float32"


def trips(rounds: int | None, n: Any) -> Any:
    return n if rounds is None else rounds


def counted_rows(rows: int = MOST) -> Any:
    """Inputs of both lanes: small whole numbers, so that every sum is exact."""
    return (np.arange(2 * rows * W) * 37 % 23 - 11).astype(np.float32).reshape(2, rows, W)


@dataclass(frozen=True)
class SyncCase:
    """A kernel with tensors `inputs` and results of the shapes `results`, then `n`.

    `make(rounds)` gives it for a number of rounds known to the compiler; with None the argument `n`
    says how many. Lane `vid` of the one block works on row `vid` of every tensor.
    `expected(*inputs, rounds)` gives a result each; where nothing is written they stay 0.
    """

    make: Callable[[int | None], Func]
    inputs: tuple[Any, ...]
    results: tuple[Any, ...]
    expected: Callable[..., tuple[Any, ...]]
    missing: str = ""  # what goes wrong in it today

    def arguments(self, rounds: int) -> list[Any]:
        return [*self.inputs, *(np.zeros_like(r) for r in self.results), rounds]


CASES: dict[str, SyncCase] = {}


def case(
    inputs: tuple[Any, ...],
    results: tuple[Any, ...],
    expected: Callable[..., Any],
    missing: str = "",
) -> Any:
    """Put a factory into CASES under its name."""

    def add(make: Callable[[int | None], Func]) -> Callable[[int | None], Func]:
        CASES[make.__name__] = SyncCase(make, inputs, results, expected, missing)
        return make

    return add


Rows, Row = T.Tensor((2, MOST, W), F), T.Tensor((2, W), F)
X, ROWS, ROW = counted_rows(), counted_rows(), np.zeros((2, W), np.float32)


def first_rows(x: Any, rounds: int) -> Any:
    """The rows of the rounds there are, 0 in the others."""
    return np.where(np.arange(x.shape[1])[None, :, None] < rounds, x, 0).astype(x.dtype)


def total(x: Any, rounds: int) -> Any:
    return x[:, :rounds].sum(1)
