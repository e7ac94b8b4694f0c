"""Hand a kernel to the reports, which stand above kernels and are loaded when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Protocol


class Report(Protocol):
    """What `report` of a kernel returns: printed it is text, and a notebook shows a page."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page as `.html`, a Chrome trace as `.json`, or the timeline as `.npz`."""

    def _repr_html_(self) -> str: ...


def report_on(kernel: Any, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> Report:
    """Report on a kernel, as the function of this name in tools/report says."""
    reports = import_module("tile_runtime.tools.report.kernel_report")
    found: Report = reports.report_on(kernel, inputs, named)
    return found
