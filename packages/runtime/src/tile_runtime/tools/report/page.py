"""Puts the page together: data, template, style and script in one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tile_runtime.jit_kernels.kernel_name import function_of
from tile_runtime.simulator.rank_picture import rank_picture
from tile_runtime.simulator.rank_tables import link_rows, matrix_rows, rank_rows
from tile_runtime.tools.report.chrome_trace import blocks_of, chosen_blocks
from tile_runtime.tools.report.critical_path import critical_steps
from tile_runtime.tools.report.event_columns import as_script, drawing, events_that_fit
from tile_runtime.tools.report.figures import figures
from tile_runtime.tools.report.number_text import microseconds, percent, short
from tile_runtime.tools.report.pipe_shares import pipe_shares
from tile_runtime.tools.report.pipe_words import pipe_words, words_of
from tile_runtime.tools.report.roofline_gauge import roofline_gauge
from tile_runtime.tools.report.schedule_chart import LABELS, PLOT, ROW, schedule_charts
from tile_runtime.tools.report.source_view import source_panes, stall_rows
from tile_runtime.tools.report.timed_run import TimedRun, place_text
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

HERE = Path(__file__).parent
# What is drawn and listed at most; all sums are taken over everything.
EVENT_LIMIT = 250_000
STALL_LIMIT = 50
STEP_LIMIT = 200
LINE_LIMIT = 50


def report_page(
    run: TimedRun, blocks: Sequence[int] | None = None, event_limit: int = EVENT_LIMIT
) -> str:
    """The page as HTML. The timeline is drawn for the chosen blocks, or as many as fit.

    Raises KernelError if a chosen block has not run.
    """
    measures = Measures(run)
    everything = blocks_of(run)
    chosen = events_that_fit(run, chosen_blocks(run, blocks, len(everything)), event_limit)
    contents, columns = drawing(run, chosen)
    shares = pipe_shares(run.timeline)
    contents["pipeWords"] = pipe_words(shares, run.timeline.microseconds)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(
        short=short,
        microseconds=microseconds,
        place=place_text,
        apart=_apart,
        words=words_of,
    )
    return environment.get_template("page.html.jinja").render(
        run=run,
        function=function_of(run.kernel),
        verdict=verdict(measures),
        gauge=roofline_gauge(measures.roofline),
        lines=measures.lines[:LINE_LIMIT],
        line_count=len(measures.lines),
        line_work=sum(line.total for line in measures.lines),
        charts=schedule_charts(run),
        labels=LABELS,
        plot=PLOT,
        row=ROW,
        path_cycles=measures.path.cycles,
        figures=list(figures(run)),
        ranks=_ranks(run),
        shares=shares,
        percent=percent,
        stalls=stall_rows(run, STALL_LIMIT),
        stall_count=len(run.timeline.stalls()),
        banks=measures.banks[:LINE_LIMIT],
        panes=source_panes(run),
        steps=critical_steps(run, STEP_LIMIT),
        left_out=_left_out(run, len(chosen), len({track[0] for track in contents["tracks"]})),
        contents=as_script(contents),
        columns=columns,
        style=(HERE / "page.css").read_text(),
        script=(HERE / "page.js").read_text(),
    )


def _ranks(run: TimedRun) -> dict[str, object]:
    """The page's part on several ranks; empty if there is one."""
    times = run.ranks
    if times is None:
        return {}
    return {
        "picture": rank_picture(times),
        "rows": rank_rows(times),
        "links": link_rows(times),
        "matrix": matrix_rows(times),
    }


def _apart(text: str) -> list[str]:
    """Words and code in turns: what stands between backticks is code."""
    parts = text.split("`")
    return parts if len(parts) % 2 else [text]


def _left_out(run: TimedRun, events: int, blocks: int) -> str:
    """Describe the events that the drawing leaves out; "" if it shows everything."""
    everything = len(run.timeline.events)
    if events == everything:
        return ""
    return (
        f"Drawn are {events:,} of {everything:,} events, those of {blocks} of "
        f"{len(blocks_of(run))} blocks. All figures and tables count everything."
    )
