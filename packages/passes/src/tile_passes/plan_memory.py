"""Gives every on-chip buffer its address. How stands in `memory`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cached_property
from itertools import combinations

from tile_ir import Alloc, Automatic, Buffer, Func, Memory, Phase, Target
from tile_ir.analysis import Sharing
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.in_place import in_place_pairs
from tile_passes.analysis.live_ranges import interfere
from tile_passes.analysis.liveness import Liveness, liveness
from tile_passes.insert_sync import Trees, section_trees
from tile_passes.memory.allocate import allocate
from tile_passes.memory.allocation_problem import AllocationProblem
from tile_passes.memory.bank_starts import bank_starts
from tile_passes.memory.overflow import overflow_by_hand, overflow_by_liveness
from tile_passes.memory.side_by_side import Addresses, end_of, side_by_side
from tile_passes.order_sharing import at_addresses, move, order_sharing, waits_of_sharing
from tile_passes.passdef import ir_pass
from tile_passes.scalar_reads import name_scalar_reads


@ir_pass(needs=Phase.LOWERED, gives=Phase.PLANNED)
def plan_memory(func: Func, target: Target) -> Func:
    """Give every buffer an address; those not needed at the same time share bytes if they must.

    Needs: LOWERED. Gives: PLANNED. Idea: buffers lie side by side in order of allocation, around
    fixed addresses; in ub long ones begin where operands of one instruction are in different banks.
    An alias is at the address of its buffer. If a memory is too small and the
    kernel leaves memory to the compiler, buffers become intervals with holes: linear scan in
    several orders, then an exact search that misses no placement. Intervals that interfere only
    where an operation may write in place are coalesced as a last resort. Otherwise the scratch of
    all operations starts at one address. In manually ordered kernels, placements that the existing
    order allows come first; flags and barriers order the others. Limits: the cost of sharing counts
    only in manually ordered kernels, and there as a whole; fixed addresses are occupied all the
    time; the search stops after a fixed number of steps.
    """
    facts = _Facts(func, target)
    address: dict[Alloc, int] = {}
    for memory in target.capacity:
        allocs = [a for a in func.launch.allocs if a.buffer.memory is memory and a.alias_of is None]
        if allocs:
            address.update(_addresses(allocs, facts, memory, target))
    by_buffer = {a.buffer: address.get(a, a.address) for a in func.launch.allocs}
    planned = at_addresses(func, by_buffer)
    if not facts.by_hand:
        return planned
    placed = {a.buffer.name for a in func.launch.allocs if a.address is not None}
    sharing = Sharing.of(planned.launch.allocs, placed)
    named = planned
    if facts.trees:
        named = at_addresses(facts.apart, by_buffer)
        move(facts.trees, facts.apart, named)
    return order_sharing(named, sharing, target, facts.trees) or planned


class _Facts:
    """The facts of the function's buffers, each computed at its first use. `by_hand` says
    that the order inside a core is the author's."""

    def __init__(self, func: Func, target: Target) -> None:
        self.func = func
        self.target = target
        self.shares = Automatic.MEMORY in func.automatic
        self.by_hand = Automatic.SYNC not in func.automatic
        # Of the sections, once `waits` are known.
        self.trees: Trees = {}

    def live(self, memory: Memory) -> Liveness:
        """The live ranges of the buffers of one memory."""
        launch = self.func.launch
        return liveness([a for a in launch.allocs if a.buffer.memory is memory], launch.body)

    @cached_property
    def apart(self) -> Func:
        """The function with scalar reads named, at addresses at which no two buffers meet."""
        launch = self.func.launch
        address: dict[Buffer, int] = {}
        for memory, align in self.target.alignment.items():
            here = [a for a in launch.allocs if a.buffer.memory is memory and a.alias_of is None]
            apart = side_by_side([replace(a, address=None) for a in here], align, True)
            address.update({a.buffer: start for a, start in apart.items()})
        return name_scalar_reads(at_addresses(self.func, address))

    @cached_property
    def waits(self) -> Set[frozenset[Buffer]]:
        """Buffers whose bytes the author's order does not let pass to each other."""
        self.trees = section_trees(self.apart, self.target)
        return waits_of_sharing(self.apart, self.trees)


def _addresses(allocs: Sequence[Alloc], facts: _Facts, memory: Memory, target: Target) -> Addresses:
    align, capacity = target.alignment[memory], target.capacity[memory]
    stacked = side_by_side(allocs, align, scratch_apart=False)
    if not facts.shares:
        if end_of(stacked) > capacity:
            raise overflow_by_hand(stacked, facts.live(memory), memory, target)
        return stacked
    if memory is Memory.UB:
        starts = bank_starts(allocs, facts.func.launch.body)
        clear = side_by_side(allocs, align, scratch_apart=True, starts=starts)
        if end_of(clear) <= capacity:
            return clear
    apart = side_by_side(allocs, align, scratch_apart=True)
    if end_of(apart) <= capacity:
        return apart
    live, found = facts.live(memory), None
    if facts.by_hand:
        waits = (frozenset(live.roots[b] for b in p) for p in facts.waits if p <= live.roots.keys())
        problem = AllocationProblem.of(live, memory, target, in_place_pairs(live), waits)
        found = allocate(problem, thorough=False)
    if found is None or found.addresses is None:
        if end_of(stacked) <= capacity and _scratch_is_apart_in_time(allocs, live):
            return stacked
        found = allocate(AllocationProblem.of(live, memory, target, in_place_pairs(live)))
    if found.addresses is None:
        raise overflow_by_liveness(live, memory, target, found.certain)
    here = live.inside(memory)
    return {live.buffers[i]: address for i, address in zip(here, found.addresses, strict=True)}


def _scratch_is_apart_in_time(allocs: Sequence[Alloc], live: Liveness) -> bool:
    ranges = [live.ranges[live.roots[a.buffer]] for a in allocs if a.scratch and a.address is None]
    return not any(interfere(a, b) for a, b in combinations(ranges, 2))
