"""A timed run saved and read back is the same; a file that is something else is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number

from tile_ir import KernelError
from tile_runtime.simulator.timeline import KINDS, PIPES, REASONS
from tile_runtime.tools.report.saved_timeline import load_run, save_run
from tile_runtime.tools.report.timed_run import TimedRun
from timed_runs import chance_runs, example_run, made_run, small_run


def same(a: TimedRun, b: TimedRun) -> None:
    for field in ("kernel", "soc", "sources", "places"):
        assert getattr(a, field) == getattr(b, field)
    for field in ("totals", "strings", "mhz", "cube_cores", "vector_cores", "hbm_bandwidth"):
        assert getattr(a.timeline, field) == getattr(b.timeline, field)
    assert (a.places, a.remarks) == (b.places, b.remarks)
    assert a.timeline.events.tobytes() == b.timeline.events.tobytes()
    assert a.timeline.accesses.tobytes() == b.timeline.accesses.tobytes()


@pytest.mark.parametrize("name", ["run.npz", "run.timeline"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    for run in (small_run(), made_run([]), example_run("03_gemm_intrinsic")):
        save_run(run, tmp_path / name)
        again = load_run(tmp_path / name)
        same(run, again)
        assert again.timeline.stalls() == run.timeline.stalls()
        assert again.timeline.busy() == run.timeline.busy()


@settings(
    max_examples=examples(kept_number(25)),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(run=chance_runs())
def test_round_trip_of_runs_by_chance(tmp_path: Path, run: TimedRun) -> None:
    save_run(run, tmp_path / "run.npz")
    same(run, load_run(tmp_path / "run.npz"))


def refused(path: Path) -> str:
    with pytest.raises(KernelError) as error:
        load_run(path)
    assert error.value.slug == "not-a-timeline"
    return error.value.message


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    for content in (b"", b"PK\x03\x04", b"{}", b"\x93NUMPY\x01\x00"):
        path.write_bytes(content)
        refused(path)
    np.save(path.open("wb"), np.zeros(3))
    refused(path)
    np.savez(path, events=np.zeros(3))
    refused(path)
    np.savez(path, about=np.array([object()]), events=np.zeros(3), accesses=np.zeros(3))
    refused(path)
    with pytest.raises(FileNotFoundError):
        load_run(tmp_path / "nowhere.npz")
    refused(tmp_path)


@settings(
    max_examples=examples(kept_number(60)),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_files_are_refused(tmp_path: Path, data: st.DataObject) -> None:
    """A byte changed or the end cut off: the checksums of the archive notice, or it is the same."""
    path = tmp_path / "run.npz"
    save_run(small_run(), path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    path.write_bytes(content)
    try:
        same(load_run(path), small_run())
    except KernelError as error:
        assert error.slug == "not-a-timeline"


def test_mutants(tmp_path: Path) -> None:
    """Whole archives whose numbers and texts are not those that were saved: read or refused, and
    what is read can be summed up."""
    rng = random.Random(0)
    path = tmp_path / "run.npz"
    save_run(small_run(), path)
    with np.load(path) as archive:
        saved = dict(archive)
    about = saved["about"].tobytes()
    read = 0
    for _ in range(kept_number(2000)):
        parts = {name: array.copy() for name, array in saved.items()}
        for _ in range(rng.randint(1, 3)):
            name = rng.choice(("about", "events", "accesses"))
            if name == "about":
                text = bytearray(parts["about"].tobytes())
                at = rng.randrange(len(text))
                text[at : at + rng.choice((0, 1, 9))] = rng.choice(
                    (
                        b"null",
                        b"-1",
                        b"1e999",
                        b'"',
                        b"[",
                        b"}",
                        b"9" * 30,
                        b"",
                        about[at : at + 30],
                    )
                )
                parts["about"] = np.frombuffer(bytes(text), np.uint8)
            else:
                raw = parts[name].view(np.uint8)
                raw[rng.randrange(raw.size)] = rng.randrange(256)
        np.savez(path, **parts)
        try:
            run = load_run(path)
        except KernelError as error:
            assert error.slug == "not-a-timeline"
            continue
        run.timeline.stalls(), run.timeline.busy()
        read += 1
    assert read


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("api", 99), ("file", 99), ("core", 3), ("pipe", len(PIPES)), ("kind", len(KINDS)),
        ("reason", len(REASONS)), ("source", len(PIPES)),
        ("cause", 8), ("begin", np.nan), ("end", -1.0), ("complete", np.inf), ("waited", -3.0),
        ("begin", 1e6),
    ],
)  # fmt: skip
def test_values_nobody_could_draw(tmp_path: Path, field: str, value: Any) -> None:
    run = small_run()
    run.timeline.events[field][2] = value
    save_run(run, tmp_path / "run.npz")
    refused(tmp_path / "run.npz")


@pytest.mark.parametrize(("field", "value"), [("event", 8), ("memory", 8)])
def test_accesses_nobody_could_draw(tmp_path: Path, field: str, value: int) -> None:
    run = small_run()
    run.timeline.accesses[field][1] = value
    save_run(run, tmp_path / "run.npz")
    assert field in refused(tmp_path / "run.npz")


def test_other_versions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run = small_run()
    shorter = run.timeline.events[["begin", "end"]]
    save_run(replace(run, timeline=replace(run.timeline, events=shorter)), path)
    assert "another version" in refused(path)
    save_run(run, path)
    with np.load(path) as archive:
        parts = dict(archive)
    about = json.loads(parts["about"].tobytes())
    about["format"] = "tile-timeline 0"
    parts["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez(path, **parts)
    assert "another version" in refused(path)
