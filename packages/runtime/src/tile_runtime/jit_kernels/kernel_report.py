"""Report on the latest timed run of a kernel object: its timeline, and the report."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tile_runtime.devices.device import KernelLaunch

if TYPE_CHECKING:
    from tile_runtime.simulator.rank_times import RankTimes
    from tile_runtime.simulator.timeline import Timeline


class Report(Protocol):
    """The result of a kernel's `report`: printed it is text, and a notebook shows a page."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page as `.html`, a Chrome trace as `.json`, or the timeline as `.npz`."""

    def _repr_html_(self) -> str: ...


class TimedKernel:
    """The members of a kernel object that describe its latest timed run."""

    _launch: KernelLaunch
    # By which a report recognises a run with inputs of its own making.
    made_up_run: int | None = None

    def report(self, *inputs: Any, **named: Any) -> Report:
        """Where the time of a run with these inputs goes; a notebook shows it as a page. Without
        inputs, of the latest run if it was timed, else of one with inputs of its own making."""
        # The reports stand above kernels, and are loaded when first asked for.
        reports = import_module("tile_runtime.tools.report.kernel_report")
        found: Report = reports.report_on(self, inputs, named)
        return found

    def timeline(self) -> Timeline | None:
        """The modelled timeline of the latest run on this thread, if that was of this kernel, on
        the simulator, with the switch `time` on."""
        timeline: Callable[[], Timeline | None] | None = getattr(self._launch, "timeline", None)
        return None if timeline is None else timeline()

    def rank_times(self) -> RankTimes | None:
        """The timeline of the latest run with the times of each rank; a launch without ranks counts
        as one rank."""
        times: Callable[[], RankTimes | None] | None = getattr(self._launch, "rank_times", None)
        return None if times is None else times()
