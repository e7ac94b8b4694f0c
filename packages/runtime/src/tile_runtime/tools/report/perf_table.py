"""Modelled times of kernels over sizes: a table as text, CSV, a picture, and in a notebook."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from tile_ir import CallError
from tile_ir.quick_dataclasses import dataclass
from tile_runtime.scripts.columns import columns
from tile_runtime.tools.report.number_text import microseconds, rate
from tile_runtime.tools.report.perf_picture import PAPER, Curve, Panel, perf_picture

_CELL = "padding:1px 10px;text-align:right"
_FIELDS = ("us", "us_with_launch", "flops_per_second", "bytes_per_second", "roofline_share",
           "bound", "problem")  # fmt: skip


@dataclass(frozen=True, slots=True)
class PerfPoint:
    """One kernel at one size: modelled microseconds on the device, and with launch; rates per
    second; the share of the roofline, 0 to 1, and the part of the chip that is the roofline. Where
    there is a `problem` the numbers are 0."""

    kernel: str
    size: Mapping[str, Any]
    microseconds: float = 0.0
    task_microseconds: float = 0.0
    operations: float = 0.0
    bytes: float = 0.0
    share: float = 0.0
    bound: str = ""
    problem: str = ""


@dataclass(frozen=True)
class PerfReport:
    """Points by kernel and size, in the order of the caller's lists.

    Printed it is a table, `save` writes the picture or the table, and a notebook shows both.
    """

    names: tuple[str, ...]
    kernels: tuple[str, ...]
    points: tuple[PerfPoint, ...]
    title: str = ""

    def __str__(self) -> str:
        head, *rows = self.rows()
        return columns([head, *rows], right=range(len(self.names), len(head) - 2))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        titles = "".join(f'<th style="{_CELL}">{escape(cell)}</th>' for cell in head)
        body = "\n".join(
            "<tr>" + "".join(f'<td style="{_CELL}">{escape(c)}</td>' for c in row) + "</tr>"
            for row in rows
        )
        table = f"<table><thead><tr>{titles}</tr></thead><tbody>\n{body}\n</tbody></table>"
        return f"<div>\n{self.picture()}\n{table}\n</div>"

    def rows(self) -> list[tuple[str, ...]]:
        """The table as text: titles, then a row for each size and kernel."""
        title = (*self.names, "kernel", "time", "with launch", "compute", "memory", "of roofline",
                 "bound by", "")  # fmt: skip
        return [title, *map(self._row, self.points)]

    def to_csv(self) -> str:
        """The numbers as CSV: microseconds, operations and bytes per second, shares from 0 to 1."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.names, "kernel", *_FIELDS])
        for point in self.points:
            sizes = [point.size[name] for name in self.names]
            numbers = (point.microseconds, point.task_microseconds, point.operations, point.bytes,
                       point.share)  # fmt: skip
            known = [""] * len(numbers) if point.problem else [f"{n:.6g}" for n in numbers]
            writer.writerow([*sizes, point.kernel, *known, point.bound, point.problem])
        return text.getvalue()

    def picture(self, paper: str = "none") -> str:
        """The curves as SVG: time, rate and share of the roofline over the sizes."""
        computes = any(point.bound == "matrix units" for point in self.points)
        panels = (
            Panel("time on the device, µs", "log", self._curves(lambda p: p.microseconds)),
            Panel("TFLOP/s", "linear", self._curves(lambda p: p.operations / 1e12))
            if computes
            else Panel("GB/s of the tensors", "linear", self._curves(lambda p: p.bytes / 1e9)),
            Panel("% of the roofline", "percent", self._curves(lambda p: 100 * p.share)),
        )
        labels = list(dict.fromkeys(self._label(point) for point in self.points))
        return perf_picture(", ".join(self.names), labels, panels, self.title, paper)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the curves as `.svg`, with the numbers as `.csv` beside it, or these alone; return
        the path."""
        file = Path(path)
        if file.suffix not in (".svg", ".csv"):
            raise CallError(
                "kernel-arguments",
                f"curves can not be written as {file.name!r}",
                hint="end the name with .svg, which brings a .csv, or with .csv",
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".svg":
            file.write_text(self.picture(PAPER) + "\n", encoding="utf-8")
        file.with_suffix(".csv").write_text(self.to_csv(), encoding="utf-8")
        return file

    def _row(self, point: PerfPoint) -> tuple[str, ...]:
        sizes = [str(point.size[name]) for name in self.names]
        if point.problem:
            return (*sizes, point.kernel, "", "", "", "", "", "", point.problem)
        return (
            *sizes, point.kernel, microseconds(point.microseconds),
            microseconds(point.task_microseconds), rate(point.operations, "FLOP/s"),
            rate(point.bytes, "B/s"), f"{100 * point.share:.1f} %", point.bound, "",
        )  # fmt: skip

    def _curves(self, number: Any) -> tuple[Curve, ...]:
        """One for each kernel; a size without a time is a gap."""
        return tuple(
            Curve(
                kernel,
                {self._label(p): number(p) for p in self.points
                 if p.kernel == kernel and not p.problem},
            )
            for kernel in self.kernels
        )  # fmt: skip

    def _label(self, point: PerfPoint) -> str:
        """The size as it stands below the curves; names of equal values share one."""
        return " x ".join(dict.fromkeys(str(point.size[name]) for name in self.names))
