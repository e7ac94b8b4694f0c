"""Modelled times of all launches of a script, in a table by kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tile_runtime.jit_kernels.compiled_kernel import CompiledKernel, watch_runs
from tile_runtime.scripts.columns import columns


@dataclass
class LaunchTimes:
    """Microseconds of every launch, with that of launching, by kernel."""

    by_kernel: dict[str, list[float]] = field(default_factory=dict)

    def add(self, kernel: CompiledKernel) -> None:
        """Note the run that has just ended."""
        timeline = kernel.timeline()
        if timeline is not None:
            name = kernel.prim_func.name
            self.by_kernel.setdefault(name, []).append(timeline.task_microseconds)

    def table(self) -> str:
        """One line per kernel."""
        rows: list[tuple[str, ...]] = [("kernel", "launches", "mean us", "least us", "most us")]
        for name, times in self.by_kernel.items():
            figures = (sum(times) / len(times), min(times), max(times))
            rows.append((name, str(len(times)), *(f"{us:.2f}" for us in figures)))
        return columns(rows, right=range(1, 5))


@contextmanager
def launch_times_printed() -> Iterator[None]:
    """After the block, however it ends, the table of its launches on standard error."""
    times = LaunchTimes()
    try:
        with watch_runs(times.add):
            yield
    finally:
        if times.by_kernel:
            sys.stdout.flush()
            print(f"modelled time on the device, with launch:\n{times.table()}", file=sys.stderr)
