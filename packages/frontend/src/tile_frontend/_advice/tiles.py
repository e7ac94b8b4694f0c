"""`T.recommend_tiles`: tile sizes of a matrix product, by the time model."""

from __future__ import annotations

from collections.abc import Iterator

from tile_frontend._advice.products import (
    VERSIONS,
    Product,
    Tiles,
    fits,
    modelled_cycles,
    step_of_k,
    unit_of,
)
from tile_frontend._tracing.dtype_names import element_type
from tile_frontend._tracing.faults import Fault
from tile_ir import TARGETS, DType, Target, chosen_target, round_up

# Sides of tiles that are looked at, and steps of k that an iteration may load.
LONGEST_SIDE = 512
STEPS = (1, 2, 4)


def recommend_tiles(
    M: int, N: int, K: int, dtype: str = "float16", target: str | None = None
) -> Tiles:
    """Tile sizes for `A[M, K] @ B[K, N]`: the named tuple (block_M, block_N, block_K).

    Return the tiles with the shortest modelled time on `target` (by default the chip of the switch
    `soc`). The modelled kernel deals its tiles to all cube cores and overlaps loads, products and
    results. Candidates fit l0c once; l0a and l0b hold two of their steps of k, and l1 holds two of
    their iterations. Sizes are multiples of 16, of 32 for int8; `block_K` divides K where it can.
    The same arguments give the same tiles. The rates are those of docs/hardware/time_model.md.

    Raises Fault for sizes below 1, a type no product takes, and chips without a known clock.
    """
    if min(M, N, K) < 1:
        raise Fault(
            "tile-sizes", f"a product of {M} x {N} x {K} has no tiles", "give sizes of at least 1"
        )
    chip = chip_named(target)
    element = element_type(dtype)
    if element not in chip.accumulators:
        raise Fault(
            "operand-dtype",
            f"the cube unit of {chip.name} makes no products of {element}",
            "it takes " + ", ".join(d.name for d in chip.accumulators),
            "dtype",
        )
    product = Product(M, N, K, element)

    def rank(tiles: Tiles) -> tuple[float, bool, bool, Tiles]:
        m, n, k = tiles
        # Of equal ones, that whose iterations are as long as what l0 holds.
        other = k != VERSIONS * step_of_k(m, n, element, chip)
        return modelled_cycles(product, tiles, chip), K % k != 0, other, tiles

    return min(tiles_that_fit(product, chip), key=rank)


def chip_named(name: str | None) -> Target:
    """The chip of the switch `soc` unless one is named. Raises Fault for one there is not."""
    if name is None:
        return chosen_target()
    if name not in TARGETS:
        raise Fault(
            "unknown-target", f"no chip is called {name!r}", "choose one of " + ", ".join(TARGETS),
            "target",
        )  # fmt: skip
    return TARGETS[name]


def tiles_that_fit(product: Product, chip: Target) -> Iterator[Tiles]:
    """All candidates."""
    dtype = product.dtype
    for m in _sides(product.m, dtype):
        for n in _sides(product.n, dtype):
            step = step_of_k(m, n, dtype, chip)
            for k in (times * step for times in STEPS):
                tiles = Tiles(m, n, min(k, round_up(product.k, unit_of(dtype))))
                if fits(tiles, dtype, chip):
                    yield tiles


def _sides(size: int, dtype: DType) -> range:
    unit = unit_of(dtype)
    return range(unit, min(LONGEST_SIDE, round_up(size, unit)) + 1, unit)
