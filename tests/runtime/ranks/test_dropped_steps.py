"""Random programs of three ranks in which nothing is wrong, with one signal or quiet less: where
some run of what is left goes wrong, the checker says so, whichever run it sees itself."""

from __future__ import annotations

import random
from collections.abc import Iterator

from kept_cases import examples
from test_random_programs import (
    QUIET,
    SIGNAL,
    Programs,
    Verdict,
    agree,
    brute_force,
    checked,
    random_programs,
)

FINE = Verdict(race=False, unquiet=False, hangs=False)


def without(programs: Programs) -> Iterator[Programs]:
    """The programs with one signal or quiet less, each in turn."""
    for rank, steps in enumerate(programs):
        for place, step in enumerate(steps):
            if step[0] in (QUIET, SIGNAL):
                left = (*steps[:place], *steps[place + 1 :])
                yield (*programs[:rank], left, *programs[rank + 1 :])


def counted(seeds: range) -> tuple[int, int, int]:
    """How many steps were left out of clean programs, how many of them matter, and of how many of
    those the checker says what all runs show."""
    dropped = matter = noticed = 0
    for seed in seeds:
        programs = random_programs(random.Random(seed))
        if brute_force(programs) != FINE:
            continue
        for less in without(programs):
            dropped += 1
            if brute_force(less) == FINE:
                continue
            matter += 1
            options = {"seed": seed, "threads": 1 + seed % 2, "delivery": dropped % 3}
            noticed += agree(less, checked(less, **options))
    return dropped, matter, noticed


def test_whatever_matters_is_missed_when_it_is_left_out() -> None:
    dropped, matter, noticed = counted(range(examples(600)))
    assert matter > dropped / 3 > 100
    assert noticed == matter
