"""Note which kernels a process launches, by the places of their `with T.Kernel`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tile_runtime.launcher.run_watchers import watch_runs

# Names the file that a child of the harness appends its launches to.
VARIABLE = "CONFORMANCE_LAUNCHES"


@contextmanager
def note_launches() -> Iterator[None]:
    """Append a line `FILE:LINE` to the file that the variable names, once for each kernel that runs
    in the block; a run that ends in an error has none. Without the variable nothing is noted."""
    name = os.environ.get(VARIABLE)
    if not name:
        yield
        return
    noted: set[str] = set()

    def note(kernel: Any) -> None:
        place = kernel.prim_func.launch.loc
        line = f"{Path(place.file).resolve()}:{place.line}\n"
        if line not in noted:
            noted.add(line)
            with Path(name).open("a") as stream:
                stream.write(line)

    with watch_runs(note):
        yield


def launches_in(file: Path, examples: Path) -> frozenset[tuple[str, int]]:
    """What was noted of files below `examples`: their paths below it, and lines."""
    if not file.is_file():
        return frozenset()
    found = set()
    for text in file.read_text().splitlines():
        path, _, line = text.rpartition(":")
        if Path(path).is_relative_to(examples.resolve()):
            below = Path(path).relative_to(examples.resolve())
            found.add((below.as_posix(), int(line)))
    return frozenset(found)
