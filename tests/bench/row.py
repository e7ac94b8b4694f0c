"""What a measurement of this compiler is: rows with medians, and the kernels of the examples.

The rows themselves stand elsewhere.
"""

from __future__ import annotations

import io
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from tile_ir.switches import override
from tile_runtime.jit_kernels.kernel import JITKernel
from tile_runtime.jit_kernels.watch_kernels import watch_kernels
from tile_runtime.scripts.module import load_script

# Medians of at least this many runs, whatever a row takes.
RUNS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the median and spread of `runs` measurements in `unit`.

    `limit` is what the median may be at most, or at least where more is better.
    """

    name: str
    median: float
    low: float
    high: float
    unit: str
    runs: int
    limit: float | None = None
    more_is_better: bool = False

    @property
    def missed(self) -> bool:
        if self.limit is None:
            return False
        return self.median < self.limit if self.more_is_better else self.median > self.limit

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        asked = f"{'at least' if self.more_is_better else 'at most'} {self.limit:g}"
        return f"{asked}: {'MISSED' if self.missed else 'held'}"


class Examples:
    """The kernels to measure: those the examples make when they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kernels: list[tuple[str, JITKernel]] | None = None

    def kernels(self) -> list[tuple[str, JITKernel]]:
        """Every kernel, under `example.kernel`; the examples run when it is first asked."""
        if self._kernels is None:
            found: dict[str, JITKernel] = {}
            for path in sorted(self.folder.glob("[0-9]*.py")):
                module = load_script(path)
                with watch_kernels() as kernels, redirect_stdout(io.StringIO()):
                    module.main()
                for kernel in kernels:
                    found.setdefault(f"{path.stem}.{kernel.prim_func.name}", kernel)
            self._kernels = list(found.items())
        return self._kernels


Measurement = Callable[[Examples], "list[Row]"]


def summary(name: str, seconds: Sequence[float], unit: str, limit: float | None = None) -> Row:
    """The row of measurements given in seconds; `unit` and that of the limit is s, ms or us."""
    scale = {"s": 1.0, "ms": 1e3, "us": 1e6}[unit]
    values = [s * scale for s in seconds]
    return Row(name, statistics.median(values), min(values), max(values), unit, len(values), limit)


def repeat(run: Callable[[], object], times: int = RUNS) -> list[float]:
    """Seconds of each of `times` runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds


def exactly(
    name: str, value: float, unit: str, limit: float | None = None, more_is_better: bool = False
) -> Row:
    """The row of what is the same at every run, such as a modelled time."""
    return Row(name, value, value, value, unit, 1, limit, more_is_better)


@contextmanager
def empty_cache() -> Iterator[None]:
    """A kernel cache that holds nothing and goes away again."""
    with tempfile.TemporaryDirectory(prefix="tile-bench-") as folder, override(cache_dir=folder):
        yield
