"""A live range depends on the uses of its own buffer only, and that of scratch stays within them."""

from __future__ import annotations

import random
from dataclasses import replace

import memory_programs
from kept_cases import kept

from tile_ir import Body, Buffer, bodies, buffers_of
from tile_passes.analysis.live_ranges import union
from tile_passes.analysis.liveness import liveness

PROGRAMS = 80


def test_a_live_range_does_not_depend_on_other_buffers() -> None:
    for seed in kept(range(PROGRAMS), least=20):
        launch = memory_programs.random_program(random.Random(seed)).launch
        found = liveness(launch.allocs, launch.body)
        for number, alloc in enumerate(found.buffers):
            names = [a for a in launch.allocs if alloc.buffer in (a.buffer, a.alias_of)]
            (alone,) = liveness(names, launch.body).ranges
            assert alone == found.ranges[number], f"seed {seed}: {alloc.buffer.name}"


def span(body: Body, names: set[Buffer], point: int = 0) -> tuple[tuple[int, int] | None, int]:
    """From the first to the last statement that uses a buffer, in the innermost block with all of
    its uses, for a block that begins at a point; and the point behind the block."""
    users: list[tuple[int, int]] = []
    inside: list[tuple[int, int]] = []
    for stmt in body:
        first, point, before = point, point + 1, len(inside)
        for block in bodies(stmt):
            found, point = span(block, names, point)
            inside += [found] if found else []
        used = bool(names & buffers_of(stmt))
        if used:
            inside.append((first, point - 1))
        if used or len(inside) > before:
            users.append((first, point - 1))
    if len(inside) == 1:
        return inside[0], point
    return (users[0][0], users[-1][1]) if users else None, point


def test_scratch_is_alive_within_its_span() -> None:
    for seed in kept(range(PROGRAMS), least=20):
        launch = memory_programs.random_program(random.Random(seed)).launch
        allocs = [replace(a, scratch=True) for a in launch.allocs]
        live = liveness(allocs, launch.body)
        for alloc, alive in zip(live.buffers, live.ranges, strict=True):
            names = {a.buffer for a in allocs if alloc.buffer in (a.buffer, a.alias_of)}
            found, _ = span(launch.body, names)
            within = () if found is None else (found,)
            assert union((*within, *alive)) == within, f"seed {seed}: {alive} in {within}"
