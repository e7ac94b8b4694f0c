"""Append the seconds of tracing, lowering and emitting a kernel to the file that the switch names,
and the number of full barriers that `insert_sync` added in loops.

All three run once more after the kernel is built. So the figures are those of a warm process, and
exist whether or not the kernel came from the cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from tile_ir import Body, Effect, For, Func, Op, Pipe, Target, While, bodies, pipe_of
from tile_ir.code_generator import CodeGenerator
from tile_ir.quick_dataclasses import replace
from tile_passes import PassOptions


def append_front_times(
    file: Path,
    func: Func,
    target: Target,
    options: PassOptions,
    generator: CodeGenerator,
    retrace: Callable[[], Func] | None,
) -> None:
    """One line of JSON: the kernel's name, seconds for each of the three, and `full_barriers`: how
    many were inserted in loops."""
    from tile_passes import run_pipeline

    laps = [time.perf_counter()]
    if retrace is not None:
        retrace()
    laps.append(time.perf_counter())
    lowered = run_pipeline(func, target, options).func
    laps.append(time.perf_counter())
    generator.emit(lowered, target)
    laps.append(time.perf_counter())
    seconds = {
        name: round(end - start, 6)
        for name, start, end in zip(("trace", "lower", "emit"), laps, laps[1:], strict=False)
    }
    by_hand = run_pipeline(func, target, replace(options, skip=(*options.skip, "insert_sync"))).func
    added = _full_barriers(lowered.launch.body) - _full_barriers(by_hand.launch.body)
    # One write: several processes may append to the same file.
    with file.open("a") as stream:
        stream.write(json.dumps({"kernel": func.name, **seconds, "full_barriers": added}) + "\n")


def _full_barriers(body: Body, in_loop: bool = False) -> int:
    """How many barriers of all pipes stand in loops."""
    count = 0
    for stmt in body:
        if isinstance(stmt, Op):
            full = stmt.opdef.effect is Effect.BARRIER and pipe_of(stmt) is Pipe.ALL
            count += in_loop and full
        inside = in_loop or isinstance(stmt, (For, While))
        count += sum(_full_barriers(inner, inside) for inner in bodies(stmt))
    return count
