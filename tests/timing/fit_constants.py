"""Finds the constants of the time model from the published rows that fix them (fixed_constants.py).

`python tests/timing/fit_constants.py [name ...] [--full]` runs the cases of a constant again and again, all other
constants as tile_ir/costs/timing.py has them, until the median of their errors is as near to zero as it comes between half
and twice the value there. Where a row rounds, or two disagree, the page of the model says what was chosen and why.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / "runtime" / "simulator"), str(_HERE.parent)]

from cases import cases  # noqa: E402
from fixed_constants import FIXED_BY  # noqa: E402
from modelled import compare  # noqa: E402

from tile_ir.costs.timing import DEFAULT_TIMING  # noqa: E402

STEPS = 8


@dataclass(frozen=True)
class Fitted:
    """A constant by its rows: the value in use and its median error, the value found and its own."""

    name: str
    used: float
    used_error: float
    value: float
    error: float


def fit(name: str, full: bool = False) -> Fitted | None:
    """None where the rows of the constant come from launches that take minutes, and `full` does not ask for them."""
    wanted = FIXED_BY[name]
    chosen = [c for c in cases() if any(c.name == case for case, _ in wanted)]
    if any(c.full for c in chosen) and not full:
        return None

    def error(value: float) -> float:
        table = replace(DEFAULT_TIMING, **{name: value})
        rows = compare(chosen, table=table)
        return float(np.median([r.error for r in rows if (r.case.name, r.row.metric) in wanted]))

    used = getattr(DEFAULT_TIMING, name)
    value = least(error, used / 2, used * 2)
    return Fitted(name, used, error(used), value, error(value))


def least(error: Callable[[float], float], low: float, high: float) -> float:
    """Where an error that only grows or only falls is nearest to zero, by halving."""
    at_low, at_high = error(low), error(high)
    if (at_low < 0) == (at_high < 0):
        return low if abs(at_low) < abs(at_high) else high
    for _ in range(STEPS):
        middle = (low + high) / 2
        found = error(middle)
        low, high, at_low = (
            (middle, high, found) if (found < 0) == (at_low < 0) else (low, middle, at_low)
        )
    return (low + high) / 2


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FIXED_BY, []])
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args(arguments)
    print("| constant | in use | median error | best by its rows | median error |")
    print("| --- | --- | --- | --- | --- |")
    for name in options.names or FIXED_BY:
        found = fit(name, options.full)
        if found is not None:
            print(
                f"| {name} | {found.used:g} | {found.used_error:+.1%} | {found.value:.4g} | {found.error:+.1%} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
