"""Find the memory that has no room for the buffers of a function, before they have addresses."""

from __future__ import annotations

from functools import lru_cache

from tile_ir import Automatic, Func, Memory, Target
from tile_passes.analysis.liveness import liveness
from tile_passes.analysis.memory_use import memory_max_live, peak
from tile_passes.memory.allocate import allocate
from tile_passes.memory.allocation_problem import AllocationProblem
from tile_passes.memory.side_by_side import fit_side_by_side


# Who plans several loops asks for each of them, and then for all.
@lru_cache(maxsize=4)
def overfull_memory(
    func: Func, target: Target, *, holes: bool = False
) -> tuple[Memory, int] | None:
    """The memory that has no room for all that a function needs at a time, and the bytes needed.

    Every buffer keeps its bytes from its first need to its last. With `holes` it is free where its
    bytes are written anew before they are read, as far as a quick scan finds places for all. Pipes
    may then wait for each other because of these bytes.
    """
    allocs, automatic = func.launch.allocs, Automatic.MEMORY in func.automatic
    used = {a.buffer.memory for a in allocs} & target.capacity.keys()
    tight = [m for m in used if not fit_side_by_side(allocs, m, target, automatic)]
    if not tight:
        return None  # nearly always: then no live range matters
    allocs = tuple(a for a in allocs if a.buffer.memory in tight)
    if not (holes and automatic):
        most = memory_max_live(func.with_body(func.launch.body, allocs=allocs), target)
        return next(((m, size) for m, size in most.items() if size > target.capacity[m]), None)
    live = liveness(allocs, func.launch.body)
    for memory in tight:
        plan = allocate(AllocationProblem.of(live, memory, target), thorough=False)
        if plan.addresses is None:
            return memory, peak(live, (), memory, target).bytes
    return None
