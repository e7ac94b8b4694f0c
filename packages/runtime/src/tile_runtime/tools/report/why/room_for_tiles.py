"""Find out whether tiles can be larger, by the bytes that the kernel uses of a memory."""

from __future__ import annotations

from tile_runtime.tools.report.number_text import binary
from tile_runtime.tools.report.why.finding import percents
from tile_runtime.tools.report.why.measures import Measures

# Tiles can be doubled in a memory of which no more than this is used.
_HALF = 0.5
# Where a pipe of each kind of core has its tiles.
_TILES_OF = {
    ("aiv", "V"): "ub", ("aiv", "MTE2"): "ub", ("aiv", "MTE3"): "ub", ("aiv", "S"): "ub",
    ("aic", "MTE2"): "l1", ("aic", "MTE1"): "l0a", ("aic", "M"): "l0c", ("aic", "FIX"): "l0c",
    ("aic", "S"): "l1",
}  # fmt: skip


def larger_tiles(m: Measures, core: str, pipe: str, several: str = "") -> str:
    """ "larger tiles", and `several` behind it, or why there can be none."""
    memory = _TILES_OF.get((core[:3], pipe), "ub")
    room = next((r for r in m.run.facts.rooms if r.memory == memory), None)
    if room is None or room.used <= _HALF * room.capacity:
        return f"larger tiles{several}"
    used = percents(room.used / room.capacity)
    return (
        f"{memory} has no room for tiles of twice the size, as {used} of its "
        f"{binary(room.capacity)} are in use: fewer or narrower tiles in it make some"
    )
