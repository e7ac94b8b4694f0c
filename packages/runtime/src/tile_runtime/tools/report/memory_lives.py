"""When which bytes of the local memories held something: from the first write to the last read."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from operator import itemgetter

import numpy as np

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.simulator.buffer_names import names_made
from tile_runtime.simulator.timeline import MEMORIES
from tile_runtime.tools.report.timed_run import TimedRun

SHOWN = ("UB", "L1", "L0A", "L0B", "L0C", "BT")


@dataclass(slots=True)
class Life:
    """Bytes begin to end of a memory, from the cycle of the first write to that of the last read;
    `event` is the first write. `read` is true if an instruction read them."""

    block: int
    core: int
    memory: str
    name: str
    begin: int
    end: int
    first: float
    last: float
    event: int
    read: bool = False
    written: int = -1  # the latest write


def memory_lives(run: TimedRun, blocks: list[int]) -> list[Life]:
    """The lives of all buffers of the blocks, in program order of each core.

    A life ends where the bytes are written anew after they have been read. An instruction that
    reads what it writes goes on with it, and so does the next piece of the same line of source.
    """
    events, accesses = run.timeline.events, run.timeline.accesses
    wanted = np.isin(events["block"][accesses["event"]], blocks)
    wanted &= np.isin(accesses["memory"], [MEMORIES.index(m) for m in SHOWN])
    wanted &= accesses["begin"] < accesses["end"]  # who asks for an address touches nothing
    accesses = accesses[wanted]
    accesses = accesses[np.argsort(accesses["event"], kind="stable")]
    rows = accesses[
        ["event", "begin", "end", "kind", "memory", "made", "buffer_begin", "buffer_end"]
    ]
    tracer = _Tracer(run)
    for event, operands in groupby(rows.tolist(), key=itemgetter(0)):
        tracer.instruction(
            event, [(low, high, kind == 0, tuple(b)) for _, low, high, kind, *b in operands]
        )
    return tracer.done + [life for held in tracer.live.values() for life in held]


Buffer = tuple[int, ...]
# First and last byte, whether it is read, and the buffer: memory, line, begin, end.
Operand = tuple[int, int, bool, Buffer]


class _Tracer:
    """Follows the instructions of all cores."""

    def __init__(self, run: TimedRun) -> None:
        events = run.timeline.events
        self._begin, self._complete = events["begin"].tolist(), events["complete"].tolist()
        self._line = events["line"].tolist()
        self._block, self._core = events["block"].tolist(), events["core"].tolist()
        self._run, self._file = run, events["file"].tolist()
        self._names: dict[tuple[int, int], str] = {}
        self.done: list[Life] = []
        self.live: dict[tuple[int, int, Buffer], list[Life]] = defaultdict(list)

    def instruction(self, event: int, operands: list[Operand]) -> None:
        """Everything one instruction reads, then everything it writes."""
        complete = self._complete[event]
        for low, high, reads, buffer in operands:
            if reads:
                for life in self._held(event, buffer):
                    if life.begin < high and low < life.end:
                        life.last, life.read = max(life.last, complete), True
        for low, high, reads, buffer in operands:
            if not reads:
                itself = any(
                    r and b == buffer and lo < high and low < hi for lo, hi, r, b in operands
                )
                self._write(event, low, high, buffer, itself)

    def _write(self, event: int, low: int, high: int, buffer: Buffer, itself: bool) -> None:
        held = self._held(event, buffer)
        # Pieces of one statement follow each other directly.
        piece = event > 0 and self._line[event] == self._line[event - 1]
        life = _continued(held, low, high, itself, event - 1 if piece else -1)
        if life is None:
            over = [old for old in held if old.begin < high and low < old.end]
            self.done += over
            held[:] = [old for old in held if old not in over]
            life = Life(
                self._block[event], self._core[event], MEMORIES[buffer[0]],
                self._name(buffer[1], event), low, high, self._begin[event], 0.0, event,
            )  # fmt: skip
            held.append(life)
        life.begin, life.end = min(life.begin, low), max(life.end, high)
        life.last, life.written = max(life.last, self._complete[event]), event

    def _held(self, event: int, buffer: Buffer) -> list[Life]:
        return self.live[self._block[event], self._core[event], buffer]

    def _name(self, made: int, event: int) -> str:
        """The name of a buffer, read from the line of C++ that made it."""
        file = self._file[event]
        if (made, file) not in self._names:
            source, line = self._run.cpp_place(file, made)
            known = source if source in self._run.sources else self._run.main_source()
            names = names_made(self._run.text_at((known, line)))
            other = f"line {made}" if made else "?"
            self._names[made, file] = names[0][1] if names else other
        return self._names[made, file]


def _continued(held: list[Life], low: int, high: int, reads: bool, before: int) -> Life | None:
    """The life a write adds to, if it adds to one; `before` is the instruction before the write, if
    it came from the same line."""
    for life in reversed(held):
        overlaps = life.begin < high and low < life.end
        beside = life.begin == high or low == life.end
        if overlaps and (reads or not life.read):
            return life
        if beside and not life.read and before >= 0 and life.written == before:
            return life
    return None
