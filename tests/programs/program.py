"""A program as a test input: its text, and with what it is called."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .element_types import FLOATS, KEPT, bits, wrapped
from .executor import Executor, Parameter

_CALL = "# call: "


@dataclass(frozen=True)
class Program:
    """`symbols` are sizes, `numbers` the values of scalar parameters; integers of a tensor in
    `ranges` lie between these two, which is what tensors of indices need."""

    text: str
    symbols: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    seed: int = 0
    # Forms that occur, for the count of what was covered.
    forms: tuple[str, ...] = ()

    def written(self, remark: str) -> str:
        """The text of a file that can be read back."""
        call = {"symbols": self.symbols, "numbers": self.numbers, "ranges": self.ranges}
        head = "\n".join(f"# {line}" for line in remark.splitlines()[:8])
        return f"{head}\n{_CALL}{json.dumps({**call, 'seed': self.seed})}\n{self.text}"

    @staticmethod
    def read(text: str) -> Program:
        line = next(t for t in text.splitlines() if t.startswith(_CALL))
        call = json.loads(line.removeprefix(_CALL))
        ranges = {name: (low, high) for name, (low, high) in call["ranges"].items()}
        _, _, body = text.partition(f"{line}\n")
        return Program(body, call["symbols"], call["numbers"], ranges, call["seed"])

    def arrays(self, parameters: list[Parameter]) -> dict[str, Any]:
        rng = np.random.default_rng(self.seed)
        return {
            p.name: _values(rng, p, self.ranges.get(p.name))
            for p in parameters
            if p.shape is not None
        }

    def executor(self) -> Executor:
        return Executor(self.text, self.symbols)


def _values(rng: Any, parameter: Parameter, limits: tuple[int, int] | None) -> Any:
    """Small numbers, whose sums and products are exact in most types; no two neighbours are alike."""
    shape, dtype = parameter.shape, parameter.dtype
    assert shape is not None
    if limits is not None:
        return rng.integers(limits[0], limits[1], shape, endpoint=True).astype(KEPT[dtype])
    if dtype in FLOATS:
        return wrapped(rng.integers(-12, 12, shape, endpoint=True) / 4, dtype)
    low, high = (-8, 7) if dtype == "int4" else (0, 40) if dtype.startswith("u") else (-40, 40)
    return rng.integers(low, high, shape, endpoint=True).astype(KEPT[dtype])


def stored(values: Any, dtype: str) -> Any:
    """The bytes of a tensor as the device has them."""
    if dtype == "bfloat16":
        words = np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16
        return words.astype(np.uint16).reshape(values.shape)
    if dtype == "int4":
        low, high = values.reshape(-1)[::2] & 15, values.reshape(-1)[1::2] & 15
        return (low | (high << 4)).astype(np.uint8)
    return np.ascontiguousarray(values)


def loaded(kept: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """`stored`, backwards."""
    if dtype == "bfloat16":
        return (kept.astype(np.uint32) << 16).view(np.float32).reshape(shape)
    if dtype == "int4":
        pairs = np.stack([kept & 15, kept >> 4], -1).reshape(shape).astype(np.int8)
        return ((pairs + 8) & 15) - 8
    return kept.reshape(shape)


def difference(got: Any, want: Any, dtype: str, inexact: bool) -> str | None:
    """The first element that is not as it should be."""
    if inexact and dtype in FLOATS:
        step = 2.0 ** -(8 if bits(dtype) == 16 else 16)
        scale = np.maximum(np.abs(want), 1.0)
        wrong = ~(
            np.isclose(got, want, rtol=step, equal_nan=True) | (np.abs(got - want) <= step * scale)
        )
    elif dtype in FLOATS:
        wrong = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    else:
        wrong = got != want
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = list(place)
    return f"{where} is {got[place]}, the text says {want[place]} ({int(wrong.sum())} of {got.size} differ)"
