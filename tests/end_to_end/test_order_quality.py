"""Modelled times of kernels ordered by hand, automatically and back to back."""

from __future__ import annotations

from pathlib import Path

import pytest
from example_kernels import EXAMPLES

from tile_runtime.bench_order import largest_sizes, order_scale
from tile_runtime.bench_row import Examples
from tile_runtime.order_quality import Times, example_times


def times_of(stem: str, folder: Path) -> dict[str, Times]:
    for name in (f"{stem}.py", "report.py"):
        (folder / name).symlink_to(EXAMPLES / name)
    return example_times(folder)


@pytest.mark.parametrize("stem", ["03_gemm_intrinsic", "11_split_k_gemm"])
def test_stages_overlap_without_flags_in_the_source(stem: str, tmp_path: Path) -> None:
    found = times_of(stem, tmp_path)
    assert len(found) == 2
    assert min(t.ratio for t in found.values()) < 0.7
    for times in found.values():
        assert times.ratio < 1.0
        assert times.by_hand is None or times.automatic <= 1.03 * times.by_hand
    assert (stem == "03_gemm_intrinsic") == all(t.by_hand for t in found.values())


def test_the_largest_size_counts() -> None:
    sizes = {"a.x 1": Times(None, 1, 2), "a.x 2": Times(None, 1, 3), "b.y 1": Times(None, 1, 1)}
    assert largest_sizes(sizes) == {"a": "a.x 2", "b": "b.y 1"}


def test_time_of_passes(tmp_path: Path) -> None:
    """Half a second for two thousand operations, and no more than in proportion for twice as many:
    the limits of the bench, on a machine that does other things too."""
    rows = {row.name: row for row in order_scale(Examples(tmp_path))}
    (short,) = (row for name, row in rows.items() if "2000 operations in a row" in name)
    (growth,) = (row for name, row in rows.items() if "against" in name)
    assert short.low < 0.6 and growth.median < 3.0
