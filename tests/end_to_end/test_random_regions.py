"""Regions drawn at random for the operations that take one run of elements: what compiles is right to
the byte, the rest is refused for its alignment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tile_ir import DType, KernelError
from tile_ir.dtypes import FLOAT16, FLOAT32, UINT8, UINT16, UINT32
from tile_ir.ops.select import COMPARE_MODES, SCALAR, TENSOR

from .flat_op_kernels import FlatCase, Tile, disagreements, flat_case
from .kernel_batch import lower

RNG = np.random.default_rng(2024)
CASES = 260
# What a region may be refused for.
ALIGNMENT = {
    "operand-alignment",
    "strided-operand",
    "row-alignment",
    "shape-mismatch",
    "sort-group",
}


def draw(dtype: DType, count: int | None = None) -> Tile:
    """A slice of a buffer of rank 1 to 3; with `count`, of that many elements."""
    block = 32 // dtype.size
    rank = int(RNG.integers(1, 4))
    extents = [int(RNG.integers(1, 4)) for _ in range(rank - 1)]
    width = int(RNG.choice([block, 2 * block, 4 * block, RNG.integers(1, 5 * block)]))
    if count is not None:
        extents = [n for n in extents if count % n == 0][:1]
        width = count // int(np.prod(extents, dtype=int))
    extents.append(width)
    slices, shape = [], []
    for position, extent in enumerate(extents):
        unit = block if position == len(extents) - 1 and RNG.random() < 0.8 else 1
        before = int(RNG.integers(0, 3)) * unit if RNG.random() < 0.6 else 0
        behind = int(RNG.integers(0, 3)) * unit if RNG.random() < 0.6 else 0
        total = before + extent + behind
        if position == len(extents) - 1:
            total = -(-total // block) * block  # rows that a load can place
        slices.append((before, extent))
        shape.append(total)
    values = RNG.integers(0, 200, tuple(shape)).astype(dtype.compute)
    return Tile(dtype, values, tuple(slices))


def count_of(tile: Tile) -> int:
    return int(np.prod([n for _, n in tile.slices], dtype=int))


def one(number: int) -> FlatCase:
    dtype = (FLOAT16, FLOAT32)[number % 2]
    src = draw(dtype)
    n = count_of(src)
    match int(RNG.integers(0, 6)):
        case 0:
            mask, other = draw(UINT8, -(-n // 8)), draw(dtype, n)
            mode = COMPARE_MODES[number % 6]
            return flat_case("compare", f"{number}", [mask, src, other], (mode,))
        case 1:
            mask = draw(UINT8, -(-n // 8))
            given: list[Any] = [draw(dtype, n), mask, src, draw(dtype, n)]
            return flat_case("select", f"{number}", given, (TENSOR,))
        case 2:
            mask = draw(UINT8, -(-n // 8))
            return flat_case("select", f"{number}", [draw(dtype, n), mask, src, 3], (SCALAR,))
        case 3:
            kept = -(-n // 2)
            return flat_case("gather_mask", f"{number}", [draw(dtype, kept), src], ("p0101",))
        case 4:
            return flat_case("sort", f"{number}", [draw(dtype, 2 * n), src, n])
    kind = (UINT8, UINT16, UINT32)[number % 3]
    a = draw(kind)
    b, d = draw(kind, count_of(a)), draw(kind, count_of(a))
    return flat_case("bitwise_xor", f"{number}", [d, a, b])


def cases(refused: list[str]) -> Iterator[FlatCase]:
    for number in range(CASES):
        try:
            case = one(number)
            lower(case.func)
        except KernelError as error:
            assert error.slug in ALIGNMENT and error.hint, error
            refused.append(error.slug)
            continue
        yield case


@pytest.mark.exhaustive
def test_right_or_refused(tmp_path: Path) -> None:
    refused: list[str] = []
    count, wrong = disagreements(cases(refused), tmp_path)
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:30])
    assert count >= CASES / 3, f"too much is refused: {len(refused)}"
    assert len(refused) >= 10, "the drawing finds no region that cannot be"
