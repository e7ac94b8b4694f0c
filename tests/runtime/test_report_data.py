"""The numbers of a report are those of the timeline."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number

import tile_frontend as T
from page_parser import columns, parse
from tile_ir import KernelError, KernelWarning
from tile_ir.switches import override
from tile_runtime import compile
from tile_runtime.simulator.timeline import PIPES, WORK
from tile_runtime.simulator.waited_for import shares_of_waits
from tile_runtime.tools.report.critical_path import critical_steps
from tile_runtime.tools.report.event_columns import MARKS
from tile_runtime.tools.report.figures import cores_at_work
from tile_runtime.tools.report.flag_pairs import flag_pairs
from tile_runtime.tools.report.memory_lives import Life, memory_lives
from tile_runtime.tools.report.number_text import binary, microseconds, percent, rate, short
from tile_runtime.tools.report.page import STALL_LIMIT, report_page
from tile_runtime.tools.report.pipe_shares import pipe_shares
from tile_runtime.tools.report.source_view import LONGEST_SOURCE, cycles_by_line, source_panes
from tile_runtime.tools.report.timed_run import TimedRun, timed_run
from timed_runs import (
    FILE,
    access,
    chance_runs,
    event,
    example_run,
    made_run,
    many_events,
    small_run,
)

pytestmark = pytest.mark.usefixtures("quick_kernels")

EXAMPLES = ("01_vector_add", "03_gemm_intrinsic", "05_flash_attention")


@pytest.fixture(params=["small", *EXAMPLES])
def any_run(request: pytest.FixtureRequest) -> TimedRun:
    return small_run() if request.param == "small" else example_run(request.param)


def test_figures(any_run: TimedRun) -> None:
    timeline = any_run.timeline
    figures = {
        d.one("dt").text: d.one("dd") for d in parse(report_page(any_run)).one("dl").all("div")
    }
    assert figures["time on the device"].one("strong").text == f"{timeline.microseconds:.2f} µs"
    assert figures["with launch"].one("strong").text == f"{timeline.task_microseconds:.2f} µs"
    if timeline.totals["macs"]:
        number, unit = figures["matrix products"].one("strong").text.split()
        scale = {"T": 1e12, "G": 1e9, "P": 1e15}[unit[0]]
        assert float(number) * scale == pytest.approx(timeline.flops, rel=5e-3)
        share = re.search(r"([\d.]+) % of the 16-bit peak", figures["matrix products"].words())
        assert share and float(share[1]) == pytest.approx(
            100 * timeline.flops / timeline.peak_flops, abs=0.051
        )
    assert figures["to and from GM"].one("strong").text == rate(timeline.bandwidth, "B/s")
    assert figures["of that through HBM"].one("strong").text == binary(timeline.totals["hbm_bytes"])
    assert figures["instructions"].one("strong").text == f"{len(timeline.events):,}"


def test_pipes(any_run: TimedRun) -> None:
    timeline = any_run.timeline
    rows = parse(report_page(any_run)).one("section", id="pipes").all("tr")[1:]
    busy = {
        (r.attributes["data-core"], r.attributes["data-pipe"]): float(r.attributes["data-busy"])
        for r in rows
    }
    assert {k: v for k, v in busy.items() if v} == {k: v for k, v in timeline.busy().items() if v}
    for row in rows:
        widths = [
            float(w)
            for w in re.findall(
                r"width:([\d.]+)%", " ".join(s.attributes.get("style", "") for s in row.all("span"))
            )
        ]
        assert sum(widths) <= 100.6, row


def test_stalls(any_run: TimedRun) -> None:
    stalls = any_run.timeline.stalls()
    rows = parse(report_page(any_run)).one("section", id="stalls").all("tr", tabindex="0")
    assert len(rows) == min(len(stalls), STALL_LIMIT)
    for row, stall in zip(rows, stalls, strict=False):
        a = row.attributes
        assert (a["data-file"], int(a["data-line"])) == (stall.worker_file, stall.worker_line)
        assert (float(a["data-cycles"]), int(a["data-count"])) == (stall.cycles, stall.count)
        assert row.all("td")[0].text == stall.worker
        assert row.all("td")[5].words().startswith(f"{stall.core} {stall.pipe} ")


def test_stalls_name_their_flag_and_source() -> None:
    """The copy that works stands first, and what waits for it behind."""
    row = parse(report_page(small_run())).one("section", id="stalls").all("tr", data_line="4")[0]
    cells = [cell.words() for cell in row.all("td")]
    assert cells == [
        "aiv MTE2",
        "made.py:2 kernel.cpp:4",
        "copy(x, left)",
        "98",
        "1",
        "aiv V made.py:3",
        "flag MTE2 to V, id 0",
    ]


def test_cycles_of_lines_are_those_of_the_events(any_run: TimedRun) -> None:
    events = any_run.timeline.events
    cycles = cycles_by_line(any_run)
    work = (events["end"] - events["begin"])[events["kind"] == 0].sum()
    assert sum(w for w, _ in cycles.values()) == pytest.approx(work)
    assert sum(s for _, s in cycles.values()) == pytest.approx(events["waited"].sum())
    # Stalls count too what transfers lose to others of the memory, which is no waiting.
    assert sum(s.cycles for s in any_run.timeline.stalls()) == pytest.approx(
        events["waited"].sum() + events["slowed"].sum()
    )
    python, cpp = source_panes(any_run)
    for pane in (python, cpp):
        for file, _, lines in pane.files:
            text = any_run.sources[file].splitlines()
            assert all(
                line.text.strip() == text[line.number - 1].strip() for line in lines if line.number
            )
    shown = {line.number: line.wait for _, _, lines in cpp.files for line in lines}
    assert all(shown[n] == s for (f, n), (_, s) in cycles.items() if f == cpp.files[0][0])
    placed = sum(s for place, (_, s) in cycles.items() if place in any_run.places)
    assert sum(line.wait for _, _, lines in python.files for line in lines) == pytest.approx(placed)


def test_long_sources_are_shown_where_something_happens() -> None:
    run = made_run(
        [event("Add", "V", 0, 1, line=2), event("Add", "V", 1, 2, line=2 * LONGEST_SOURCE)]
    )
    run.sources[FILE] = "x\n" * (3 * LONGEST_SOURCE)
    pane = source_panes(run)[-1]
    numbers = [line.number for line in pane.files[0][2]]
    n = 2 * LONGEST_SOURCE
    assert numbers == [1, 2, 3, 4, 5, 0, *range(n - 3, n + 4), 0]


def test_columns_hold_the_events(any_run: TimedRun) -> None:
    events = any_run.timeline.events
    contents, found = columns(parse(report_page(any_run)))
    number = found["number"]
    assert sorted(number) == list(range(len(events)))
    mine = events[number]
    for name in ("begin", "end", "complete"):
        assert np.abs(found[name] / contents["scale"] - mine[name]).max() <= 0.5 / contents["scale"]
    for name in ("kind", "reason", "source", "flag", "api", "bytes"):
        assert (found[name] == mine[name]).all()
    assert np.allclose(found["waited"], mine["waited"])
    linked = mine["cause"] >= 0
    assert (number[found["cause"][linked]] == mine["cause"][linked]).all()
    assert (found["cause"][~linked] == -1).all()
    tracks = np.array(contents["tracks"])[found["track"]]
    assert (tracks == np.stack([mine["block"], mine["core"], mine["pipe"]], axis=1)).all()
    lines = [contents["lines"][i] for i in found["line"]]
    assert [line[1] for line in lines] == mine["line"].tolist()
    assert {tuple(p) for p in number[np.stack([found["set"], found["wait"]], axis=1)].tolist()} == {
        tuple(p) for p in flag_pairs(events).tolist()
    }
    assert [int(number[i]) for i in contents["critical"]] == list(any_run.timeline.critical_path())


@settings(max_examples=examples(kept_number(40)))
@given(chance_runs())
def test_stretches_can_be_searched(run: TimedRun) -> None:
    """Ends rise within a lane, begins among the marks, and together the stretches are everything."""
    contents, found = columns(parse(report_page(run)))
    covered = 0
    for track, lane, first, count in contents["runs"]:
        part = slice(first, first + count)
        covered += count
        assert (found["track"][part] == track).all()
        assert (
            np.diff(found["begin" if lane == MARKS else "end"][part].astype(np.int64)) >= 0
        ).all()
    assert covered == len(run.timeline.events)


@settings(max_examples=examples(kept_number(40)))
@given(chance_runs())
def test_shares_of_a_pipe_are_at_most_the_whole(run: TimedRun) -> None:
    for share in pipe_shares(run.timeline):
        assert (
            share.busy + sum(share.waiting.values())
            <= run.timeline.microseconds * (1 + 1e-6) + 1e-9
        )
        assert all(time >= 0 for time in share.waiting.values())


def test_shares_of_the_small_run() -> None:
    shares = {(s.core, s.pipe): s for s in pipe_shares(small_run().timeline)}
    assert shares["aiv", "V"].busy * 1800 == pytest.approx(30)
    assert shares["aiv", "V"].waiting == {"flag": pytest.approx(98 / 1800)}
    assert shares["aic", "M"].waiting == {"issue": pytest.approx(10 / 1800)}
    assert shares["aiv", "MTE2"].busy * 1800 == pytest.approx(160)
    assert ("aic", "V") not in shares


def lives(
    events: int, accesses: list[tuple[object, ...]], lines: list[int] | None = None
) -> list[tuple[object, ...]]:
    made = [
        event("Add", "V", 10 * i, 10 * i + 5, line=(lines or range(1, 99))[i])
        for i in range(events)
    ]
    run = made_run(made, accesses)
    return [
        (life.name, life.begin, life.end, life.first, life.last, life.read)
        for life in memory_lives(run, [0])
    ]


def test_a_life_lasts_from_the_first_write_to_the_last_read() -> None:
    found = lives(6, [
        access(0, "UB", 0, 128, "write"), access(1, "UB", 0, 64, "read"), access(2, "UB", 64, 128, "read"),
        access(3, "UB", 0, 128, "write"), access(4, "UB", 0, 128, "read"),
        access(5, "UB", 0, 64, "write"),
    ])  # fmt: skip
    assert found == [
        ("left", 0, 128, 0, 25, True),
        ("left", 0, 128, 30, 45, True),
        ("left", 0, 64, 50, 55, False),
    ]


def test_a_life_goes_on_where_an_instruction_reads_what_it_writes() -> None:
    found = lives(3, [
        access(0, "UB", 0, 128, "write"), access(1, "UB", 0, 128, "read"), access(1, "UB", 0, 128, "write"),
        access(2, "UB", 0, 128, "read"),
    ])  # fmt: skip
    assert found == [("left", 0, 128, 0, 25, True)]


def test_pieces_of_one_line_are_one_life_and_slots_are_not() -> None:
    writes = [
        access(0, "UB", 0, 64, "write"),
        access(1, "UB", 64, 128, "write"),
        access(2, "UB", 0, 128, "read"),
    ]
    assert lives(3, writes, [4, 4, 6]) == [("left", 0, 128, 0, 25, True)]
    assert lives(3, writes, [4, 5, 6]) == [
        ("left", 0, 64, 0, 25, True),
        ("left", 64, 128, 10, 25, True),
    ]


def test_buffers_have_the_names_of_their_lines() -> None:
    found = lives(
        4,
        [
            access(i, "UB", 0, 64, "write", made=made, buffer=(made, 64))
            for i, made in enumerate((2, 3, 4, 99))
        ],
    )
    assert [life[0] for life in found] == ["left", "right", "line 4", "line 99"]
    assert lives(1, [access(0, "UB", 0, 64, "write", made=0)])[0][0] == "?"
    assert lives(1, [access(0, "GM", 0, 64, "write")]) == []


NAMES = {
    "01_vector_add": {"a", "b"},
    "03_gemm_intrinsic": {"a_l1", "b_l1", "a_l0", "b_l0", "c_l0"},
    "05_flash_attention": {"q_l1", "k_l1", "s", "p", "o", "peak", "gemm_a", "scratch"},
}


def lives_of_example(stem: str) -> list[Life]:
    order = lambda life: (life.block, life.core, life.memory, life.begin, life.first)  # noqa: E731
    return sorted(memory_lives(example_run(stem), [0, 1]), key=order)


@pytest.mark.parametrize("stem", NAMES)
def test_lives_of_examples(stem: str) -> None:
    found = lives_of_example(stem)
    assert all(life.first < life.last and life.begin < life.end for life in found)
    names = {life.name for life in found}
    assert names >= NAMES[stem] and not names & {"?"}


@pytest.mark.parametrize(
    "stem",
    ["01_vector_add", "03_gemm_intrinsic", "05_flash_attention"],
)
def test_lives_of_examples_do_not_overlap(stem: str) -> None:
    """In these kernels every byte is written anew only after the last read of it."""
    found = lives_of_example(stem)
    for a, b in pairwise(found):
        bytes_a = (a.block, a.core, a.memory, a.begin, a.end)
        assert bytes_a != (b.block, b.core, b.memory, b.begin, b.end) or a.last <= b.first + 1e-6


def test_nothing_leaves_its_script_element() -> None:
    run = small_run()
    run.timeline.strings[2] = "</script><script>alert(1)</script>"
    run.sources[FILE] = "</script>\n" * 6
    page = report_page(run)
    document = parse(page)
    assert len(document.all("script")) == 3
    assert columns(document)[0]["strings"][2] == run.timeline.strings[2]
    assert "http:" not in page and "https:" not in page and "@import" not in page


@pytest.mark.parametrize("count", [0, 1])
def test_almost_nothing(count: int) -> None:
    document = parse(report_page(made_run([event("Add", "V", 0, 0)][:count])))
    assert len(columns(document)[1]["begin"]) == count
    assert document.one("section", id="stalls").words().endswith("No pipe waited.")


def test_many_events_fit() -> None:
    run = many_events(200_000)
    page = report_page(run)
    assert len(page) < 15e6
    document = parse(page)
    assert len(columns(document)[1]["begin"]) == 200_000 and not document.all("p", id="left-out")


def test_what_does_not_fit_is_left_out_and_said() -> None:
    run = many_events(45_000)
    document = parse(report_page(run, event_limit=25_000))
    assert document.one("p", id="left-out").words() == (
        "Drawn are 20,000 of 45,000 events, those of 2 of 5 blocks. All figures and tables count everything."
    )
    assert document.one("dl").all("strong")[-1].text == "45,000"
    contents, found = columns(parse(report_page(run, event_limit=500)))
    # No block fits: a part of the one that ends last.
    last = run.timeline.events["block"][run.timeline.events["complete"].argmax()]
    assert len(found["begin"]) == 500 and {t[0] for t in contents["tracks"]} == {last}
    contents, found = columns(parse(report_page(run, blocks=[2, 4])))
    assert {t[0] for t in contents["tracks"]} == {2, 4} and len(found["begin"]) == 15_000
    with pytest.raises(KernelError):
        report_page(run, blocks=[5])


@settings(max_examples=examples(kept_number(30)))
@given(run=chance_runs(), limit=st.integers(0, 12))
def test_any_part_can_be_drawn(run: TimedRun, limit: int) -> None:
    _, found = columns(parse(report_page(run, event_limit=limit)))
    assert len(found["begin"]) <= limit
    for name in ("cause", "set", "wait", "life event"):
        assert not len(found[name]) or found[name].max() < len(found["begin"])


def test_critical_path() -> None:
    run = small_run()
    steps = critical_steps(run, 10)
    assert [s.index for s in steps] == list(run.timeline.critical_path())[::-1] == [5, 6, 7]
    assert steps[1].why == "waited 0.139 µs: cross-core flag" and steps[1].where == "block 0 aic S"
    short_steps = critical_steps(run, 2)
    assert [s.index for s in short_steps] == [5, -1, 7] and short_steps[1].left_out == 1
    assert critical_steps(made_run([]), 10) == []


def scalar_run() -> TimedRun:
    """A loop of the scalar unit of 63 blocks on 48 cores, and a sum that waits for it."""
    with override(time=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", KernelWarning)
        kernel = compile(scalar_loop, out_idx=[-1])
        kernel(torch.zeros(126, 64, dtype=torch.int32))
    run = timed_run(kernel)
    assert run is not None
    return run


@T.prim_func
def scalar_loop(A: T.Tensor((126, 64), "int32"), B: T.Tensor((126, 64), "int32")):  # type: ignore[no-untyped-def]
    with T.Kernel(63, is_npu=True) as (cid, vid):
        a = T.alloc_ub((1, 64), "int32")
        with T.Scope("V"):
            T.copy(A[cid * 2 + vid, 0], a)
            T.barrier_all()
            for i, j in T.Parallel(1, 64):
                a[i, j] = a[i, j] // 500009  # the scalar unit
            T.barrier_all()
            T.tile.add(a, a, 1)
            T.barrier_all()
            T.copy(a, B[cid * 2 + vid, 0])


def test_scalar_work_is_on_the_critical_path_and_to_blame() -> None:
    run = scalar_run()
    text = {p: t.splitlines() for p, t in run.sources.items()}
    (line,) = [
        (f, n)
        for f, t in text.items()
        for n, s in enumerate(t, 1)
        if s.endswith("500009  # the scalar unit")
    ]
    steps = critical_steps(run, 50)
    loop = max(steps, key=lambda s: s.end - s.begin)
    assert loop.where.endswith(" S") and loop.what == "GetValue, SetValue: 128 instructions"
    assert loop.place.endswith(f":{line[1]}")
    stall = run.timeline.stalls()[0]
    worker = run.places[stall.worker_file, stall.worker_line]
    assert (stall.core, stall.reason, stall.worker) == ("aiv", "issue", "aiv S")
    assert worker == line != run.places[stall.file, stall.line]


@pytest.mark.parametrize("cached", [False, True])
def test_remarks_of_the_compiler_stand_at_their_lines(cached: bool, tmp_path: Path) -> None:
    with override(cache=cached, cache_dir=str(tmp_path)):
        runs = [scalar_run() for _ in range(1 + cached)]
    document = parse(report_page(runs[-1]))
    remark = "this statement stays a scalar loop"
    assert remark in document.one("section", id="source").words()
    assert remark in document.one("section", id="stalls").all("tr")[1].words()


def test_cores_of_the_chip_are_counted_not_those_of_blocks() -> None:
    assert cores_at_work(scalar_run().timeline) == "48 of 48 vector"
    assert cores_at_work(small_run().timeline) == "1 of 24 cube, 1 of 48 vector"
    assert cores_at_work(made_run([]).timeline) == "none"
    waiting = [event("WaitFlag", "S", 0, 9, kind="cross wait", core="aic")]
    assert cores_at_work(made_run(waiting).timeline) == "none"


def shares(*events: dict[str, object]) -> list[tuple[int, ...]]:
    """Wait, worker and cycles of a run."""
    found = shares_of_waits(made_run(events).timeline.events, WORK)
    return sorted(zip(*(column.astype(int).tolist() for column in found), strict=True))


def test_a_wait_is_shared_among_those_who_worked_meanwhile() -> None:
    """Through flags and late instructions; scalar work of one line is one stretch."""
    found = shares(
        event("GetValue", "S", 0, 60, line=2),
        event("GetValue", "S", 60, 100, line=2, cause=0),
        event("SetFlag", "S", 100, 100, kind="set", other="V", cause=1),
        event("WaitFlag", "V", 5, 100, kind="wait", other="S", waited=95, reason="flag", cause=2),
        event("Add", "V", 100, 110, cause=3),
        # Since 20: first for the loop, then for the sum, and four cycles for being handed over.
        event("Copy", "MTE3", 114, 120, waited=94, reason="issue", cause=4, line=5),
    )
    assert found == [(3, 1, 95), (5, 1, 80), (5, 4, 10), (5, 5, 4)]


def test_a_chain_that_was_over_is_not_to_blame() -> None:
    assert shares(
        event("GetValue", "S", 0, 100),
        event("Mul", "V", 150, 160, waited=40, reason="issue", cause=0),
    ) == [(1, 1, 40)]
    assert (
        made_run([event("Mul", "V", 50, 60, waited=40, reason="issue")]).timeline.stalls()[0].worker
        == "aiv S"
    )


def test_chains_without_an_end_or_a_start() -> None:
    flags = [
        event("A", "V", 0, 9, cause=1, kind="wait", waited=9, reason="flag"),
        event("B", "V", 0, 9, cause=0, kind="wait", waited=9, reason="flag"),
        event("C", "V", 0, 9, kind="wait", waited=9, reason="flag"),
    ]
    assert shares(*flags) == [(0, 0, 9), (1, 1, 9), (2, 2, 9)]
    assert shares() == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (98, "98"),
        (999.4, "999"),
        (999.6, "1000"),
        (1234567, "1.23M"),
        (5e10, "50G"),
        (999_999, "1000k"),
    ],
)
def test_short_numbers(value: float, text: str) -> None:
    assert short(value) == text


def test_numbers_with_units() -> None:
    assert [microseconds(t) for t in (0, 0.00167, 0.1, 12.345)] == [
        "0.00 µs", "0.00167 µs", "0.10 µs", "12.35 µs"
    ]  # fmt: skip
    assert rate(1.3e14, "FLOP/s") == "130 TFLOP/s" and rate(12, "B/s") == "12 B/s"
    assert binary(786432) == "768 KiB" and binary(17) == "17 bytes" and binary(3 << 20) == "3 MiB"
    assert percent(1, 3) == "33.3 %" and percent(1, 0) == "none"
    assert len(PIPES) == 8


def test_the_verdict_is_three_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    said = SimpleNamespace(what="Bound by `V`", evidence="busy 90 %", do="pad <rows>", also=())
    monkeypatch.setattr("tile_runtime.tools.report.page.verdict", lambda measures: said)
    section = parse(report_page(small_run())).one("section", id="verdict")
    assert (
        section.one("p", class_="verdict").words() == "Bound by V"
        and section.one("code").text == "V"
    )
    lines = [line.words() for line in section.all("p", class_="line")]
    assert lines == ["Evidence busy 90 %", "Do pad <rows>"]


def test_the_gauge_of_the_roofline() -> None:
    section = parse(report_page(small_run())).one("section", id="roofline")
    meters = {
        m.attributes["aria-label"]: float(m.attributes["aria-valuenow"])
        for m in section.all("div", role="meter")
    }
    assert set(meters) == {"HBM", "matrix units", "vector units"}
    share = float(section.one("strong").text.removesuffix(" %"))
    assert abs(share - max(meters.values())) <= 0.5
    (decides,) = section.all("tr", class_="decides")
    assert meters[decides.one("th").text] == max(meters.values())
    empty = made_run([event("SetFlag", "MTE2", 0, 0, kind="set")])
    assert not parse(report_page(empty)).all("section", id="roofline")
