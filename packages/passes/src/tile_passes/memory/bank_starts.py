"""Where buffers of ub begin so that operands of vector instructions do not meet in its banks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from tile_ir import (
    REPEAT_BYTES,
    Access,
    Alloc,
    Body,
    Buffer,
    For,
    Memory,
    Op,
    Pipe,
    Region,
    accesses,
    bodies,
    buffer_bytes,
    constant_value,
    element_count,
    element_offset,
    is_contiguous,
    linear_form,
    pipe_of,
    trailing_matrix,
)
from tile_ir.analysis import constant_trips
from tile_passes.clock.pipe_clock import ASSUMED_ITERATIONS

# All groups of banks have passed after so many bytes; a repeat reads half of them.
ALL_GROUPS = 2 * REPEAT_BYTES
# Two buffers that an instruction reads, and 1 if its operands meet where these begin in different
# halves, or 0.
Meeting = tuple[Alloc, Alloc, int]


def bank_starts(allocs: Sequence[Alloc], body: Body) -> dict[Alloc, int]:
    """Bytes from a multiple of `ALL_GROUPS` to the start of each buffer of ub that is longer.

    Two reads in a group of banks take turns, and so do a read and a write in a bank unless their
    blocks meet one by one (docs/hardware/units.md#banks). Buffers that begin at repeats meet one by
    one or not at all. Two that an instruction reads begin in different halves of the groups, if no
    pair with more repeats is against it.
    """
    large = [a for a in allocs if a.address is None and buffer_bytes(a) >= ALL_GROUPS]
    if not large:
        return {}
    weights = _weights(large, allocs, body)
    total: dict[Alloc, float] = defaultdict(float)
    for (a, b, _), weight in weights.items():
        total[a] += weight
        total[b] += weight
    half: dict[Alloc, int] = {}
    for _ in range(2):  # once more where later ones stand
        for alloc in sorted(large, key=lambda a: -total[a]):
            half[alloc] = _better_half(alloc, half, weights)
    return {alloc: half[alloc] * REPEAT_BYTES for alloc in large}


def _better_half(alloc: Alloc, half: dict[Alloc, int], weights: dict[Meeting, float]) -> int:
    meets = [0.0, 0.0]
    for (a, b, apart), weight in weights.items():
        if alloc in (a, b):
            other = b if alloc is a else a
            if other in half and other is not alloc:
                meets[half[other] ^ apart] += weight
    return int(meets[0] > meets[1])


def _weights(large: Sequence[Alloc], allocs: Sequence[Alloc], body: Body) -> dict[Meeting, float]:
    """Repeats in which two buffers are read, by whether they meet where they begin `apart`."""
    by_buffer: dict[Buffer, Alloc] = {a.buffer: a for a in large}
    by_buffer |= {a.buffer: by_buffer[a.alias_of] for a in allocs if a.alias_of in by_buffer}
    found: dict[Meeting, float] = defaultdict(float)
    for op, times in _vector_ops(body, 1.0):
        for first, second in combinations(_read(op), 2):
            a, b = by_buffer.get(first.buffer), by_buffer.get(second.buffer)
            one, other = _steps_on(first), _steps_on(second)
            if a is None or b is None or a is b or one is None or other is None:
                continue
            if one[1] == other[1]:
                found[a, b, int(one[0] != other[0])] += times * _repeats(first)
    return found


def _vector_ops(body: Body, times: float) -> Iterator[tuple[Op, float]]:
    for stmt in body:
        if isinstance(stmt, Op) and pipe_of(stmt) is Pipe.V:
            yield stmt, times
        trips = constant_trips(stmt) if isinstance(stmt, For) else 1
        often = ASSUMED_ITERATIONS if trips is None else max(trips, 0)
        for inner in bodies(stmt):
            yield from _vector_ops(inner, times * often)


def _read(op: Op) -> list[Region]:
    """The regions of ub that the instruction reads, without its working memory."""
    return [
        region
        for region, access in accesses(op)
        if access is not Access.WRITE and region.memory is Memory.UB and region is not op.scratch
    ]


def _steps_on(region: Region) -> tuple[int, int] | None:
    """The half of the groups that a region begins in, if its buffer begins in the first, and how
    far the groups of its rows are apart; None if where it begins differs from time to time."""
    unit, pitch = region.dtype.bits, None
    terms, constant = linear_form(element_offset(region))
    if any(factor * unit // 8 % ALL_GROUPS for factor in terms.values()):
        return None
    if not is_contiguous(region):
        pitch = constant_value(trailing_matrix(region).pitch)
    apart = 0 if pitch is None else pitch * unit // 8 % ALL_GROUPS
    return constant * unit // 8 // REPEAT_BYTES % 2, apart


def _repeats(region: Region) -> float:
    count = constant_value(element_count(region))
    return 1.0 if count is None else max(count * region.dtype.bits / 8 / REPEAT_BYTES, 1.0)
