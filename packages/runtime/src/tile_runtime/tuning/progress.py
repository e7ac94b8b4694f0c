"""A progress bar with the best so far, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tile_runtime.tuning.results import TrialRow


@contextmanager
def shown(total: int) -> Iterator[Callable[[TrialRow], None]]:
    """Yield a function to call with each finished row. In pipes it prints nothing."""
    if not sys.stderr.isatty():
        yield lambda row: None
        return
    # A pipe need not wait for it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("tuning"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[best]}"),
    )  # fmt: skip
    best = float("inf")
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, best="")

        def tell(row: TrialRow) -> None:
            nonlocal best
            bar.advance(task)
            if row.milliseconds is not None and row.milliseconds < best:
                best = row.milliseconds
                text = ", ".join(f"{name}={value}" for name, value in row.values.items())
                bar.update(task, best=f"best {1e3 * best:.2f} µs: {text}")

        yield tell
