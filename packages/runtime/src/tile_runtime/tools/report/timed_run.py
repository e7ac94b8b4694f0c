"""Hold a timed run with the data of later reports: modelled timeline, chip, sources, and the map
from a line of C++ to its line of Python."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.quick_dataclasses import dataclass, replace
from tile_runtime.cache.fingerprint import source_hash
from tile_runtime.launcher.run_watchers import record_calls
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.simulation_error import python_place
from tile_runtime.simulator.timeline import Timeline
from tile_runtime.tools.report.kernel_facts import KernelFacts, kernel_facts

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

Place = tuple[str, int]


@dataclass(frozen=True)
class TimedRun:
    """`sources` has texts by file; `places` leads from (C++ file, line) to (Python file, line);
    `remarks` are those of the compiler by place. All but `sources` are empty for a source written
    by hand. `ranks` has what is known of each rank if there are several; its timeline of all of
    them is `timeline`."""

    timeline: Timeline
    kernel: str
    soc: str
    sources: dict[str, str] = field(default_factory=dict)
    places: dict[Place, Place] = field(default_factory=dict)
    remarks: dict[Place, str] = field(default_factory=dict)
    facts: KernelFacts = field(default_factory=KernelFacts)
    ranks: RankTimes | None = None

    def block_name(self, block: int) -> str:
        """A block as it is shown, with its rank if there are several."""
        if self.ranks is None:
            return f"block {block}"
        rank, own = divmod(block, self.ranks.blocks)
        return f"rank {rank} block {own}"

    def cpp_place(self, file: int, line: int) -> Place:
        """The C++ place of an event, whose `file` is an index."""
        return self.timeline.strings[file], line

    def shown_place(self, cpp: Place) -> Place:
        """The Python place a C++ place was made from, or itself where there is none."""
        return self.places.get(cpp, cpp)

    def text_at(self, place: Place) -> str:
        """The line of source at a place, "" if it is not known."""
        file, number = place
        lines = self.sources.get(file, "").splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def main_source(self) -> str:
        """The C++ file most instructions come from, or "" if its text is not known."""
        files, counts = np.unique(self.timeline.events["file"], return_counts=True)
        for file in files[np.argsort(-counts, kind="stable")]:
            name = self.timeline.strings[int(file)]
            if name in self.sources:
                return name
        return ""

    @property
    def source_hash(self) -> str:
        """That of the C++ source, as all commands print it."""
        return source_hash(self.sources.get(self.main_source(), ""))


def place_text(place: Place) -> str:
    """A place as it is shown: the last part of the path and the line."""
    file, line = place
    # What the library sets by itself has no line, but words in parentheses.
    return file if file.startswith("(") else f"{PurePath(file).name}:{line}"


def timed_run(kernel: JITKernel, tensor_bytes: int = 0) -> TimedRun | None:
    """The latest run of a kernel, if the switch `time` was on and it ran on the simulator, with
    tensors of so many bytes, 0 if unknown.

    To be called before another kernel runs on this thread.
    """
    times = kernel.rank_times()
    if times is None:
        return None
    source = kernel.srcpath
    # The library was compiled in a folder that has been renamed since.
    name = PurePath(source).name
    strings = [source if PurePath(s).name == name else s for s in times.whole.strings]
    timeline = replace(times.whole, strings=strings)
    text = Path(source).read_text()
    func = kernel.prim_func
    lines = text.splitlines()
    places = {}
    events = timeline.events
    ours = np.isin(events["file"], [i for i, s in enumerate(strings) if s == source])
    numbers = np.concatenate([events["line"][ours], timeline.accesses["made"]])
    for number in map(int, np.unique(numbers)):
        loc = python_place(lines, number, func) if number else None
        if loc is not None:
            places[source, number] = (loc.file, loc.line)
    sources = {source: text, **func.sources}
    return TimedRun(
        timeline, kernel.name, kernel.target.name, sources, places, _remarks(kernel),
        kernel_facts(kernel, tensor_bytes),
        replace(times, whole=timeline) if times.ranks > 1 else None,
    )  # fmt: skip


def _remarks(kernel: JITKernel) -> dict[Place, str]:
    """The compiler's remarks on each line, with their hints."""
    found: dict[Place, list[str]] = {}
    for remark in kernel.remarks:
        if remark.loc is not None:
            said = remark.message + (f"; {remark.hint}" if remark.hint else "")
            found.setdefault((remark.loc.file, remark.loc.line), []).append(said)
    return {place: " / ".join(dict.fromkeys(said)) for place, said in found.items()}


def watch_timed_runs(seen: Callable[[TimedRun], None]) -> AbstractContextManager[None]:
    """While the block runs, `seen` is called with every timed run of any kernel."""

    def ran(kernel: JITKernel, call: Any, inputs: tuple[Any, ...]) -> None:
        run = timed_run(kernel, kernel.tensor_bytes(call))
        if run is not None:
            seen(run)

    return record_calls(ran)
