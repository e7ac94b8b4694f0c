"""The verdict of a report: it names the cause that was planted, the line, and what to do."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from kept_cases import examples, kept_number

from page_parser import parse
from planted_causes import PLANTED, Planted
from tile_ir import KernelWarning
from tile_ir.switches import override
from tile_runtime.simulator.timeline import WORK
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.report_text import report_text
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.core_chains import core_chains
from tile_runtime.tools.report.why.decisive_path import decisive_path
from tile_runtime.tools.report.why.line_work import line_work
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict
from timed_runs import chance_runs, event, made_run, small_run

pytestmark = pytest.mark.usefixtures("quick_kernels")


@functools.cache
def run_of(name: str) -> TimedRun:
    seen: list[TimedRun] = []
    with override(time=True), warnings.catch_warnings(), watch_timed_runs(seen.append):
        warnings.simplefilter("ignore", KernelWarning)
        kernel, inputs = PLANTED[name].make()
        kernel(*inputs)
    return seen[-1]


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_cause_is_named_with_its_line(name: str) -> None:
    planted: Planted = PLANTED[name]
    found = verdict(Measures(run_of(name)))
    assert found.bound in planted.bounds, found.text
    assert planted.change in found.text
    line = planted.line()
    assert not line or line in [n for _, n in found.places] or f":{line} " in found.text


@pytest.mark.parametrize("name", ["serial", "turns of cores"])
def test_page_and_text_say_the_same(name: str) -> None:
    run = run_of(name)
    found = verdict(Measures(run))
    page = parse(report_page(run)).one("section", id="verdict").words()
    for part in (found.what, found.evidence, found.do):
        assert " ".join(part.replace("`", "").split()) in page
        assert part in report_text(run)


def test_the_time_of_a_core_is_shared_out_whole() -> None:
    """Path, starts of blocks and the first start are the time, in kernels of one and many rounds."""
    for name in ("serial", "block starts", "turns of cores", "last wave", "imbalance"):
        line = run_of(name).timeline
        chains = core_chains(line)
        path = decisive_path(line, chains)
        whole = line.totals["start_cycles"] + chains.gaps + path.cycles
        assert whole == pytest.approx(line.totals["cycles"], rel=1e-6), name


def test_blocks_follow_each_other_on_their_cores() -> None:
    chains = core_chains(run_of("block starts").timeline)
    assert (chains.cores, chains.used, len(chains.blocks)) == (24, 24, 2400)
    later = chains.before >= 0
    gaps = chains.start[later] - chains.end[chains.before[later]]
    assert later.sum() == 2400 - 24 and (gaps > 0).all()
    assert gaps.max() - gaps.min() < 1  # each starts as soon as its core is free
    assert len(set(chains.before[later])) == later.sum()
    assert 95 <= len(chains.last) <= 105


@settings(max_examples=examples(kept_number(40)))
@given(chance_runs())
def test_any_run_has_a_verdict(run: TimedRun) -> None:
    measures = Measures(run)
    found = verdict(measures)
    assert found.text and found.bound
    report_text(run)
    worked = run.timeline.events[run.timeline.events["kind"] == WORK]
    whole = float((worked["end"] - worked["begin"]).sum())
    assert sum(line.total for line in measures.lines) == pytest.approx(whole)


def test_lines_are_sorted_by_what_they_do_themselves() -> None:
    """The copy is short and much waited for, the sum is long and nobody waits."""
    run = made_run([
        event("DataCopy", "MTE2", 0, 40, line=4),
        event("WaitFlag", "MTE3", 0, 40, kind="wait", other="MTE2", line=5, waited=40, reason="flag", cause=0),
        event("Add", "V", 0, 90, line=6),
        event("DataCopy", "MTE3", 40, 100, line=4),
    ])  # fmt: skip
    measures = Measures(run)
    lines = line_work(run, measures.path)
    assert [(line.text, line.total) for line in lines] == [("copy(x, left)", 100), ("Add(z, left, right, 64);", 90)]  # fmt: skip
    assert lines[0].work == {("aiv", "MTE3"): 60, ("aiv", "MTE2"): 40}
    assert (lines[0].waited_for, lines[1].waited_for) == (40, 0)
    assert (lines[0].decisive, lines[1].decisive) == (100, 0)


def test_instructions_that_wait_for_results_are_bound_by_latency() -> None:
    chain = [
        event("Add", "V", 100 * i, 100 * i + 30, complete=100 * i + 100, cause=i - 1, line=6,
              waited=70 if i else 0, reason="barrier" if i else "")
        for i in range(5)
    ]  # fmt: skip
    found = verdict(Measures(made_run(chain)))
    said = " ".join((found.text, *found.also))
    assert "the latency of the vector pipe: 100 %" in said and "70 % of that" in said
    assert "put independent work between" in said


def test_some_scalar_work_on_the_path_is_told_beside_the_verdict() -> None:
    run = made_run([
        event("GetValue", "S", 0, 20, line=4),
        event("Add", "V", 20, 100, cause=0, line=6),
    ])  # fmt: skip
    found = verdict(Measures(run))
    assert any("the scalar unit: 20 % of the critical path" in also for also in found.also)
    assert "the scalar unit" not in found.text


def test_almost_nothing_and_a_hang() -> None:
    assert verdict(Measures(made_run([]))).bound == "nothing"
    waits = [
        event(
            "WaitFlag", "S", 0, 9, kind="cross wait", core="aic", waited=9, reason="cross-core flag"
        )
    ]
    assert verdict(Measures(made_run(waits))).text
    hangs = made_run([event("Add", "V", 0, 10)], cycles=np.inf)
    assert verdict(Measures(hangs)).bound == "hang"
    assert verdict(Measures(small_run())).text
