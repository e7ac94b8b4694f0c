"""What is not looked at, because it can show nothing, changes nothing of when buffers are alive."""

from __future__ import annotations

import random
from dataclasses import replace

import memory_programs
import pytest
from kept_cases import kept

from tile_passes.analysis.buffer_uses import Uses
from tile_passes.analysis.live_ranges import union
from tile_passes.analysis.liveness import liveness
from tile_passes.analysis.scratch_spans import scratch_spans

PROGRAMS = 80


def test_looking_closely_at_some_buffers_says_the_same_as_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in kept(range(PROGRAMS), least=20):
        launch = memory_programs.random_program(random.Random(seed)).launch
        found = liveness(launch.allocs, launch.body)
        with monkeypatch.context() as patched:
            patched.setattr(Uses, "open", lambda _, sizes: set(range(len(sizes))))
            assert found == liveness(launch.allocs, launch.body), f"seed {seed}"


def test_scratch_is_alive_within_its_span() -> None:
    for seed in kept(range(PROGRAMS), least=20):
        launch = memory_programs.random_program(random.Random(seed)).launch
        allocs = [replace(a, scratch=True) for a in launch.allocs]
        spans = scratch_spans(allocs, launch.body)
        live = liveness(allocs, launch.body)
        for number, alive in enumerate(live.ranges):
            span = spans.get(live.buffers[number].buffer, ())
            assert union((*span, *alive)) == span, f"seed {seed}: {alive} in {span}"
