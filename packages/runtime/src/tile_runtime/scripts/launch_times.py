"""Modelled times of all launches of a script, in a table by kernel."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tile_runtime.jit_kernels.compiled_kernel import CompiledKernel, watch_runs


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
        width = max(map(len, ("kernel", *self.by_kernel)))
        heads = f"{'mean us':>12} {'least us':>12} {'most us':>12}"
        lines = [f"{'kernel':<{width}} {'launches':>8} {heads}"]
        for name, times in self.by_kernel.items():
            mean = sum(times) / len(times)
            lines.append(
                f"{name:<{width}} {len(times):8} {mean:12.2f} {min(times):12.2f} {max(times):12.2f}"
            )
        return "\n".join(lines)


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
