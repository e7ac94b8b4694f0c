"""`T.recommend_tiles`: what it proposes fits, is the same every time, and asks for what there is."""

from __future__ import annotations

import random

import pytest

import tile_frontend as T
from tile_frontend._advice.products import Tiles, fits, unit_of
from tile_ir import TARGETS, KernelError, dtype_of
from tile_ir.machine import Memory

RANDOM = random.Random(14)
SIZES = [tuple(RANDOM.choice((1, 16, 100, 1000, 4096, 5000)) for _ in range(3)) for _ in range(12)]


@pytest.mark.parametrize("sizes", [(4096, 4096, 4096), (1, 1, 1), (4000, 4001, 4002), *SIZES])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8"])
def test_proposals_fit(sizes: tuple[int, int, int], dtype: str) -> None:
    tiles = T.recommend_tiles(*sizes, dtype)
    assert tiles == T.recommend_tiles(*sizes, dtype)
    assert all(size > 0 and size % unit_of(dtype_of(dtype)) == 0 for size in tiles)
    assert fits(Tiles(*tiles), dtype_of(dtype), TARGETS["Ascend910B2"])


def test_large_products_take_all_of_l0c() -> None:
    """The more a tile has, the less is loaded for each product."""
    m, n, _ = T.recommend_tiles(8192, 8192, 8192)
    assert m * n * 4 == TARGETS["Ascend910B2"].capacity[Memory.L0C]


def test_small_products_are_dealt_out_to_all_cores() -> None:
    m, n, _ = T.recommend_tiles(256, 256, 8192)
    assert -(-256 // m) * -(-256 // n) >= 20


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        ((0, 16, 16), "tile-sizes"),
        ((16, 16, 16, "int16"), "operand-dtype"),
        ((16, 16, 16, "float16", "Ascend9"), "unknown-target"),
    ],
)
def test_what_has_no_tiles(arguments: tuple[object, ...], slug: str) -> None:
    with pytest.raises(KernelError) as caught:
        T.recommend_tiles(*arguments)  # type: ignore[arg-type]
    assert caught.value.diagnostic.slug == slug
    assert caught.value.diagnostic.loc is not None
