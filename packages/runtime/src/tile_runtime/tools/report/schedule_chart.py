"""Pipelined loops as charts: places and widths for the page to draw, in SVG, without a script."""

from __future__ import annotations

from tile_ir.quick_dataclasses import dataclass
from tile_passes.explain.schedules import LoopSchedule
from tile_runtime.tools.report.number_text import cut
from tile_runtime.tools.report.timed_run import TimedRun, place_text

# Widths and heights in the units of the drawing.
LABELS, PLOT, ROW = 400, 640, 20
# Iterations of the second drawing, and letters of a line that are shown.
ITERATIONS = 4
_LONGEST_TEXT = 42
# About how many numbers stand on an axis.
_TICKS = 6


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle: `x` and `width` along the time; `shade`, from 0 to 1, differs by iteration."""

    x: float
    width: float
    pipe: str
    title: str
    shade: float = 1.0


@dataclass(frozen=True, slots=True)
class ChartRow:
    """A statement, or a pipe; `first` begins a group: a stage, or a kind of core."""

    label: str
    dim: str
    bars: tuple[Bar, ...]
    first: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleChart:
    """The schedule of a loop in words, one iteration by statement, and overlapping iterations by
    pipe; `ticks` are places on the axis with their cycles, `iterations` where new iterations
    begin."""

    title: str
    words: str
    statements: tuple[ChartRow, ...]
    statement_ticks: tuple[tuple[float, str], ...]
    pipes: tuple[ChartRow, ...]
    pipe_ticks: tuple[tuple[float, str], ...]
    iterations: tuple[float, ...]


def schedule_charts(run: TimedRun) -> list[ScheduleChart]:
    """A chart for each pipelined loop."""
    return [_chart(run, schedule) for schedule in run.facts.schedules]


def schedule_words(schedule: LoopSchedule) -> str:
    """Describe the schedule of a loop, in a sentence or two."""
    if not schedule.statements:
        return f"One stage, because {schedule.why}."
    stages = f"{schedule.stages} stages" if schedule.stages > 1 else "One stage"
    said = (
        f"{stages}; a new iteration begins every {schedule.interval:.0f} cycles: {schedule.bound}."
    )
    if schedule.why and schedule.stages == 1:
        said += f" No statement goes to a later stage: {schedule.why}."
    if schedule.versions:
        versions = ", ".join(f"`{name}` {count}" for name, count in schedule.versions)
        said += f" Versions: {versions}."
    return said


def _chart(run: TimedRun, schedule: LoopSchedule) -> ScheduleChart:
    whole = max((s.end for s in schedule.statements), default=0.0)
    span = whole + (ITERATIONS - 1) * schedule.interval
    return ScheduleChart(
        f"Loop over {schedule.var} at {place_text((schedule.file, schedule.line))}",
        schedule_words(schedule),
        tuple(_statements(run, schedule, PLOT / max(whole, 1))),
        _ticks(whole),
        tuple(_pipes(run, schedule, PLOT / max(span, 1))),
        _ticks(span),
        tuple(n * schedule.interval * PLOT / max(span, 1) for n in range(ITERATIONS)),
    )


def _statements(run: TimedRun, schedule: LoopSchedule, scale: float) -> list[ChartRow]:
    rows = []
    stage = -1
    for s in sorted(schedule.statements, key=lambda s: (s.stage, s.begin)):
        text = cut(run.text_at((schedule.file, s.line)), _LONGEST_TEXT)
        title = f"{s.operation}: {s.core} {s.pipe}, cycles {s.begin:.0f} to {s.end:.0f}"
        bar = Bar(s.begin * scale, max((s.end - s.begin) * scale, 1), _pipe(s.pipe), title)
        first = f"stage {s.stage}" if s.stage != stage else ""
        stage = s.stage
        rows.append(ChartRow(f"{s.line}  {text}", f"{s.core} {s.pipe.upper()}", (bar,), first))
    return rows


def _pipes(run: TimedRun, schedule: LoopSchedule, scale: float) -> list[ChartRow]:
    """Some rounds after each other, each pipe a row."""
    pipes = dict.fromkeys(
        (s.core, _pipe(s.pipe))
        for s in sorted(schedule.statements, key=lambda s: (s.core, s.begin))
    )
    rows = []
    core = ""
    for pipe in pipes:
        bars = tuple(
            Bar(
                (number * schedule.interval + s.begin) * scale,
                max((s.end - s.begin) * scale, 1),
                _pipe(s.pipe),
                f"iteration {number}, line {s.line}: {s.operation}",
                1 - 0.22 * number,
            )
            for number in range(ITERATIONS)
            for s in schedule.statements
            if (s.core, _pipe(s.pipe)) == pipe
        )
        rows.append(ChartRow(pipe[1], "", bars, pipe[0] if pipe[0] != core else ""))
        core = pipe[0]
    return rows


def _pipe(names: str) -> str:
    """The one that a statement is drawn at: where it ends."""
    return names.split(", ")[-1].upper()


def _ticks(span: float) -> tuple[tuple[float, str], ...]:
    """Round numbers along the axis."""
    if span <= 0:
        return ()
    step = 10.0 ** len(f"{int(span / _TICKS)}")
    while span / step < _TICKS:
        step /= 2
    return tuple((n * step * PLOT / span, f"{n * step:g}") for n in range(int(span / step) + 1))
