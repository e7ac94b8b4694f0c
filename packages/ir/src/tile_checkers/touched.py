"""Find the touches of a statement with their pipes, and pairs of touches that need an order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from tile_ir import Buffer, Memory, Op, Pipe, Stmt, Values, loads, pipe_of
from tile_ir.analysis import Ranges, Touch
from tile_ir.analysis.accesses import touches
from tile_ir.quick_dataclasses import dataclass

PIPES: tuple[Pipe, ...] = tuple(p for p in Pipe if p is not Pipe.ALL)
NUMBER: dict[Pipe, int] = {p: i for i, p in enumerate(PIPES)}
S = NUMBER[Pipe.S]
# Source pipe, target pipe, event id.
Flag = tuple[int, int, int]


@lru_cache(maxsize=4096)
def pipes_of_flag(op: Op) -> tuple[int, int]:
    """Return the numbers of the pipe that sets a flag and of the pipe that waits for it."""
    return NUMBER[Pipe(op.attr("src_pipe"))], NUMBER[Pipe(op.attr("dst_pipe"))]


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two touches that nothing orders; `first` ran earlier in program order."""

    first: Touch
    second: Touch

    @property
    def kind(self) -> str:
        if not self.first.writes:
            return "WAR"
        return "WAW" if self.second.writes else "RAW"

    @property
    def bytes(self) -> tuple[float, float]:
        """The bytes that both may touch."""
        return max(self.first.low, self.second.low), min(self.first.high, self.second.high)


def touched_by_pipes(
    stmt: Stmt, addresses: Mapping[Buffer, int], known: Ranges, values: Values
) -> tuple[tuple[int, bool, tuple[Touch, ...]], ...]:
    """Return the touches of the scalar unit, which reads elements before an operation is issued,
    and those of the operation: each with its pipe, and whether that pipe orders it."""
    found: tuple[Touch, ...] = touches(stmt, addresses, known, values)
    if not found:
        return ()
    if not isinstance(stmt, Op):
        return ((S, False, found),)
    count = sum(1 for x in loads(stmt) if x.buffer.memory is not Memory.VAR)
    own = NUMBER.get(pipe_of(stmt), S), stmt.opdef.in_order, found[count:]
    return tuple(part for part in ((S, False, found[:count]), own) if part[2])


def first_conflict(
    one: Sequence[Touch], two: Sequence[Touch], meet: Callable[[int, int], bool]
) -> tuple[int, int] | None:
    """Return the numbers of two touches that need an order and `meet`; of a value that is read
    rather than of bytes that are overwritten: an operation that works in place reads first."""
    found: tuple[int, int] | None = None
    for i, a in enumerate(one):
        for j, b in enumerate(two):
            if a.conflicts(b) and meet(i, j):
                if a.writes and not b.writes:
                    return i, j
                found = found or (i, j)
    return found


__all__ = [
    "NUMBER",
    "PIPES",
    "Flag",
    "Hazard",
    "S",
    "first_conflict",
    "pipes_of_flag",
    "touched_by_pipes",
]
