"""Modelled times of kernels ordered by hand, automatically and back to back."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.order import order_scale
from bench.order_quality import SIZES, example_times
from bench.row import Examples
from example_kernels import EXAMPLES, SCRIPTS


def test_stages_overlap_without_flags_in_the_source() -> None:
    found = example_times(EXAMPLES, ["03_gemm_intrinsic", "11_split_k_gemm"])
    by_hand, automatic = found.values()
    assert by_hand.ratio < 0.6
    # The second waits for HBM in any order: 10.2 us, and 12.7 back to back. That was 13.5 while the
    # clock charged start-ups as work; what start-ups cost back to back was overlapped before too.
    assert automatic.ratio < 0.81 and automatic.automatic < 10.3
    assert by_hand.by_hand is not None and automatic.by_hand is None
    assert by_hand.automatic <= 1.03 * by_hand.by_hand


def test_every_example_has_a_size() -> None:
    assert list(SIZES) == [script.stem for script in SCRIPTS]


@pytest.mark.exhaustive
def test_time_of_passes(tmp_path: Path) -> None:
    """Half a second for two thousand operations, and no more than in proportion for twice as many:
    the limits of the bench, on a machine that does other things too."""
    rows = {row.name: row for row in order_scale(Examples(tmp_path))}
    (short,) = (row for name, row in rows.items() if "2000 operations in a row" in name)
    (growth,) = (row for name, row in rows.items() if "against" in name)
    assert short.low < 0.6 and growth.median < 3.0
