"""What the planner of a loop takes for room, before it writes the loop, is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import golden
import pytest

import tile_ir
from tile_ir import Buffer, Func, Section, Stmt, Target, rewrite
from tile_ir.chips import DEFAULT_TARGET
from tile_ir.quick_dataclasses import replace
from tile_passes.inject_pipeline import inject_pipeline
from tile_passes.memory.overfull import overfull_memory
from tile_passes.pipelining import software_pipeline
from tile_passes.pipelining.schedule import Schedule
from tile_passes.pipelining.skew_loops import skew_loops

FOLDER = Path(__file__).parent
INPUTS = [*FOLDER.glob("inject_pipeline/*.tir"), *FOLDER.glob("split_webs/*.tir")]


def test_room_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each order that the planner accepts is written, and has room: one loop's, or several."""
    accepted: list[int] = []
    has_room = software_pipeline._has_room

    def checked(
        func: Func, plans: Sequence[Schedule], versions: Mapping[Buffer, int], target: Target
    ) -> bool:
        found = has_room(func, plans, versions, target)
        written = skew_loops(func, tuple(plans), target)
        assert found is (overfull_memory(written, target) is None)
        if found:
            accepted.append(sum(plan.skewed for plan in plans))
        return found

    monkeypatch.setattr(software_pipeline, "_has_room", checked)
    for path in INPUTS:
        func = tile_ir.parse(golden.read(path).source, path.name)
        for text in (func, twice(func)) if func.phase is tile_ir.Phase.SPLIT else ():
            with suppress(tile_ir.KernelError):  # some give an order that is wrong
                inject_pipeline.run(text, DEFAULT_TARGET)
    assert {1, 2} <= {*accepted}


def twice(func: Func) -> Func:
    """The function with all work of each section a second time behind it."""

    def doubled(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, Section):
            return stmt
        return replace(stmt, body=(*stmt.body, *rewrite(stmt.body, replace)))

    return func.with_body(tuple(map(doubled, func.launch.body)))
