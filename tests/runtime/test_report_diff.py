"""`tile-ascend report --diff`: two versions of a kernel beside each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tile_runtime.tools.command_line import main
from tile_runtime.tools.command_line.diff_text import diff_text
from tile_runtime.tools.report.saved_timeline import save_run
from tile_runtime.tools.report.timed_run import TimedRun
from tile_runtime.tools.report.why.between_versions import line_changes, pipe_changes
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict
from timed_runs import FILE, SOURCE, event, made_run, small_run


def version(lines: dict[str, float], source: str) -> TimedRun:
    """Vector instructions one after the other, of lines of a source, so long each."""
    at, events = 0.0, []
    for number, text in enumerate(source.splitlines(), 1):
        if text in lines:
            cause = len(events) - 1
            events.append(event(text, "V", at, at + lines[text], line=number, cause=cause))
            at += lines[text]
    run = made_run(events)
    return replace(run, sources={FILE: source}, places={})


OLD = "load\nsum\nexp\nstore\n"
NEW = "load\n# said why\nsum\nexp2\nstore\nlast\n"


def test_lines_are_paired_by_the_sources() -> None:
    old = Measures(version({"load": 10, "sum": 50, "exp": 90, "store": 5}, OLD))
    new = Measures(version({"load": 10, "sum": 20, "exp2": 30, "store": 5, "last": 7}, NEW))
    found = {
        change.text: (
            change.old.text if change.old else None,
            change.new.text if change.new else None,
            [round(time * 1800) for time in (*change.path, *change.work)],
        )
        for change in line_changes(old, new)
    }
    assert found["sum"] == ("sum", "sum", [50, 20, 50, 20])
    assert found["load"] == ("load", "load", [10, 10, 10, 10])
    assert list(found)[-1] in ("load", "store")  # what did not change comes last
    assert found["last"] == (None, "last", [0, 7, 0, 7])
    changes = pipe_changes(old.run, new.run)
    assert [(c.core, c.pipe, round(c.before * 1800), round(c.after * 1800)) for c in changes] == [
        ("aiv", "V", 155, 72)
    ]


def test_a_line_in_the_place_of_another_is_compared_with_it() -> None:
    old = Measures(version({"load": 10, "exp": 90}, OLD))
    new = Measures(version({"load": 10, "exp2": 30}, NEW))
    first = line_changes(old, new)[0]
    assert first.old and first.new
    assert (first.old.text, first.new.text) == ("exp", "exp2")


def test_saved_timelines_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [tmp_path / "old.npz", tmp_path / "new.npz"]
    runs = [small_run(), version({"load": 10}, OLD)]
    for run, path in zip(runs, paths, strict=True):
        save_run(run, path)
    assert main(["report", "--diff", *map(str, paths)]) == 0
    said = capsys.readouterr().out
    assert said == diff_text(*runs, (str(paths[0]), str(paths[1]))) + "\n"
    for run in runs:
        found = verdict(Measures(run))
        assert found.what in said and found.evidence in said and found.do in said
    assert "times as" in said and "new: load" in said


def test_the_same_run_is_as_fast_as_before() -> None:
    assert "as fast as before" in diff_text(small_run(), small_run(), ("a", "b"))
    assert SOURCE  # the runs have sources
    nothing = made_run([])
    assert "0.00" in diff_text(nothing, small_run(), ("a", "b"))


@pytest.mark.parametrize("number", [0, 1])
def test_what_is_no_timeline_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, number: int
) -> None:
    paths = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for path in paths:
        save_run(small_run(), path)
    paths[number].write_bytes(paths[number].read_bytes()[:200])
    assert main(["report", "--diff", *map(str, paths)]) == 1
    said = capsys.readouterr()
    assert f"{paths[number]} is not a saved timeline" in said.err and not said.out


def test_a_wrong_record_is_named_by_its_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = small_run()
    run.timeline.events["end"][3] = -1
    save_run(run, tmp_path / "run.npz")
    assert main(["report", "--diff", *[str(tmp_path / "run.npz")] * 2]) == 1
    assert "event 3: -1.0 of `end` is no time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "nothing to report on"), (["c.npz", "--diff", "a.npz", "b.npz"], "a third")],
)
def test_sources_that_are_missing_or_too_many(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main(["report", *arguments]) == 1
    assert said in capsys.readouterr().err
