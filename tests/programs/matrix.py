"""Runs cases of the matrix, several in one kernel, and blames those that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from .batch import Outcome, run_programs
from .matrix_cases import Case
from .matrix_programs import program_of

# Cases of one kernel, kernels of one translation unit.
TOGETHER, KERNELS = 8, 24
# What the compiler may refuse: rows of ub that start off a block.
MAY_REFUSE = ("operand-alignment", "row-alignment", "strided-operand", "fractal-alignment")


@dataclass
class MatrixTally:
    """What became of the cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    covered: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[Case, Outcome]] = field(default_factory=list)

    def add(self, other: MatrixTally) -> None:
        self.outcomes += other.outcomes
        self.covered += other.covered
        self.wrong += other.wrong


def kernels_of(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that can stand in one kernel."""
    groups: dict[tuple[str, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.style, case.on_cube), []).append(case)
    return [
        group[i : i + (TOGETHER if not group[0].on_cube else TOGETHER // 4)]
        for group in groups.values()
        for i in range(0, len(group), TOGETHER if not group[0].on_cube else TOGETHER // 4)
    ]


def run_cases(cases: Sequence[Case], blame: bool = True) -> MatrixTally:
    """Run all; a kernel that is not right is run again case by case."""
    tally = MatrixTally()
    kernels = kernels_of(cases)
    for first in range(0, len(kernels), KERNELS):
        some = kernels[first : first + KERNELS]
        outcomes = run_programs([program_of(k, 0) for k in some])
        again: list[Case] = []
        for kernel, outcome in zip(some, outcomes, strict=True):
            if outcome.kind == "same":
                for case in kernel:
                    _count(tally, case, outcome)
            elif blame or len(kernel) == 1 or outcome.kind == "refused":
                again += kernel
            else:
                tally.wrong.append((kernel[0], outcome))
        found = run_programs([program_of([case], 0) for case in again])
        for case, outcome in zip(again, found, strict=True):
            _count(tally, case, outcome)
    return tally


def table(tally: MatrixTally) -> str:
    """How many cases of each form were right, by direction."""
    lines = [
        f"{sum(tally.outcomes.values())} cases: {', '.join(f'{k} {n}' for k, n in tally.outcomes.most_common())}"
    ]
    lines += [f"{n:6} {form}" for form, n in sorted(tally.covered.items())]
    return "\n".join(lines)


def _count(tally: MatrixTally, case: Case, outcome: Outcome) -> None:
    tally.outcomes[outcome.name] += 1
    if outcome.kind == "same":
        tally.covered[f"{case.direction}: {case.form}"] += 1
    elif outcome.kind != "refused" or outcome.slug not in MAY_REFUSE:
        tally.wrong.append((case, outcome))
