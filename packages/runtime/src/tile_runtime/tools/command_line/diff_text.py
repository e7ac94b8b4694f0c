"""Two timed runs beside each other, for a terminal: the verdict of each, and which pipes and lines
take more or less time."""

from __future__ import annotations

from collections.abc import Iterator

from tile_runtime.scripts.columns import columns
from tile_runtime.tools.report.number_text import cut
from tile_runtime.tools.report.report_text import headline, verdict_text
from tile_runtime.tools.report.timed_run import TimedRun, place_text
from tile_runtime.tools.report.why.between_versions import LineChange, line_changes, pipe_changes
from tile_runtime.tools.report.why.measures import Measures

_MOST_LINES = 12
_LONGEST_SOURCE = 60


def diff_text(old: TimedRun, new: TimedRun, names: tuple[str, str]) -> str:
    """Compare two versions of a kernel by their runs; `names` are those of the runs."""
    return "\n".join(_parts(old, new, names))


def _parts(old: TimedRun, new: TimedRun, names: tuple[str, str]) -> Iterator[str]:
    measures = Measures(old), Measures(new)
    for name, m in zip(names, measures, strict=True):
        yield f"{name}: {headline(m.run)}"
        yield verdict_text(m)
        yield ""
    before, after = old.timeline.task_microseconds, new.timeline.task_microseconds
    yield _faster(before, after)
    yield "\npipes, us busy, mean over the cores that took part:"
    yield columns(
        [
            ("", f"{c.core} {c.pipe}", *_both(c.before, c.after))
            for c in pipe_changes(old, new)
        ],
        right=(2, 4, 5),
    )  # fmt: skip
    lines = line_changes(*measures)
    shown = lines[:_MOST_LINES]
    yield f"\nlines, us on the critical path and of all cores' work ({len(shown)} of {len(lines)}):"
    head = ("", "place", "path", "", "", "", "work", "", "", "", "source")
    yield columns([head, *map(_line, shown)], right=(2, 4, 5, 6, 8, 9))


def _faster(before: float, after: float) -> str:
    if not 0 < after < float("inf") or not 0 < before < float("inf"):
        return f"{before:.2f} us became {after:.2f} us with launch"
    ratio = before / after
    if abs(ratio - 1) < 0.005:
        return f"as fast as before: {before:.2f} us and {after:.2f} us with launch"
    change = f"{ratio:.2f} times as fast" if ratio > 1 else f"{1 / ratio:.2f} times as slow"
    return f"{change}: {before:.2f} us became {after:.2f} us with launch"


def _line(change: LineChange) -> tuple[str, ...]:
    text = cut(change.text, _LONGEST_SOURCE)
    if change.old is None or change.new is None:
        text = f"{'new' if change.old is None else 'gone'}: {text}"
    return "", place_text(change.place), *_both(*change.path), *_both(*change.work), text


def _both(before: float, after: float) -> tuple[str, str, str, str]:
    change = f"{100 * (after / before - 1):+.0f} %" if before > 0 else ""
    return f"{before:.2f}", "->", f"{after:.2f}", change
