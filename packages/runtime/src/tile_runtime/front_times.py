"""How long tracing, lowering and emitting a kernel take, appended to the file the switch names.

Measured by doing all three once more after the kernel is built, so that the figures are those of a
warm process and are there whether or not the kernel came from the cache.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import tile_codegen_ascendc
from tile_ir import Func, Target
from tile_passes import PassOptions, run_pipeline


def append_front_times(
    file: Path,
    func: Func,
    target: Target,
    options: PassOptions,
    retrace: Callable[[], Func] | None,
) -> None:
    """One line of JSON: the kernel's name and seconds for each of the three."""
    laps = [time.perf_counter()]
    if retrace is not None:
        retrace()
    laps.append(time.perf_counter())
    lowered = run_pipeline(func, target, options).func
    laps.append(time.perf_counter())
    tile_codegen_ascendc.emit(lowered, target)
    laps.append(time.perf_counter())
    seconds = {
        name: round(end - start, 6)
        for name, start, end in zip(("trace", "lower", "emit"), laps, laps[1:], strict=False)
    }
    # One write: several processes may append to the same file.
    with file.open("a") as stream:
        stream.write(json.dumps({"kernel": func.name, **seconds}) + "\n")
