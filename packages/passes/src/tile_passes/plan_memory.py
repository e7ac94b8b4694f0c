"""Gives every on-chip buffer its address. How stands in `memory`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from tile_ir import Alloc, Automatic, Buffer, Func, Memory, Phase, Target
from tile_ir.shared_bytes import Sharing
from tile_passes.analysis.in_place import Reuse, reuses
from tile_passes.analysis.liveness import Liveness, liveness
from tile_passes.memory.by_liveness import plan_by_liveness
from tile_passes.memory.order_sharing import order_sharing, unordered_reuse
from tile_passes.memory.overflow import overflow_by_hand, overflow_by_liveness
from tile_passes.memory.side_by_side import Addresses, end_of, side_by_side
from tile_passes.passdef import ir_pass


@ir_pass(needs=Phase.LOWERED, gives=Phase.PLANNED)
def plan_memory(func: Func, target: Target) -> Func:
    """Give every buffer an address; those not needed at the same time share bytes if they must.

    Needs: LOWERED. Gives: PLANNED. Idea: side by side in order of allocation around the addresses
    the user fixed; an alias is where its buffer is. Where a memory is too small and the function
    leaves memory to the compiler: live ranges with holes, first fit in several orders, writing in
    place where the op table allows it, and a search that misses no placement. Without: scratch of
    all operations starts at one address. Where the order inside a core is the author's: placements
    that it orders already come first, and what sharing puts in each other's way is ordered by flags
    and barriers. Limits: sharing is not weighed by the waits it makes; user addresses are taken all
    the time; the search gives up after a fixed number of steps.
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

    @cached_property
    def live(self) -> Liveness:
        return liveness(self.func.launch.allocs, self.func.launch.body)

    @cached_property
    def reuses(self) -> list[Reuse]:
        return reuses(self.live)

    @cached_property
    def unordered(self) -> frozenset[tuple[int, int]]:
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
        found = unordered_reuse(replace(self.func, launch=replace(launch, allocs=allocs)))
        numbers = ([self.live.roots[b] for b in pair] for pair in found)
        return frozenset((min(pair), max(pair)) for pair in numbers)


def _addresses(allocs: Sequence[Alloc], facts: _Facts, memory: Memory, target: Target) -> Addresses:
    align, capacity = target.alignment[memory], target.capacity[memory]
    stacked = side_by_side(allocs, align, scratch_apart=False)
    if not facts.shares:
        if end_of(stacked) > capacity:
            raise overflow_by_hand(stacked, facts.live, memory, target)
        return stacked
    apart = side_by_side(allocs, align, scratch_apart=True)
    if end_of(apart) <= capacity:
        return apart
    live = facts.live
    if facts.by_hand:
        plan = plan_by_liveness(live, lambda: facts.reuses, memory, target, facts.unordered)
        if plan.addresses is not None:
            return plan.addresses
    if end_of(stacked) <= capacity and _scratch_is_apart_in_time(allocs, live):
        return stacked
    plan = plan_by_liveness(live, lambda: facts.reuses, memory, target)
    if plan.addresses is None:
        raise overflow_by_liveness(live, memory, target, plan.certain)
    return plan.addresses


def _scratch_is_apart_in_time(allocs: Sequence[Alloc], live: Liveness) -> bool:
    scratch = [live.roots[a.buffer] for a in allocs if a.scratch and a.address is None]
    return all(
        live.meet_only_at(a, b, frozenset())
        for i, a in enumerate(scratch)
        for b in scratch[i + 1 :]
    )
