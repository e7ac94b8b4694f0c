"""Sizes to run a kernel with: given ones, sizes at the edges of tiles, and random ones.

A size that a factory takes, or a symbol, is a claim that the kernel is right for it. A factory for
other sizes raises an error; the case is reported as refused, which harms no verdict.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tile_ir.quick_dataclasses import dataclass

# The declared shapes of tensors, as texts.
Shapes = tuple[tuple[str, ...], ...]
GIVEN, EDGE, RANDOM = "given", "edge", "random"
# What a symbol is where nothing says its size; and at its edges: one, less than the tiles of most
# kernels, and beyond a power of two. Symbols of one kernel have different ones.
_SYMBOL = 256
_SYMBOL_EDGES = (1, 33, 257)
# Random sizes of symbols are at most this, and those of arguments are multiples of this.
_LARGEST, _STEP = 300, 16
# Where a factory refuses edges of all its sizes at once, so many are tried one at a time.
_MOST_SINGLE = 2


@dataclass(frozen=True, slots=True)
class SizedCase:
    """Arguments of a factory, or symbols of a kernel, and why they are tried."""

    kind: str
    sizes: tuple[tuple[str, Any], ...]

    @property
    def named(self) -> dict[str, Any]:
        return dict(self.sizes)


def sized(kind: str, sizes: Mapping[str, Any]) -> SizedCase:
    return SizedCase(kind, tuple(sizes.items()))


def size_arguments(
    arguments: Mapping[str, Any], shapes: Shapes, shapes_with: Callable[[Mapping[str, Any]], Shapes]
) -> dict[str, int]:
    """The integer arguments of a factory that are sizes of its tensors, with their edges: with
    another value the declared shapes are others. One that refuses its edge is not among them."""
    shown = " ".join(dim for shape in shapes for dim in shape)
    found: dict[str, int] = {}
    for name, value in arguments.items():
        if type(value) is int and value > 1 and str(value) in shown:
            try:
                others = shapes_with({**arguments, name: edge_of(value)})
            except Exception:  # of the factory's own
                continue
            if others != shapes:
                found[name] = edge_of(value)
    return found


def argument_cases(
    arguments: Mapping[str, Any], edges: Mapping[str, int], with_edges: bool, count: int, seed: int
) -> list[list[SizedCase]]:
    """Cases of other arguments, in lists of alternatives: the first that a factory takes is run."""
    found: list[list[SizedCase]] = []
    if not edges:
        return found
    if with_edges:
        single = [sized(EDGE, {name: edge}) for name, edge in [*edges.items()][:_MOST_SINGLE]]
        found.append([sized(EDGE, edges), *(single if len(edges) > 1 else [])])
    numbers = random.Random(seed)
    for _ in range(count):
        drawn = {name: _random_size(int(arguments[name]), numbers) for name in edges}
        found.append([sized(RANDOM, drawn)])
    return found


def symbol_cases(
    symbols: Sequence[str], given: Sequence[Mapping[str, Any]], with_edges: bool, count: int,
    seed: int,
) -> list[SizedCase]:  # fmt: skip
    """Cases of the symbols of a kernel; one without names for a kernel that has none."""
    if not symbols:
        return [sized(GIVEN, {})]
    base = {name: _SYMBOL for name in symbols}
    found = [sized(GIVEN, {**base, **sizes}) for sizes in given] or [sized(GIVEN, base)]
    if with_edges:
        for first in _SYMBOL_EDGES:
            # Others are larger, by an odd number of elements.
            found.append(sized(EDGE, {n: first + 2 * i for i, n in enumerate(symbols)}))
    numbers = random.Random(seed)
    for _ in range(count):
        found.append(sized(RANDOM, {n: numbers.randint(1, _LARGEST) for n in symbols}))
    return found


def edge_of(size: int) -> int:
    """An odd size that fills more than half of the tiles and leaves a rest."""
    edge = (size // 2 + 1) | 1
    return edge if edge < size else size - 1


def _random_size(size: int, numbers: random.Random) -> int:
    if size < 2 * _STEP:
        return numbers.randint(1, size)
    return _STEP * numbers.randint(1, size // _STEP)
