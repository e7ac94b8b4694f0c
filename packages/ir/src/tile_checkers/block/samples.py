"""Test with numbers whether two accesses meet, where their places are too hard to compare.

Numbers stand for parameters and launch indices. Accesses that meet for none of them may still meet;
the report then says so.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from typing import Any

from tile_checkers.block.choices import Path
from tile_checkers.block.values import is_unknown
from tile_ir import Expr, Load, Region, Slice, Var, walk_expr
from tile_ir.analysis import INF, Interval, Ranges
from tile_ir.interpreter.scalars import evaluate

# A condition, and whether it holds.
Guard = tuple[Expr, bool]
Sample = dict[Var, Any]
# So many choices of numbers are looked at, and so many of those that fit the way are used.
DRAWN, KEPT = 400, 24
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 100, 128, 129, 256, 512, 1000, 1024, 4096)


class Samples:
    """Numbers for the open names of a kernel."""

    def __init__(self, variables: Iterable[Var], known: Ranges) -> None:
        self.variables = sorted(variables, key=lambda v: v.name)
        self.known = known
        self.kept: tuple[tuple[Any, ...], list[Sample]] | None = None

    def fitting(self, path: Path) -> list[Sample]:
        """The samples on which a path is taken."""
        now = tuple((c.key, c.answer) for c in path.choices)
        if self.kept is None or self.kept[0] != now:
            rng = random.Random(7)
            drawn = (self._draw(rng) for _ in range(DRAWN))
            found = (s for s in drawn if all(c.fits(_number(c.key, s)) for c in path.choices))
            self.kept = now, list(itertools.islice(found, KEPT))
        return self.kept[1]

    def _draw(self, rng: random.Random) -> Sample:
        return {v: self._one(rng, self.known.get(v)) for v in self.variables}

    def _one(self, rng: random.Random, span: Interval | None) -> int:
        if span is None or span.high == INF:
            low = 0 if span is None or span.low == -INF else int(span.low)
            return max(low, rng.choice(_SIZES))
        low = max(int(span.low), int(span.high) - 4096) if span.low == -INF else int(span.low)
        edge = [low, min(low + 1, int(span.high)), int(span.high)]
        return rng.choice([*edge, rng.randint(low, int(span.high))])


def meet_somewhere(
    one: Region, two: Region, guards: Sequence[Guard], samples: Iterable[Sample]
) -> tuple[bool | None, Sample]:
    """Whether two regions have an element in common for some numbers that fulfil the guards, and
    these numbers. None if numbers do not decide: the places depend on data, or all numbers give no.
    """
    exprs = [e for r in (one, two) for s in r.dims for e in (s.offset, s.extent)]
    parts = {e for x in exprs for e in walk_expr(x)}
    named = {e for e in parts if isinstance(e, Var)}
    if any(isinstance(e, Load) for e in parts) or any(map(is_unknown, named)):
        return None, {}
    if not named:
        return _overlap(one, two, {}), {}
    for sample in samples:
        if all(_number(c, sample) in (None, held) for c, held in guards) and _overlap(
            one, two, sample
        ):
            return True, {v: n for v, n in sample.items() if v in named}
    return None, {}


def _number(expr: Expr, sample: Sample) -> Any:
    """The value of an expression; None if it depends on more than numbers."""
    try:
        return evaluate(expr, sample, _no_load)
    except (KeyError, ZeroDivisionError, ArithmeticError):
        return None


def _no_load(load: Load) -> Any:
    raise KeyError(load.buffer.name)


def _overlap(one: Region, two: Region, sample: Sample) -> bool:
    for s, t, dim in zip(one.dims, two.dims, one.buffer.shape, strict=True):
        size = _number(dim, sample)
        a, b = (_places(x, size, sample) for x in (s, t))
        if a.step == b.step == 1:
            if max(a.start, b.start) >= min(a.stop, b.stop):
                return False
        elif set(a).isdisjoint(b):
            return False
    return True


def _places(s: Slice, size: int | None, sample: Sample) -> range:
    """The places of a slice; none if they are unknown or lie outside the tensor."""
    start, count = _number(s.offset, sample), _number(s.extent, sample)
    if start is None or count is None or start < 0:
        return range(0)
    end = start + count * s.stride
    return range(start, end if size is None else min(end, size), s.stride)


__all__ = ["Guard", "Sample", "Samples", "meet_somewhere"]
