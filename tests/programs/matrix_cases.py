"""The cases of the matrix: subscript form x direction x type x width x tile x style x time."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .matrix_forms import (
    GM_FORMS,
    MATRIX_FORMS,
    PARALLEL_FORMS,
    TILE_FORMS,
    TIMES,
    WIDTHS,
    once,
)  # fmt: skip

TYPES = (
    "float32", "float16", "bfloat16", "int32", "int16", "int8", "uint8", "uint16", "uint32", "int64",
)  # fmt: skip
ADDED = ("float32", "float16", "int32", "int16")
COMPUTED = ("float32", "float16", "int32", "int16", "int8", "uint8")
MULTIPLIED = ("float16", "bfloat16", "int8", "float32")
STYLES = ("expert", "developer")
CUBE = ("gm-l1", "l0c-gm", "l0c+gm")


@dataclass(frozen=True)
class Case:
    """One operation. `form` is a key of GM_FORMS or one of PARALLEL_FORMS."""

    direction: str
    form: str
    dtype: str
    width: str
    tile: str
    style: str
    time: str

    @property
    def name(self) -> str:
        return " / ".join(
            (self.direction, self.form, self.dtype, self.width, self.tile, self.style, self.time)
        )

    @property
    def on_cube(self) -> bool:
        return self.direction in CUBE


def all_cases() -> Iterator[Case]:
    product = itertools.product
    for direction, types in (("gm-ub", TYPES), ("ub-gm", TYPES), ("ub+gm", ADDED)):
        for rest in product(GM_FORMS, types, WIDTHS, TILE_FORMS, STYLES, TIMES):
            yield Case(direction, *rest)
    for direction in CUBE:
        types = MULTIPLIED if direction != "l0c+gm" else ("float16", "int8")
        widths = ("blocks", "ragged") if direction == "gm-l1" else ("blocks",)
        for rest in product(MATRIX_FORMS, types, widths, TILE_FORMS[:4], STYLES, TIMES):
            yield Case(direction, *rest)
    for dtype, width, tile, style, time in product(TYPES, WIDTHS, TILE_FORMS, STYLES, TIMES):
        yield Case("ub-ub", "ub", dtype, width, tile, style, time)
    for direction in ("load gm", "load ub", "store gm", "store ub"):
        for form, dtype, width, style in product(PARALLEL_FORMS, COMPUTED, WIDTHS, STYLES):
            if direction.startswith("load") or once(form):
                yield Case(direction, form, dtype, width, "whole", style, "static")


@lru_cache(maxsize=2)
def chosen(count: int, seed: int = 0) -> list[Case]:
    """So many cases, in turn from each direction and form, so that none is left out."""
    rng = random.Random(seed)
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in all_cases():
        groups.setdefault((case.direction, case.form), []).append(case)
    for cases in groups.values():
        rng.shuffle(cases)
    found: list[Case] = []
    for turn in itertools.count():
        more = [cases[turn] for cases in groups.values() if turn < len(cases)]
        if not more or len(found) >= count:
            return found[:count]
        found += more
    raise AssertionError("unreachable")
