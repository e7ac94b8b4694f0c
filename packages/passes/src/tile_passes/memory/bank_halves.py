"""Choose the half of the bank groups of ub in which each buffer starts.

Two operands that one vector instruction reads take turns where they lie in one group of banks. The
groups repeat every 512 bytes, and a repeat covers half of them. Buffers that are read together
start in different halves (docs/hardware/units.md#banks).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations

from tile_ir import (
    REPEAT_BYTES,
    Alloc,
    Buffer,
    Memory,
    Op,
    Pipe,
    accesses,
    buffer_bytes,
    pipe_of,
    round_up,
)
from tile_ir.ops.rules import elements_bound
from tile_ir.quick_dataclasses import replace
from tile_passes.memory.allocation_problem import AllocationProblem, Interval

# What lies so many bytes further is in the same group of banks.
ALL_GROUPS = 2 * REPEAT_BYTES


def bank_halves(allocs: Sequence[Alloc], ops: Iterable[Op]) -> list[int]:
    """For each buffer, 0 or 1: the half in which it starts.

    The buffers with most bytes to read choose first, each the half in which fewer bytes are read
    together with it.
    """
    number = {a.buffer: n for n, a in enumerate(allocs)}
    together: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for op in ops:
        read = {number[b]: size for b, size in _reads(op) if b in number}
        for one, other in combinations(sorted(read), 2):
            size = min(read[one], read[other])
            together[one][other] += size
            together[other][one] += size
    half = [0] * len(allocs)
    chosen: set[int] = set()
    for one in sorted(together, key=lambda n: (-sum(together[n].values()), n)):
        meets = [0, 0]
        for other, size in together[one].items():
            if other in chosen:
                meets[half[other]] += size
        half[one] = 1 if meets[0] > meets[1] else 0
        chosen.add(one)
    return half


def _reads(op: Op) -> list[tuple[Buffer, int]]:
    """The buffers in ub that a vector instruction reads, with the bytes of the region."""
    if pipe_of(op) is not Pipe.V:
        return []
    return [
        (region.buffer, elements_bound(region) * region.dtype.size)
        for region, access in accesses(op)
        if access.reads and region.buffer.memory is Memory.UB
    ]


def in_halves(problem: AllocationProblem, half: Sequence[int]) -> AllocationProblem:
    """The problem with room in front of each buffer for its half, and whole groups for each."""
    intervals = tuple(
        Interval(i.size + REPEAT_BYTES * h, i.live, i.address)
        for i, h in zip(problem.intervals, half, strict=True)
    )
    return replace(problem, intervals=intervals, alignment=ALL_GROUPS, in_place=())


def side_by_side_in_halves(allocs: Sequence[Alloc], half: Sequence[int]) -> dict[Alloc, int]:
    """Addresses one behind the other."""
    found: dict[Alloc, int] = {}
    cursor = 0
    for a, h in zip(allocs, half, strict=True):
        found[a] = cursor + REPEAT_BYTES * h
        cursor = round_up(found[a] + buffer_bytes(a), ALL_GROUPS)
    return found
