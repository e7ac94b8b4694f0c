"""A fixed part of the random programs; `make fuzz-programs` runs others."""

from __future__ import annotations

import pytest
from kept_cases import kept_number

from .campaign import BATCH, run_seeds


@pytest.mark.parametrize("first", [0, BATCH, 2 * BATCH, 3 * BATCH])
def test_random_programs(first: int) -> None:
    tally = run_seeds(first, kept_number(BATCH * 2) if first else BATCH)
    assert not tally.failures, "\n\n".join(
        f"seed {f.program.seed}: {f.outcome.name}: {f.outcome.message}\n{f.program.text}"
        for f in tally.failures[:3]
    )
