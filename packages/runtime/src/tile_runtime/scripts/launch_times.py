"""Modelled times of all launches of a script, in a table by kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tile_runtime.launcher.run_watchers import watch_runs
from tile_runtime.scripts.columns import columns


def _table(by_kernel: Mapping[str, list[float]]) -> str:
    """One line per kernel."""
    rows: list[tuple[str, ...]] = [("kernel", "launches", "mean us", "least us", "most us")]
    for name, times in by_kernel.items():
        figures = (sum(times) / len(times), min(times), max(times))
        rows.append((name, str(len(times)), *(f"{us:.2f}" for us in figures)))
    return columns(rows, right=range(1, 5))


@contextmanager
def launch_times_printed() -> Iterator[None]:
    """After the block, however it ends, the table of its launches on standard error."""
    times: dict[str, list[float]] = {}

    def ran(kernel: Any) -> None:
        timeline = kernel.timeline()
        if timeline is not None:
            times.setdefault(kernel.prim_func.name, []).append(timeline.task_microseconds)

    try:
        with watch_runs(ran):
            yield
    finally:
        if times:
            sys.stdout.flush()
            print(f"modelled time on the device, with launch:\n{_table(times)}", file=sys.stderr)
