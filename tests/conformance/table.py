"""The results as a page in Markdown and as CSV."""

from __future__ import annotations

import csv
import io
import statistics
from collections import Counter
from collections.abc import Sequence

from conformance.outcome import Kind
from conformance.run_task import Result

_LONGEST_DETAIL = 110


def summary(results: Sequence[Result]) -> str:
    """One line: how many of each kind, and what lowering takes."""
    counts = Counter(r.outcome.kind for r in results)
    parts = [f"{counts[kind]} {kind.value}" for kind in Kind if counts[kind]]
    text = f"{len(results)} runs: {', '.join(parts)}"
    by_text = sum(r.by_text for r in results)
    text += f"; {by_text} say that they passed"
    fronts = [ms for r in results for ms in r.fronts]
    if fronts:
        text += (
            f"; trace + lower + emit of {len(fronts)} kernels: median "
            f"{statistics.median(fronts):.1f} ms, slowest {max(fronts):.1f} ms; barriers of all "
            f"pipes inserted in loops: {sum(r.full_barriers for r in results)}"
        )
    return text


def markdown(results: Sequence[Result], check: str) -> str:
    """The page: summary, what is in the way most often, every run."""
    lines = [
        "# Scripts of tilelang-ascend on this compiler",
        "",
        f"`tile-ascend run --check {check}`. {summary(results)}.",
        "",
        "| in the way | runs | first |",
        "| --- | ---: | --- |",
        *(f"| {reason} | {count} | {first} |" for reason, count, first in obstacles(results)),
        "",
        "| script | outcome | what | where | s | kernels | trace + lower + emit, slowest, ms "
        "| barriers of all pipes inserted in loops |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |",
        *map(_row, results),
        "",
    ]
    return "\n".join(lines)


def obstacles(results: Sequence[Result]) -> list[tuple[str, int, str]]:
    """What keeps scripts from passing: reason, how many, and the first of them; most first."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        outcome = result.outcome
        if result.passed or outcome.kind in (Kind.NEEDS_NPU, Kind.NEEDS_PORTING, Kind.DEFECT):
            continue
        # A missing symbol counts by its name, everything else by its slug.
        what = outcome.detail if outcome.slug == "unknown-name" else outcome.slug
        groups.setdefault(f"{outcome.kind.value} {_cell(what)}".strip(), []).append(result)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [(reason, len(found), found[0].task.title) for reason, found in ordered]


def as_csv(results: Sequence[Result]) -> str:
    """One row per run."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow(["script", "arguments", "outcome", "slug", "place", "detail", "seconds",
                     "kernels", "slowest_front_ms", "median_front_ms",
                     "full_barriers_in_loops"])  # fmt: skip
    for r in results:
        slowest = f"{max(r.fronts):.2f}" if r.fronts else ""
        median = f"{statistics.median(r.fronts):.2f}" if r.fronts else ""
        writer.writerow([r.task.name, " ".join(r.task.arguments), r.outcome.kind.value,
                         r.outcome.slug, r.outcome.place, r.outcome.detail, f"{r.seconds:.1f}",
                         len(r.fronts), slowest, median,
                         r.full_barriers if r.fronts else ""])  # fmt: skip
    return stream.getvalue()


def _row(r: Result) -> str:
    o = r.outcome
    what = f"{o.slug}: {o.detail}" if o.slug and o.detail else o.slug or o.detail
    slowest = f"{max(r.fronts):.1f}" if r.fronts else ""
    place = o.place.rpartition("/")[2]
    return (
        f"| {r.task.title} | {o.kind.value} | {_cell(what)} | {place} | {r.seconds:.1f} | "
        f"{len(r.fronts) or ''} | {slowest} | {r.full_barriers if r.fronts else ''} |"
    )


def _cell(text: str) -> str:
    short = text if len(text) <= _LONGEST_DETAIL else text[: _LONGEST_DETAIL - 3] + "..."
    return short.replace("|", "\\|")
