"""Many programs: what became of them, which forms they covered, and the failures made small."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from .batch import Outcome, run_programs
from .generator import random_program
from .program import Program
from .shrink import shrunk

FOUND = Path(__file__).parent / "found"
# Programs of one translation unit.
BATCH = 60


@dataclass(frozen=True)
class Failure:
    program: Program
    outcome: Outcome


@dataclass
class Tally:
    """What a run over some seeds gave."""

    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    # An example of each refusal, and of each program that turned out to have no meaning.
    examples: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, other: Tally) -> None:
        self.outcomes += other.outcomes
        self.refusals += other.refusals
        self.forms += other.forms
        self.failures += other.failures
        self.examples = {**other.examples, **self.examples}
        self.seconds += other.seconds

    @property
    def programs(self) -> int:
        return sum(self.outcomes.values())


def run_seeds(first: int, count: int) -> Tally:
    """The programs of `count` seeds."""
    started = time.perf_counter()
    programs = [random_program(seed) for seed in range(first, first + count)]
    tally = Tally()
    for program, outcome in zip(programs, run_programs(programs), strict=True):
        tally.outcomes[outcome.kind] += 1
        tally.forms.update(set(program.forms))
        if outcome.kind in ("refused", "meaningless"):
            tally.refusals[outcome.name] += 1
            tally.examples.setdefault(outcome.name, program.seed)
        if outcome.is_failure:
            tally.failures.append(Failure(program, outcome))
    tally.seconds = time.perf_counter() - started
    return tally


def kind_of(failure: Failure) -> str:
    """Failures with one cause, as far as the outcome and the forms tell: few of each are made
    small."""
    copies = [re.sub(r" \[.*| (to|part|whole).*", "", f) for f in failure.program.forms]
    operations = sorted({c for c in copies if not c.startswith(("number", "in a"))})
    return f"{failure.outcome.name} / {', '.join(operations)}"


def small(failure: Failure) -> Failure:
    program = shrunk(failure.program, failure.outcome)
    outcome = run_programs([program])[0]
    return Failure(program, outcome)


def save(failure: Failure) -> Path:
    """The program as a regression test."""
    slug = re.sub(r"\W+", "-", failure.outcome.name).strip("-")
    path = FOUND / f"{slug}-{failure.program.seed}.txt"
    message = re.sub(r"/\S*/", "", failure.outcome.message)
    path.write_text(failure.program.written(f"{failure.outcome.name}: {message}"))
    return path
