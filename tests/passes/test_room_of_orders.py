"""What the planner of a loop takes for room, before it writes the loop, is room."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import golden
import pytest

import tile_ir
import tile_passes
from tile_ir.chips import DEFAULT_TARGET
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.memory.overfull import overfull_memory
from tile_passes.pipelining.schedule import Schedule
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.pipelining.software_pipeline import _CorePlanner

FOLDER = Path(__file__).parent
INPUTS = [*FOLDER.glob("inject_pipeline/*.tir"), *FOLDER.glob("split_webs/*.tir")]


def test_room_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order that the planner accepts is written, and has room."""
    accepted = []
    has_room = _CorePlanner.has_room

    def checked(planner: _CorePlanner, schedule: Schedule) -> bool:
        found = has_room(planner, schedule)
        written = skew_loops(planner.func, (*planner.inner, schedule), planner.target)
        assert found is (overfull_memory(written, planner.target) is None)
        accepted.append(found)
        return found

    monkeypatch.setattr(_CorePlanner, "has_room", checked)
    for path in INPUTS:
        func = tile_ir.parse(golden.read(path).source, path.name)
        if func.phase is tile_ir.Phase.SPLIT:
            with suppress(tile_ir.KernelError):  # some give an order that is wrong
                tile_passes.apply_passes(func, [inject_pipeline.name], DEFAULT_TARGET)
    assert any(accepted)
