"""Report, trace, picture and notebook page of launches over ranks."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sending_kernels import N, launch, sending, timed

from page_parser import parse
from test_chrome_trace import check_format, slices
from test_report_in_browser import CHROMIUM, probe
from tile_ir import KernelError
from tile_ir.quick_dataclasses import replace
from tile_ir.switches import override
from tile_runtime import Ranks, SimulationError
from tile_runtime.simulator.rank_activity import SENDS, VECTOR, rank_activities, sent_together
from tile_runtime.simulator.rank_picture import rank_picture
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.timeline import PIPES
from tile_runtime.tools.report.chrome_trace import chrome_trace
from tile_runtime.tools.report.page import report_page
from tile_runtime.tools.report.report_text import report_text
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.timed_run import TimedRun, watch_timed_runs
from tile_runtime.tools.report.why.measures import Measures
from tile_runtime.tools.report.why.verdict import verdict

RANKS = 3
BYTES = 4 * N


@functools.cache
def run_of(ranks: int = RANKS) -> TimedRun:
    """The timed run of a launch of `sending`."""
    seen: list[TimedRun] = []
    with override(time=True, check="off"), watch_timed_runs(seen.append), Ranks(ranks) as world:
        launch(world, sending())
    (run,) = seen
    return run


def ranks_of(run: TimedRun) -> RankTimes:
    assert run.ranks is not None
    return run.ranks


def named(trace: dict[str, Any], what: str) -> dict[tuple[int, int], str]:
    """The names of processes or threads."""
    found = (e for e in trace["traceEvents"] if e["name"] == what)
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in found}


def test_a_run_of_one_rank_is_a_run_of_one_device() -> None:
    run = run_of(1)
    assert run.ranks is None and run.block_name(1) == "block 1"
    assert parse(report_page(run)).all("section", id="ranks") == []
    assert named(chrome_trace(run), "process_name")[1, 0] == "chip"


def test_blocks_are_named_with_their_rank() -> None:
    run = run_of()
    assert [run.block_name(b) for b in (0, 3, 5)] == [
        "rank 0 block 0", "rank 1 block 1", "rank 2 block 1",
    ]  # fmt: skip
    assert f"rank {RANKS - 1} block 0" in report_page(run)


def test_the_trace_has_a_process_for_each_rank_with_a_thread_for_each_link() -> None:
    trace = chrome_trace(run_of())
    check_format(trace)
    processes = {pid: name for (pid, _), name in named(trace, "process_name").items()}
    places = {
        e["pid"]: e["args"]["sort_index"]
        for e in trace["traceEvents"] if e["name"] == "process_sort_index"
    }  # fmt: skip
    shown = [processes[pid] for pid in sorted(places, key=lambda pid: places[pid])]
    assert [name for name in shown if not name.endswith("aic")] == [
        name
        for r in range(RANKS)
        for name in (f"rank {r}", f"rank {r} block 0 aiv0", f"rank {r} block 1 aiv0")
    ]
    assert len(set(places.values())) == len(places)
    threads = named(trace, "thread_name")
    moved: dict[tuple[str, str], int] = {}
    for e in slices(trace):
        if e["cat"] == "link":
            pair = processes[e["pid"]], threads[e["pid"], e["tid"]].split(" (")[0]
            moved[pair] = moved.get(pair, 0) + e["args"]["bytes"]
            assert e["name"].endswith(f"of {pair[0]} block 0")
    assert moved == {(f"rank {r}", f"to rank {(r + 1) % RANKS}"): BYTES for r in range(RANKS)}


def test_the_trace_leads_from_a_signal_to_the_wait_of_another_rank() -> None:
    trace = chrome_trace(run_of())
    processes = {pid: name for (pid, _), name in named(trace, "process_name").items()}
    ends: dict[int, list[str]] = {}
    for e in trace["traceEvents"]:
        if e["ph"] in "sf" and e["cat"] == "signal":
            ends.setdefault(e["id"], []).append(processes[e["pid"]])
    assert sorted(ends.values()) == [
        [f"rank {r} block 0 aiv0", f"rank {(r + 1) % RANKS} block 0 aiv0"] for r in range(RANKS)
    ]


def test_the_counters_of_links_have_all_bytes() -> None:
    run = run_of()
    trace = chrome_trace(run)
    counted = [e for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == "sends"]
    length = float(run.timeline.events["complete"].max()) / run.timeline.mhz / 1000  # of a step
    total = sum(sum(e["args"].values()) for e in counted) * 1e3 * length
    assert total == pytest.approx(RANKS * BYTES, rel=0.02)


def test_blocks_of_all_ranks_are_in_a_trace_that_leaves_some_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tile_runtime.tools.report.chrome_trace.BLOCK_CAP", RANKS)
    names = named(chrome_trace(run_of()), "process_name").values()
    assert {name.split(" block")[0] for name in names if "block" in name} == {
        f"rank {r}" for r in range(RANKS)
    }


def test_the_page_has_ranks_links_and_bytes() -> None:
    times = ranks_of(run_of())
    section = parse(report_page(run_of())).one("section", id="ranks")
    ranks, links, matrix = section.all("table")
    assert len(ranks.all("tr")) == RANKS + 1 and len(links.all("tr")) == RANKS + 1
    cells = [[cell.text for cell in row.all("td")] for row in matrix.all("tr")[1:]]
    assert cells == [
        [str(r), *("-" if r == to else str(size) for to, size in enumerate(row))]
        for r, row in enumerate(times.bytes_between)
    ]
    assert [e.attributes["aria-label"] for e in section.all("svg")] == ["3 ranks over time"]


def test_the_text_has_the_tables() -> None:
    text = report_text(run_of())
    assert "3 ranks, modelled " in text and "bytes from rank (row) to rank (column)" in text


def test_the_critical_path_goes_on_in_another_rank() -> None:
    measures = Measures(run_of())
    assert measures.path.cycles == pytest.approx(
        measures.run.timeline.totals["cycles"] - float(measures.chains.start.min()), rel=1e-6
    )
    assert any(part.doing == "flag" for part in measures.path.parts)


def test_the_verdict_names_what_goes_between_ranks() -> None:
    run = run_of()
    told = " ".join([verdict(Measures(run)).text, *verdict(Measures(run)).also])
    assert "what goes between ranks: " in told and "sending_kernels.py:" in told
    times = ranks_of(run)
    hidden = replace(times, microseconds_without_links=times.microseconds)
    found = verdict(Measures(replace(run, ranks=hidden)))
    assert "between ranks" not in " ".join([found.text, *found.also])


def test_a_saved_run_gives_the_same_page(tmp_path: Path) -> None:
    save_run(run_of(), tmp_path / "run.npz")
    assert report_page(load_run(tmp_path / "run.npz")) == report_page(run_of())


DAMAGES = {
    "its ranks": lambda ranks: ranks["parts"].pop(),
    "its blocks": lambda ranks: ranks.update(blocks=1),
    "its parts": lambda ranks: ranks["parts"][1].__setitem__(0, 10**9),
    "its links": lambda ranks: ranks["links"][0].__setitem__(1, RANKS),
    "its cycles": lambda ranks: ranks["parts"][0][2].pop("cycles"),
    "its kind": lambda ranks: ranks.pop("links"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    save_run(run_of(), path)
    with np.load(path) as archive:
        parts = dict(archive)
    about = json.loads(parts["about"].tobytes())
    DAMAGES[damage](about["ranks"])
    parts["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **parts)
    with pytest.raises(KernelError, match="not a saved timeline"):
        load_run(path)


def test_areas_of_the_picture_are_work_and_bytes() -> None:
    times, steps = timed(2), 500
    length = float(times.whole.events["complete"].max()) / steps
    rows = {(a.rank, a.label): a for a in rank_activities(times, steps)}
    assert [label for rank, label in rows if rank == 0] == ["vector", "waits", "to rank 1"]
    link = times.links[0, 1]
    peak = link.bytes / (link.least_microseconds * times.whole.mhz)
    assert rows[0, "to rank 1"].shares.sum() * length * peak == pytest.approx(BYTES, rel=1e-3)
    mine = times.timelines[0].events
    works = mine[(mine["kind"] == 0) & (mine["pipe"] == PIPES.index("V"))]
    worked = float((works["end"] - works["begin"]).sum())
    assert rows[0, VECTOR].shares.sum() * length * 2 == pytest.approx(worked, rel=1e-3)
    drawn = parse(rank_picture(times))
    assert len(drawn.all("path")) == len(rows)


def test_many_links_are_one_row() -> None:
    times = timed(2)
    (first,) = (a for a in rank_activities(times, 10) if a.rank == 0 and a.kind == SENDS)
    other = replace_shares(first)
    together = [*sent_together([first, other])]
    assert [a.label for a in together] == ["sends"]
    assert together[0].shares == pytest.approx(first.shares / 2)


def replace_shares(activity: Any) -> Any:
    """The same to another rank, to which nothing goes."""
    return type(activity)(activity.rank, activity.kind, 7, 0 * activity.shares)


def test_a_notebook_shows_the_picture_and_the_tables() -> None:
    shown = parse(timed(2)._repr_html_())
    assert len(shown.all("svg")) == 1 and len(shown.all("table")) == 3
    assert "2 ranks, no findings; modelled" in shown.text


def test_a_notebook_shows_the_findings_as_text() -> None:
    with Ranks(2) as world:
        with pytest.raises(SimulationError):
            launch(world, sending(waits=False))
        assert world.result is not None
        shown = parse(world.result._repr_html_())
    assert "error[race]" in shown.all("pre")[0].text and not shown.all("svg")


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed (apt-get install chromium)")
def test_a_browser_draws_the_page_of_ranks(tmp_path: Path) -> None:
    _, found = probe(run_of(), tmp_path, 1280)
    assert found["state"] == "ready" and found["overflow"] <= 0 and found["outside"] == []
    assert " on rank " in found["selected"] and found["blocks"] == 2 * RANKS + 1
