"""Compare the results of a kernel with expected ones, by NumPy alone: the judge of programs, of
learners and of changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.scripts.packed_results import Array, packed, unpacked

# Relative tolerances by the type of a result: sums in another order differ by roundings. Those of
# integers are 0.
_RELATIVE = {"float16": 1e-2, "bfloat16": 2e-2, "float32": 1e-3, "float64": 1e-6}
# Half of the last digit of each type, relative; what varies among inputs by less than so many of
# them may be lost in roundings.
_ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
_LEAST_DIGITS = 32.0
# The part of a variation that results have at least which follow their inputs: roundings add to it,
# or take from it, less.
_LEAST_PART = 0.25


@dataclass(frozen=True, slots=True)
class Comparison:
    """How results differ: elements that do, of all, the largest difference, and words for it."""

    mismatched: int
    elements: int
    max_error: float
    message: str

    @property
    def right(self) -> bool:
        return not self.message


def compare_tensors(found: Sequence[Any], expected: Sequence[Any]) -> Comparison:
    """Compare each tensor with that of the reference."""
    ours, theirs = (unpacked(*packed(tensors)) for tensors in (found, expected))
    return compare_results(ours, theirs)


def compare_results(
    found: Sequence[tuple[str, Array]],
    expected: Sequence[tuple[str, Array]],
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparison:
    """Compare each result with that of the reference."""
    if len(found) != len(expected):
        said = f"the kernel gives {len(found)} results, the reference {len(expected)}"
        return Comparison(0, 0, 0.0, said)
    mismatched, elements, most, message = 0, 0, 0.0, ""
    for number, ((name, ours), (other, theirs)) in enumerate(zip(found, expected, strict=True)):
        if ours.shape != theirs.shape:
            said = f"result {number} has shape {list(ours.shape)}, expected {list(theirs.shape)}"
            return Comparison(0, 0, 0.0, said)
        left, right = _numbers(name, ours), _numbers(other, theirs)
        wrong, error = _differing(left, right, name, rtol, atol)
        count = int(np.count_nonzero(wrong))
        elements += left.size
        mismatched += count
        most = max(most, error)
        if count and not message:
            place = [int(n[0]) for n in np.nonzero(wrong)] if wrong.ndim else []
            at = tuple(place)
            message = (
                f"result {number}: {count:,} of {left.size:,} elements differ, by up to "
                f"{error:.4g}; the first at {place} is {left[at]:.6g}, expected {right[at]:.6g}"
            )
    return Comparison(mismatched, elements, most, message)


def _numbers(name: str, array: Array) -> Array:
    """The array as float64, or as int64 where that is exact."""
    if name == "bfloat16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64 if array.dtype.kind == "f" else np.int64)


def _differing(
    left: Array, right: Array, name: str, rtol: float | None, atol: float | None
) -> tuple[Array, float]:
    """Which elements differ by more than allowed, and the largest difference."""
    relative = _RELATIVE.get(name, 0.0) if rtol is None else rtol
    finite = np.isfinite(right)
    if atol is None:
        known = np.abs(right[finite].astype(np.float64))
        atol = relative * float(known.mean()) if known.size else 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(left.astype(np.float64) - right.astype(np.float64))
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        near = difference <= atol + relative * np.abs(right)
    wrong: Array = ~(same | (near & finite & np.isfinite(left)))
    shown = difference[~same & np.isfinite(difference)]
    return wrong, float(shown.max()) if shown.size else 0.0


def follows(
    first: Sequence[tuple[str, Array]],
    second: Sequence[tuple[str, Array]],
    expected_first: Sequence[tuple[str, Array]],
    expected_second: Sequence[tuple[str, Array]],
) -> bool:
    """Whether results vary with their inputs as the expected ones do, for two sets of inputs.

    A tolerance alone accepts a constant for what varies little, such as the mean of many squares.
    """
    parts = [
        _part_followed(each[0][0], *map(_values, each))
        for each in zip(first, second, expected_first, expected_second, strict=True)
    ]
    known = [part for part in parts if part is not None]
    return not known or max(known) >= _LEAST_PART


def _values(result: tuple[str, Array]) -> Array:
    return _numbers(*result).astype(np.float64).reshape(-1)


def _part_followed(
    name: str, first: Array, second: Array, expected_first: Array, expected_second: Array
) -> float | None:
    """The part of the variation of the expected values that the values found have; None where they
    do not vary by more than roundings."""
    wanted, found = expected_second - expected_first, second - first
    sound = np.isfinite(wanted) & np.isfinite(found)
    if not sound.any():
        return None
    wanted, found = wanted[sound], found[sound]
    least = _LEAST_DIGITS * _ROUNDING.get(name, 0.0) * _norm(expected_second[sound])
    if _norm(wanted) <= least:
        return None
    return float(np.dot(found, wanted) / np.dot(wanted, wanted))


def _norm(values: Array) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
