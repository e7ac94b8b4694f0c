"""Compute the cost of each line's instructions, by core and pipe, from the costs that the compiler
itself schedules by."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tile_ir import (
    Body,
    Core,
    Effect,
    For,
    Func,
    Memory,
    Op,
    Region,
    Section,
    Stmt,
    Target,
    bodies,
    pipe_of,
)
from tile_ir.analysis import constant_trips
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.expr import constant_value
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS


@dataclass(frozen=True, slots=True)
class LineCost:
    """The execution of a line by one core on one pipe, in a block: instructions, core cycles for
    which they keep the pipe, and the bytes they move from or to gm. `assumed`: the trip count of a
    loop around them depends on the call."""

    core: Core
    pipe: str
    instructions: int
    cycles: float
    gm_bytes: int
    assumed: bool


class _One(NamedTuple):
    place: tuple[str, int]
    core: Core
    pipe: str
    times: int
    cycles: float
    gm_bytes: int
    assumed: bool


def costs_of_lines(func: Func, target: Target) -> dict[tuple[str, int], list[LineCost]]:
    """By file and line, of a function after all passes; what orders statements is left out, and of
    a condition both sides count."""
    found: defaultdict[tuple[str, int], defaultdict[tuple[Core, str], list[_One]]]
    found = defaultdict(lambda: defaultdict(list))
    for one in _costs(func.launch.body, target, Core.EITHER, 1, False):
        found[one.place][one.core, one.pipe].append(one)
    return {
        place: [_together(core, pipe, ones) for (core, pipe), ones in by_pipe.items()]
        for place, by_pipe in found.items()
    }


def _together(core: Core, pipe: str, ones: list[_One]) -> LineCost:
    return LineCost(
        core,
        pipe,
        sum(one.times for one in ones),
        sum(one.cycles for one in ones),
        sum(one.gm_bytes for one in ones),
        any(one.assumed for one in ones),
    )


def _costs(body: Body, target: Target, core: Core, times: int, assumed: bool) -> Iterator[_One]:
    for stmt in body:
        if isinstance(stmt, Section):
            yield from _costs(stmt.body, target, stmt.core, times, assumed)
            continue
        yield from _cost(stmt, target, core, times, assumed)
        iterations, guessed = _iterations(stmt)
        for inner in bodies(stmt):
            yield from _costs(inner, target, core, times * iterations, assumed or guessed)


def _cost(stmt: Stmt, target: Target, core: Core, times: int, assumed: bool) -> Iterator[_One]:
    if isinstance(stmt, Op) and stmt.opdef.effect is not Effect.DATA:
        return
    cycles = cost(stmt, target, Assumed(cores=target.cube_cores)).busy
    if cycles:
        pipe = pipe_of(stmt).value if isinstance(stmt, Op) else "s"
        place = stmt.loc.file, stmt.loc.line
        moved = _gm_bytes(stmt) * times
        yield _One(place, core, pipe, times, cycles * times, moved, assumed)


def _iterations(stmt: Stmt) -> tuple[int, bool]:
    """The trip count of a statement's body, and whether that is assumed."""
    if not isinstance(stmt, For):
        return 1, False
    trips = constant_trips(stmt)
    return (ASSUMED_ITERATIONS, True) if trips is None else (trips, False)


def _gm_bytes(stmt: Stmt) -> int:
    """Bytes that an operation moves from or to gm; tiles are taken as whole."""
    if not isinstance(stmt, Op):
        return 0
    regions = [o for o in stmt.operands if isinstance(o, Region)]
    if not any(r.memory is Memory.GM for r in regions):
        return 0
    on_chip = [r for r in regions if r.memory is not Memory.GM] or regions
    return max(map(_bytes, on_chip), default=0)


def _bytes(region: Region) -> int:
    sizes = zip(region.extents, region.buffer.shape, strict=True)
    known = [constant_value(extent) or constant_value(size) or 1 for extent, size in sizes]
    return region.dtype.bytes_of(math.prod(known))
