"""Regimes in which a model of this kind errs first, and how far its median may be off in each.

A case names its regime by letter; rows of other cases belong to none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from modelled import Compared, median_error

REGIMES = {
    "a": "rows of GM that are not whole lines of 512 B",
    "b": "more blocks than cores",
    "c": "copies of single elements",
    "d": "launch and start of small kernels",
    "e": "Sort32 and MrgSort",
    "f": "cores that read the same lines at a time",
}
LIMIT = 0.15


def regime_errors(rows: Sequence[Compared]) -> dict[str, float]:
    """The median error of each regime that has rows among these."""
    found = {letter: [row for row in rows if row.case.regime == letter] for letter in REGIMES}
    return {letter: median_error(of_it) for letter, of_it in found.items() if of_it}


def regime_lines(rows: Sequence[Compared]) -> Iterator[str]:
    """A table in markdown."""
    yield "| regime | values | median error |"
    yield "| --- | --- | --- |"
    for letter, error in regime_errors(rows).items():
        count = sum(row.case.regime == letter for row in rows)
        yield f"| ({letter}) {REGIMES[letter]} | {count} | {error:.1%} |"
