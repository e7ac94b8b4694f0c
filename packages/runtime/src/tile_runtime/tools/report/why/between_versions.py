"""Two timed runs beside each other, of two versions of a kernel: what became of each pipe, and of
each line of source. Lines belong together as a comparison of those that work pairs them.
"""

from __future__ import annotations

from difflib import SequenceMatcher

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tools.report.pipe_shares import pipe_shares
from tile_runtime.tools.report.timed_run import Place, TimedRun
from tile_runtime.tools.report.why.line_work import LineWork
from tile_runtime.tools.report.why.measures import Measures


@dataclass(frozen=True, slots=True)
class PipeChange:
    """Microseconds that a pipe is busy, mean over the cores that took part."""

    core: str
    pipe: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line in both versions, or in one of them: microseconds on the critical path, and of work
    summed over cores; `old` and `new` are None where it does not work."""

    old: LineWork | None
    new: LineWork | None
    path: tuple[float, float]
    work: tuple[float, float]

    @property
    def place(self) -> Place:
        line = self.new or self.old
        assert line is not None, "it works in one of them"
        return line.place

    @property
    def text(self) -> str:
        line = self.new or self.old
        return line.text if line is not None else ""


def pipe_changes(old: TimedRun, new: TimedRun) -> list[PipeChange]:
    """Of all pipes that work in either, the greatest change first."""
    before, after = (
        {(s.core, s.pipe): s.busy for s in pipe_shares(run.timeline)} for run in (old, new)
    )
    changes = [
        PipeChange(*pipe, before.get(pipe, 0.0), after.get(pipe, 0.0))
        for pipe in {**before, **after}
    ]
    return sorted(changes, key=lambda c: (-abs(c.after - c.before), c.core, c.pipe))


def line_changes(old: Measures, new: Measures) -> list[LineChange]:
    """Of all lines that work in either: what the critical path gained or lost most comes first,
    then what work did."""
    paired = _pairs(old.lines, new.lines)
    after = {line.place: line for line in new.lines}
    changes = []
    for line in old.lines:
        changes.append(_change(old, new, line, after.pop(paired.get(line.place, ("", 0)), None)))
    changes += [_change(old, new, None, line) for line in after.values()]
    return sorted(
        changes,
        key=lambda c: (-abs(c.path[1] - c.path[0]), -abs(c.work[1] - c.work[0]), c.place),
    )


def _change(
    old: Measures, new: Measures, before: LineWork | None, after: LineWork | None
) -> LineChange:
    mhz = old.run.timeline.mhz, new.run.timeline.mhz
    both = (before, after)
    path = [line.decisive / m if line else 0.0 for line, m in zip(both, mhz, strict=True)]
    work = [line.total / m if line else 0.0 for line, m in zip(both, mhz, strict=True)]
    return LineChange(before, after, (path[0], path[1]), (work[0], work[1]))


def _pairs(old: list[LineWork], new: list[LineWork]) -> dict[Place, Place]:
    """Which lines are the same, or stand in the place of each other: of those that work, in the
    order of the source, so that two kernels of one file can be compared too."""
    a, b = (sorted(lines, key=lambda line: line.place) for lines in (old, new))
    texts = [[line.text for line in lines] for lines in (a, b)]
    found = {}
    for kind, a1, a2, b1, b2 in SequenceMatcher(
        None, texts[0], texts[1], autojunk=False
    ).get_opcodes():
        if kind == "equal" or (kind == "replace" and a2 - a1 == b2 - b1):
            places = zip(a[a1:a2], b[b1:b2], strict=True)
            found.update({one.place: other.place for one, other in places})
    return found
