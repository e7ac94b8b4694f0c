"""How an operand can be written: buffer shape, subscript, and what the subscript means in NumPy.

Subscripts use the scalar parameters `r`, `n` and `z` of the kernels, whose values are below; sizes
are in blocks of 32 bytes, so that every element type has the same forms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tile_ir import DType

RUN_TIME = {"r": 1, "n": 3, "z": 0}
# The compiler may refuse these starts, at the user's line; anything else must be computed.
MISALIGNED = ("operand-alignment",)


@dataclass(frozen=True)
class Form:
    """One way to write an operand; `refused` are the slugs it may be rejected with."""

    name: str
    shape: tuple[int, ...]
    subscript: str
    index: tuple[slice, ...]
    refused: tuple[str, ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        return np.empty(self.shape, np.int8)[self.index].shape

    @property
    def count(self) -> int:
        return int(np.prod(self.extents))

    def flat_index(self) -> np.ndarray:
        """Positions in the flattened buffer, in the order the elements are visited."""
        return np.arange(np.prod(self.shape)).reshape(self.shape)[self.index].reshape(-1)


def form(name: str, shape: tuple[int, ...], subscript: str, refused: tuple[str, ...] = ()) -> Form:
    """The meaning of the subscript, evaluated by Python; a single index is a slice of one."""
    if not subscript:
        return Form(name, shape, "", tuple(slice(0, d) for d in shape), refused)
    taken: list[slice] = []
    for part, size in zip(subscript.split(","), shape, strict=True):
        low, colon, high = part.partition(":")
        start = eval(low, dict(RUN_TIME)) if low.strip() else 0
        stop = (eval(high, dict(RUN_TIME)) if high.strip() else size) if colon else start + 1
        taken.append(slice(start, stop))
    return Form(name, shape, f"[{subscript}]", tuple(taken), refused)


def forms(dtype: DType) -> tuple[Form, ...]:
    """Every form; the first is the plain one."""
    b = 32 // dtype.size
    return (
        form("whole", (4 * b,), ""),
        form("odd", (4 * b,), f"0:{4 * b - 3}"),
        form("prefix", (4 * b,), f":{b + 1}"),
        form("suffix", (6 * b,), f"{b}:"),
        form("middle", (6 * b,), f"{2 * b}:{5 * b}"),
        form("one", (2 * b,), f"{b}:{b + 1}"),
        form("matrix", (3, 2 * b), ""),
        form("odd matrix", (3, b + 3), ""),
        form("flat", (6 * b,), ""),
        form("rows", (5, 2 * b), "1:4, :"),
        form("row", (5, 2 * b), "2, :"),
        form("row prefix", (5, 2 * b), f"2, :{b + 2}"),
        form("columns", (3, 4 * b), f":, {b}:{3 * b}"),
        form("odd columns", (3, 4 * b), f":, {b}:{2 * b + 3}"),
        form("box", (5, 4 * b), f"1:4, {b}:{3 * b}"),
        form("column", (3, 2 * b), f":, {b}:{b + 1}"),
        form("slot", (3, 2, 2 * b), "1, :, :"),
        form("slot columns", (3, 2, 4 * b), f"r, :, {b}:{3 * b}"),
        form("cube", (2, 3, 2 * b), f":, 0:2, 0:{b}"),
        form("run-time row", (5, 2 * b), "r, :"),
        form("run-time rows", (5, 2 * b), "r:r + n, :"),
        form("run-time extent", (8 * b,), "0:n * 2 + 1"),
        form("run-time offset", (8 * b,), f"r * {b}:r * {b} + {3 * b}"),
        form("run-time columns", (3, 4 * b), f":, r * {b}:r * {b} + {b + 2}"),
        form("run-time empty", (4 * b,), "0:z"),
        form("misaligned", (6 * b,), f"3:{2 * b + 3}", MISALIGNED),
        form("misaligned columns", (3, 4 * b), f":, 3:{b}", MISALIGNED),
        form("odd pitch", (3, 2 * b + 1), f":, 0:{b}", MISALIGNED),
    )


# Operands of equally many elements that are written differently: (destination, sources).
MIXED = (
    ("columns", "matrix"),
    ("matrix", "columns"),
    ("box", "columns"),
    ("flat", "matrix"),
    ("matrix", "flat"),
    ("columns", "flat"),
    ("flat", "columns"),
    ("slot", "whole"),
    ("slot columns", "slot"),
    ("whole", "slot"),
    ("run-time row", "row"),
    ("run-time rows", "flat"),
    ("middle", "run-time offset"),
    ("rows", "run-time rows"),
)


def long_form(dtype: DType) -> Form:
    """More than 255 repeats of 256 bytes, and a tail."""
    return form("long", (8 * (32 // dtype.size) * 260 + 5,), "")
