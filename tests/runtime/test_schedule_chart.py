"""Pipelined loops on the page: every statement with its stage, core, pipe and time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from page_parser import parse
from tile_passes.explain.schedules import LoopSchedule, ScheduledStatement
from tile_runtime.tools.report.kernel_facts import KernelFacts
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.schedule_chart import PLOT, schedule_charts, schedule_words
from tile_runtime.tools.report.timed_run import TimedRun
from timed_runs import small_run

STATEMENTS = (
    ScheduledStatement(0, "cube", "mte2", 0, 200, "copy_gm_l1", 1),
    ScheduledStatement(0, "cube", "m", 200, 300, "mma", 2),
    ScheduledStatement(1, "vector", "v", 450, 600, "exp", 3),
)
LOOP = LoopSchedule("made.py", 1, "n", 250.0, "mte2 is never idle", "", STATEMENTS, (("a", 2),))
ONE_STAGE = LoopSchedule("made.py", 2, "k", 0.0, "", "a break leaves the loop (line 3)", (), ())


def with_loops(*loops: LoopSchedule) -> TimedRun:
    return replace(small_run(), facts=KernelFacts(schedules=loops))


def test_a_loop_is_drawn_by_statement_and_by_pipe() -> None:
    (chart,) = schedule_charts(with_loops(LOOP))
    assert [row.first for row in chart.statements] == ["stage 0", "", "stage 1"]
    assert [row.dim for row in chart.statements] == ["cube MTE2", "cube M", "vector V"]
    assert chart.statements[0].label == "1  left = alloc()"
    bars = [row.bars[0] for row in chart.statements]
    assert [round(bar.x / PLOT * 600) for bar in bars] == [0, 200, 450]
    assert [round(bar.width / PLOT * 600) for bar in bars] == [200, 100, 150]
    assert [(row.label, row.first, len(row.bars)) for row in chart.pipes] == [
        ("MTE2", "cube", 4), ("M", "", 4), ("V", "vector", 4)
    ]  # fmt: skip
    whole = 600 + 3 * 250
    assert [round(x / PLOT * whole) for x in chart.iterations] == [0, 250, 500, 750]
    assert all(
        bar.x >= 0 and bar.x + bar.width <= PLOT + 1e-6 for row in chart.pipes for bar in row.bars
    )


def test_the_page_has_the_charts() -> None:
    page = parse(report_page(with_loops(LOOP, ONE_STAGE)))
    section = page.one("section", id="loops")
    assert len(section.all("svg")) == 2 and len(section.all("rect")) == 3 + 4 * 3
    assert "2 stages; a new iteration begins every 250 cycles" in section.words()
    assert "One stage, because a break leaves the loop (line 3)." in section.words()
    assert not parse(report_page(small_run())).all("section", id="loops")


def test_words() -> None:
    assert schedule_words(ONE_STAGE) == "One stage, because a break leaves the loop (line 3)."
    alone = replace(LOOP, statements=STATEMENTS[:2], why="no other order is faster", versions=())
    assert schedule_words(alone).endswith(
        "No statement goes to a later stage: no other order is faster."
    )


def test_schedules_are_saved(tmp_path: Path) -> None:
    run = with_loops(LOOP, ONE_STAGE)
    save_run(run, tmp_path / "run.npz")
    assert load_run(tmp_path / "run.npz").facts == run.facts


@pytest.mark.parametrize("interval", [0.0, 1e9])
def test_odd_numbers_are_drawn_too(interval: float) -> None:
    odd = replace(LOOP, interval=interval, statements=STATEMENTS[:1])
    assert report_page(with_loops(odd))
