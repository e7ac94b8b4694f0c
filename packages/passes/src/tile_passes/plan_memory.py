"""Gives every on-chip buffer its address. How stands in `memory`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations

from tile_ir import (
    REPEAT_BYTES,
    Alloc,
    Automatic,
    Buffer,
    Func,
    Memory,
    Phase,
    Target,
    buffer_bytes,
    walk_ops,
)
from tile_ir.analysis import Sharing
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.in_place import InPlacePair, in_place_pairs
from tile_passes.analysis.live_ranges import interfere
from tile_passes.analysis.liveness import Liveness, liveness
from tile_passes.memory.allocate import allocate
from tile_passes.memory.allocation_problem import AllocationProblem, Interval, Pair
from tile_passes.memory.bank_halves import bank_halves, in_halves, side_by_side_in_halves
from tile_passes.memory.overflow import overflow_by_hand, overflow_by_liveness
from tile_passes.memory.side_by_side import Addresses, end_of, side_by_side
from tile_passes.order_sharing import order_sharing, waits_of_sharing
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.LOWERED, gives=Phase.PLANNED)
def plan_memory(func: Func, target: Target) -> Func:
    """Give every buffer an address; those not needed at the same time share bytes if they must.

    Needs: LOWERED. Gives: PLANNED. Idea: buffers lie side by side in order of allocation, around
    fixed addresses; an alias is at the address of its buffer. If a memory is too small and the
    kernel leaves memory to the compiler, buffers become intervals with holes: linear scan in
    several orders, then an exact search that misses no placement. Intervals that interfere only
    where an operation may write in place are coalesced as a last resort. Otherwise the scratch of
    all operations starts at one address. In manually ordered kernels, placements that the existing
    order allows come first; flags and barriers order the others. With `Automatic.BANKS`, buffers of
    ub that one instruction reads start in different halves of the bank groups if there is room.
    Limits: the cost of sharing counts only in manually ordered kernels, and there as a whole; fixed
    addresses are occupied all the time; the search stops after a fixed number of steps.
    """
    facts = _Facts(func, target)
    address: dict[Alloc, int] = {}
    for memory in target.capacity:
        allocs = [a for a in func.launch.allocs if a.buffer.memory is memory and a.alias_of is None]
        if allocs:
            address.update(_addresses(allocs, facts, memory, target))
    by_buffer = {a.buffer: address.get(a, a.address) for a in func.launch.allocs}
    new = tuple(
        replace(a, address=by_buffer.get(a.alias_of or a.buffer)) for a in func.launch.allocs
    )
    planned = replace(func, launch=replace(func.launch, allocs=new))
    if not facts.by_hand:
        return planned
    placed = {a.buffer.name for a in func.launch.allocs if a.address is not None}
    return order_sharing(planned, Sharing.of(new, placed), target)


class _Facts:
    """What is known of the function's buffers, worked out when it is first asked. `by_hand` says
    that the order inside a core is the author's."""

    def __init__(self, func: Func, target: Target) -> None:
        self.func = func
        self.target = target
        self.shares = Automatic.MEMORY in func.automatic
        self.by_hand = Automatic.SYNC not in func.automatic
        self.parts_banks = Automatic.BANKS in func.automatic and self.shares and not self.by_hand

    @cached_property
    def live(self) -> Liveness:
        return liveness(self.func.launch.allocs, self.func.launch.body)

    @cached_property
    def in_place(self) -> list[InPlacePair]:
        return in_place_pairs(self.live)

    @cached_property
    def waits(self) -> frozenset[Pair]:
        """Buffers, by number, whose bytes the author's order does not let pass to each other."""
        launch = self.func.launch
        address: dict[Buffer, int] = {}
        for memory, align in self.target.alignment.items():
            here = [a for a in launch.allocs if a.buffer.memory is memory and a.alias_of is None]
            apart = side_by_side([replace(a, address=None) for a in here], align, True)
            address.update({a.buffer: start for a, start in apart.items()})
        allocs = tuple(
            replace(a, address=address.get(a.alias_of or a.buffer)) for a in launch.allocs
        )
        func = replace(self.func, launch=replace(launch, allocs=allocs))
        waits = waits_of_sharing(func, self.target)
        return frozenset(frozenset(self.live.roots[b] for b in pair) for pair in waits)


def _addresses(allocs: Sequence[Alloc], facts: _Facts, memory: Memory, target: Target) -> Addresses:
    align, capacity = target.alignment[memory], target.capacity[memory]
    if memory is Memory.UB and facts.parts_banks and all(a.address is None for a in allocs):
        in_other_banks = _in_other_banks(allocs, facts, target)
        if in_other_banks is not None:
            return in_other_banks
    stacked = side_by_side(allocs, align, scratch_apart=False)
    if not facts.shares:
        if end_of(stacked) > capacity:
            raise overflow_by_hand(stacked, facts.live, memory, target)
        return stacked
    apart = side_by_side(allocs, align, scratch_apart=True)
    if end_of(apart) <= capacity:
        return apart
    live = facts.live
    here = [i for i, a in enumerate(live.buffers) if a.buffer.memory is memory]
    found = None
    if facts.by_hand:
        found = allocate(_problem(facts, here, memory, facts.waits), thorough=False)
    if found is None or found.addresses is None:
        if end_of(stacked) <= capacity and _scratch_is_apart_in_time(allocs, live):
            return stacked
        found = allocate(_problem(facts, here, memory, frozenset()))
    if found.addresses is None:
        raise overflow_by_liveness(live, memory, target, found.certain)
    return {live.buffers[i]: address for i, address in zip(here, found.addresses, strict=True)}


def _in_other_banks(allocs: Sequence[Alloc], facts: _Facts, target: Target) -> Addresses | None:
    """Addresses in ub at which buffers that are read together lie in other banks; None where they
    have no room."""
    half = bank_halves(allocs, walk_ops(facts.func.launch.body))
    apart = side_by_side_in_halves(allocs, half)
    if end_of(apart) <= target.capacity[Memory.UB]:
        return apart
    live = facts.live
    here = [i for i, a in enumerate(live.buffers) if a.buffer.memory is Memory.UB]
    halves = dict(zip(allocs, half, strict=True))
    mine = [halves[live.buffers[i]] for i in here]
    problem = in_halves(_problem(facts, here, Memory.UB, frozenset()), mine)
    found = allocate(problem, thorough=False)
    if found.addresses is None:
        return None
    places = zip(here, found.addresses, mine, strict=True)
    return {live.buffers[i]: address + REPEAT_BYTES * h for i, address, h in places}


def _problem(
    facts: _Facts, here: Sequence[int], memory: Memory, apart: Iterable[Pair]
) -> AllocationProblem:
    """The buffers of a memory, by their numbers `here` among all."""
    live, target = facts.live, facts.target
    number = {i: n for n, i in enumerate(here)}
    intervals = (
        Interval(buffer_bytes(a), live.ranges[i], a.address)
        for i, a in ((i, live.buffers[i]) for i in here)
    )
    in_place = (
        InPlacePair(p.point, number[p.source], number[p.result])
        for p in facts.in_place
        if {p.source, p.result} <= number.keys()
    )
    kept = frozenset(frozenset(number[i] for i in p) for p in apart if p <= number.keys())
    room = target.capacity[memory], target.alignment[memory]
    return AllocationProblem(tuple(intervals), *room, tuple(in_place), kept)


def _scratch_is_apart_in_time(allocs: Sequence[Alloc], live: Liveness) -> bool:
    ranges = [live.ranges[live.roots[a.buffer]] for a in allocs if a.scratch and a.address is None]
    return not any(interfere(a, b) for a, b in combinations(ranges, 2))
