"""What a verdict says to do: what was tried and helps, or that nothing does; and what it says of
room, options and rows where nothing was tried."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tile_passes.explain.schedules import LoopSchedule
from tile_runtime.tools.report.kernel_facts import Room, SourceLoop, TriedChange
from tile_runtime.tools.report.report_text import report_text
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.timed_run import TimedRun
from tile_runtime.tools.report.why.likely_changes import likely_changes
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.overlap import waiting_findings
from tile_runtime.tools.report.why.room_for_tiles import larger_tiles
from tile_runtime.tools.report.why.verdict import verdict
from timed_runs import small_run

BETTER = TriedChange("rows=8", 100.0, 40.0, advised=True)
SLOWER = TriedChange("rows=1", 100.0, 140.0)
REFUSED = TriedChange("rows=64", 100.0, 0.0, "ub has no room")


def run_with(*tried: TriedChange, rooms: tuple[Room, ...] = ()) -> TimedRun:
    run = small_run()
    return replace(run, facts=replace(run.facts, tried=tried, rooms=rooms))


def test_the_best_change_is_what_to_do() -> None:
    run = run_with(BETTER, SLOWER, REFUSED)
    found = verdict(Measures(run))
    assert found.do == "rows=8: predicted 100.00 µs -> 40.00 µs (2.50x)"
    text = report_text(run)
    assert f"  do: {found.do}\n" in text
    assert (
        "changes tried (3), each on the same inputs:" in text and "rows=64: ub has no room" in text
    )


def test_where_nothing_helps_the_verdict_says_so() -> None:
    found = verdict(Measures(run_with(SLOWER, REFUSED)))
    assert "2 changes of sizes, loops and options tried, none helps" in found.do
    assert "the fastest is rows=1: predicted 100.00 µs -> 140.00 µs (0.71x)" in found.do


def test_what_was_tried_is_saved(tmp_path: Path) -> None:
    run = run_with(BETTER, SLOWER, rooms=(Room("ub", 100, 200),))
    save_run(run, tmp_path / "run.npz")
    assert load_run(tmp_path / "run.npz").facts == run.facts


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (90_000, "larger tiles, several"),
        (180_000, "ub has no room for tiles of twice the size, as 92 % of its 192 KiB are in use"),
    ],
)
def test_larger_tiles_are_proposed_where_they_have_room(used: int, said: str) -> None:
    measures = Measures(run_with(rooms=(Room("ub", used, 196_608),)))
    assert larger_tiles(measures, "aiv0", "V", ", several").startswith(said)


@pytest.mark.parametrize("versions", [(), (("left", 2),)])
def test_stages_are_not_proposed_where_the_compiler_has_made_them(
    versions: tuple[tuple[str, int], ...],
) -> None:
    run = small_run()
    (file, line), *_ = (place for c in waiting_findings(Measures(run)) for place in c.places)
    loop = SourceLoop(file, line, line, "serial")
    made = LoopSchedule(file, line, "i", 10.0, "v", "", (), versions)
    facts = replace(run.facts, ordered=True, loops=(loop,), schedules=(made,))
    (cause,) = waiting_findings(Measures(replace(run, facts=facts)))
    assert ("num_stages=2" in cause.change) == (not versions), cause.change
    assert ("overlap already" in cause.change) == bool(versions), cause.change


def test_stages_are_not_proposed_for_loops_that_move_no_tile() -> None:
    run = small_run()
    (file, line), *_ = (place for c in waiting_findings(Measures(run)) for place in c.places)
    loop = SourceLoop(file, line, line, "serial", moves=False)
    facts = replace(run.facts, ordered=True, loops=(loop,))
    (cause,) = waiting_findings(Measures(replace(run, facts=facts)))
    assert cause.change.startswith("let a block go over several tiles"), cause.change


def test_every_cause_has_changes_to_try_first() -> None:
    for bound in ("block starts", "no overlap", "one lane", "anything else"):
        assert sorted(likely_changes(bound)) == [
            "formula", "lanes", "option", "size", "stages",
        ]  # fmt: skip
    assert likely_changes("block starts")[0] == "option"
