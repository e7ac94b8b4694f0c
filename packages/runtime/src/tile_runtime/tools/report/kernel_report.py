"""Report on a kernel object: where the time of a run went, as text, in a notebook, or as a file."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from tile_ir import CallError, KernelError
from tile_ir.quick_dataclasses import dataclass
from tile_ir.switches import override
from tile_runtime.jit_kernels.tensor_supply import supply_tensors
from tile_runtime.launcher.signature import TensorParam
from tile_runtime.tools.report.chrome_trace import write_chrome_trace
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.report_text import headline, report_text, verdict_text
from tile_runtime.tools.report.saved_timeline import save_run
from tile_runtime.tools.report.timed_run import TimedRun, timed_run, watch_timed_runs
from tile_runtime.tools.report.why.measures import Measures

if TYPE_CHECKING:
    from tile_runtime.jit_kernels.kernel import JITKernel

# A notebook keeps every page it shows: as many instructions are drawn as make a few 100 KB.
_SHOWN_EVENTS = 20_000
_MADE_UP = "Inputs are random numbers of the report's own making; `report(...)` takes yours."


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The timed run of each launch of a kernel, in order. `note` says what should be known of it.

    Printed it is text, `save` writes a file, and a notebook shows the page.
    """

    runs: tuple[TimedRun, ...]
    note: str = ""

    def __repr__(self) -> str:
        said = (f"{headline(run)}\n{verdict_text(Measures(run))}" for run in self.runs)
        return "\n".join([*said, *self._notes()])

    def __str__(self) -> str:
        return "\n".join([*map(report_text, self.runs), *self._notes()])

    def _repr_html_(self) -> str:
        frames = (
            f'<iframe srcdoc="{escape(report_page(run, event_limit=_SHOWN_EVENTS))}" '
            f'title="Report on {escape(run.kernel)}" style="width:100%;height:720px;'
            'border:1px solid #8c959f;border-radius:6px"></iframe>'
            for run in self.runs
        )
        return "\n".join([*frames, *(f"<p>{escape(note)}</p>" for note in self._notes())])

    @property
    def run(self) -> TimedRun:
        """The run of the last launch."""
        return self.runs[-1]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the last launch to a file and return its path: the page as `.html`, a Chrome trace
        as `.json`, the timeline as `.npz`."""
        file = Path(path)
        if file.suffix not in (".html", ".json", ".npz"):
            raise CallError(
                "kernel-arguments",
                f"a report can not be written as {file.name!r}",
                hint="end the name with .html, .json or .npz",
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".html":
            file.write_text(report_page(self.run), encoding="utf-8")
        elif file.suffix == ".json":
            write_chrome_trace(self.run, file)
        else:
            save_run(self.run, file)
        return file

    def _notes(self) -> list[str]:
        return [self.note] if self.note else []


def report_on(kernel: JITKernel, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> KernelReport:
    """Report on a run with these inputs; without inputs on the latest run of the kernel on this
    thread, and if that had no clock, on a run with inputs of its own making.

    Raises KernelError if the kernel does not run on the simulator, and if its inputs can not be
    made.
    """
    if not inputs and not named:
        latest = timed_run(kernel, _declared_bytes(kernel))
        if latest is not None:
            repeated = kernel.made_up_run == _checksum(latest)
            return KernelReport((latest,), _MADE_UP if repeated else "")
    given = bool(inputs or named)
    runs: list[TimedRun] = []
    with override(time=True), watch_timed_runs(runs.append):
        kernel(*(inputs if given else supply_tensors(kernel)), **named)
    if not runs:
        raise KernelError(
            "no-timed-run",
            f"`{kernel.name}` did not run on the simulator, which has the clock",
            hint='run it there: T.jit(run_mode="sim") or TILE_TARGET=sim, with tensors that are '
            "not empty",
        )
    made_up = not given and len(kernel.params) > len(kernel.out_idx) + len(kernel.workspace_idx)
    kernel.made_up_run = _checksum(runs[-1]) if made_up else None
    return KernelReport(tuple(runs), _MADE_UP if made_up else "")


def _checksum(run: TimedRun) -> int:
    """Return a number by which a later report recognises the run."""
    return crc32(run.timeline.events.tobytes())


def _declared_bytes(kernel: JITKernel) -> int:
    """Return the bytes of the tensors that the kernel declares; 0 where a call decides a size."""
    count = len(kernel.prim_func.params)
    tensors = [
        p
        for n, p in enumerate(kernel.parameters[:count])
        if isinstance(p, TensorParam) and n not in kernel.workspace_idx
    ]
    known = all(isinstance(d, int) for p in tensors for d in p.dims)
    return sum(p.dtype.bytes_of(prod(map(int, p.shape))) for p in tensors) if known else 0
