"""Lines whose vector instructions lose cycles to bank conflicts in UB, and what removes these.

The simulator tries the changes on the instructions that ran (bank_padding.cpp); here they become
sentences.
"""

from __future__ import annotations

from typing import Any

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.buffer_names import names_made
from tile_runtime.tools.report.number_text import short
from tile_runtime.tools.report.timed_run import Place, TimedRun, place_text


@dataclass(frozen=True, slots=True)
class BankConflict:
    """Conflicts of one line: `cycles` summed over cores, those that are `left` with the `changes`,
    imperatives, and those that the changes add `elsewhere`, below 0 if they remove some. `tried` is
    false for a line that costs too little to try changes for."""

    place: Place
    cpp: Place
    cycles: float
    left: float
    elsewhere: float
    changes: tuple[str, ...]
    tried: bool

    @property
    def left_text(self) -> str:
        """The cycles with the changes, in words."""
        text = f"{short(self.left)} of {short(self.cycles)} cycles are left"
        if self.elsewhere:
            more = "fewer" if self.elsewhere < 0 else "more"
            text += f", and other lines take {short(abs(self.elsewhere))} {more}"
        return text

    @property
    def advice(self) -> str:
        """Return the changes that remove the conflicts, or that nothing does."""
        if self.changes:
            return f"{' and '.join(self.changes)}: {self.left_text}"
        if self.tried:
            return (
                "neither room in front of an operand nor longer rows that fit in UB remove a "
                "quarter of them"
            )
        return ""


def bank_conflicts(run: TimedRun) -> list[BankConflict]:
    """Every line with conflicts, most cycles first."""
    cycles: dict[Place, float] = {}
    for stall in run.timeline.stalls():
        if stall.reason == "bank conflict":
            place = (stall.file, stall.line)
            cycles[place] = cycles.get(place, 0.0) + stall.cycles
    tried = {run.cpp_place(int(p["file"]), int(p["line"])): p for p in run.timeline.paddings}
    found = []
    for cpp, lost in cycles.items():
        padding = tried.get(cpp)
        changes = () if padding is None else _changes(run, padding)
        found.append(
            BankConflict(
                run.shown_place(cpp),
                cpp,
                lost,
                float(padding["left"]) if changes and padding is not None else lost,
                float(padding["elsewhere"]) if changes and padding is not None else 0.0,
                changes,
                padding is not None,
            )
        )
    return sorted(found, key=lambda bank: (-bank.cycles, bank.cpp))


def _changes(run: TimedRun, padding: Any) -> tuple[str, ...]:
    return tuple(_change(run, change) for change in padding["changes"] if change["bytes"])


def _change(run: TimedRun, change: Any) -> str:
    size, element = int(change["bytes"]), max(int(change["element"]), 1)
    name = _buffer(run, change)
    pitch = int(change["pitch"])
    if pitch:
        return (
            f"make the rows of {name} {size} bytes ({size // element} elements) longer: "
            f"{pitch + size} bytes instead of {pitch}"
        )
    at, begin = int(change["at"]), int(change["buffer_begin"])
    where = name if at == begin else f"what lies {at - begin} bytes inside {name}"
    return (
        f"leave {size} bytes ({size // element} elements) free in front of {where}, at byte {at} "
        f"of UB, so that it and all behind it move"
    )


def _buffer(run: TimedRun, change: Any) -> str:
    """The name of a buffer, or where the kernel makes it."""
    place = run.cpp_place(int(change["file"]), int(change["made"]))
    names = names_made(run.text_at(place))
    if names:
        return " or ".join(f"`{name}`" for _, name in names)
    return f"the buffer made at {place_text(run.shown_place(place))}" if place[1] else "the buffer"
