"""`T.recommend_configs`: configurations worth trying for common kinds of kernels, best guess first.

`products`, `rows` and `attention` compute the cycles of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from tile_frontend._advice import attention, products, rows
from tile_frontend._advice.tiles import chip_named, tiles_that_fit
from tile_frontend._tracing.dtype_names import element_type
from tile_frontend._tracing.faults import Fault
from tile_ir import DType, Target, did_you_mean, round_up
from tile_ir.costs.timing import timing_of

# Rows and columns of tiles that are looked at.
_ROWS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_COLUMNS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
_QUERIES = (32, 64, 128, 256)
_KEYS = (64, 128, 256, 512, 1024)


class ProposedConfig(dict[str, int]):
    """Arguments of a factory. `microseconds` estimates a launch, and `least_microseconds` is a
    lower bound, by which a tuner skips configurations that cannot win."""

    def __init__(self, values: dict[str, int], microseconds: float, least: float) -> None:
        super().__init__(values)
        self.microseconds = microseconds
        self.least_microseconds = least


class _Guess(NamedTuple):
    """Core cycles of a configuration, and those it takes at least; without launching."""

    values: dict[str, int]
    cycles: float
    least: float


def recommend_configs(
    kind: str,
    *sizes: int,
    dtype: str = "float16",
    target: str | None = None,
    most: int | None = None,
) -> list[ProposedConfig]:
    """Configurations worth trying, best guess first; a list for `autotune(configs=...)`.

    kind "gemm" of sizes M, N, K: block_M, block_N, block_K, as for `T.recommend_tiles`.
    "elementwise" of M, N: block_M rows and block_N columns of tiles, for two inputs and a result.
    "reduction" of M, N: block_M whole rows, for one input and a result that is normalised by row.
    "attention" of B, H, S, D: block_M queries and block_N keys.

    All fit the memories of `target` (by default the chip of the switch `soc`), once for each load
    that runs ahead, and respect its alignment. Each has `microseconds`, a roofline of its pipes by
    the time model, and `least_microseconds`, a lower bound by which a tuner skips it. `most` limits
    how many. Raises Fault for another kind or number of sizes.
    """
    if kind not in _KINDS:
        raise Fault(
            "config-kind", f"there are no configurations for {kind!r}",
            did_you_mean(kind, _KINDS) or "choose one of " + ", ".join(_KINDS), "kind",
        )  # fmt: skip
    names, guesses = _KINDS[kind]
    if len(sizes) != len(names) or min(sizes) < 1:
        raise Fault(
            "config-sizes", f"{kind!r} has no configurations for {sizes}",
            f"give {', '.join(names)}, each at least 1",
        )  # fmt: skip
    chip = chip_named(target)
    found = sorted(guesses(sizes, element_type(dtype), chip), key=lambda g: g.cycles)
    launch = timing_of(chip)
    start = launch["launch_us"] + launch["block_us"]
    per_core = launch["launch_core_us"] + launch["start_core_us"]
    return [
        ProposedConfig(
            g.values, g.cycles / chip.clock_mhz + start + per_core * chip.cube_cores,
            g.least / chip.clock_mhz + start,
        )
        for g in found[:most]
    ]  # fmt: skip


def _gemm(sizes: Sequence[int], dtype: DType, chip: Target) -> Iterator[_Guess]:
    work = products.Product(sizes[0], sizes[1], sizes[2], dtype)
    for tiles in tiles_that_fit(work, chip):
        cycles = products.modelled_cycles(work, tiles, chip)
        yield _Guess(tiles._asdict(), cycles, products.least_cycles(work, tiles, chip))


def _elementwise(sizes: Sequence[int], dtype: DType, chip: Target) -> Iterator[_Guess]:
    work = rows.RowWork(sizes[0], sizes[1], dtype, 2, ("add",))
    for m in _upto(_ROWS, work.rows):
        for n in _upto(_COLUMNS, round_up(work.columns, _COLUMNS[0])):
            yield from _of_rows(work, m, n, chip, {"block_M": m, "block_N": n})


def _reduction(sizes: Sequence[int], dtype: DType, chip: Target) -> Iterator[_Guess]:
    steps = ("reduce_max", "exp", "reduce_sum")
    work = rows.RowWork(sizes[0], sizes[1], dtype, 1, steps, ("sub", "mul"))
    for m in _upto(_ROWS, work.rows):
        yield from _of_rows(work, m, work.columns, chip, {"block_M": m})


def _of_rows(
    work: rows.RowWork, m: int, n: int, chip: Target, values: dict[str, int]
) -> Iterator[_Guess]:
    if rows.versions_that_fit(work, m, n, chip):
        cycles = rows.modelled_cycles(work, m, n, chip)
        yield _Guess(values, cycles, rows.least_cycles(work, m, n, chip))


def _attention(sizes: Sequence[int], dtype: DType, chip: Target) -> Iterator[_Guess]:
    batches, heads, length, width = sizes
    work = attention.Attention(batches * heads, length, length, width, dtype)
    for m in _upto(_QUERIES, length):
        for n in _upto(_KEYS, length):
            if attention.fits(work, m, n, chip):
                cycles = attention.modelled_cycles(work, m, n, chip)
                least = attention.least_cycles(work, m, n, chip)
                yield _Guess({"block_M": m, "block_N": n}, cycles, least)


def _upto(sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    """The sizes that do not exceed a dimension; the smallest in any case."""
    return tuple(s for s in sizes if s <= most) or sizes[:1]


_Guesses: TypeAlias = "Callable[[Sequence[int], DType, Target], Iterator[_Guess]]"
# The sizes of each kind, and its configurations.
_KINDS: dict[str, tuple[tuple[str, ...], _Guesses]] = {
    "gemm": (("M", "N", "K"), _gemm),
    "elementwise": (("M", "N"), _elementwise),
    "reduction": (("M", "N"), _reduction),
    "attention": (("B", "H", "S", "D"), _attention),
}
