"""Compare two ways to do the blocks of a grid that is larger than the chip."""

from __future__ import annotations

from heapq import heapreplace

from tile_ir import Expr, For, Func, If, Let, Target, constant_value, walk, walk_expr
from tile_ir.costs.timing import DEFAULT_TIMING as TIMING
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.block_work import BlockWork

# Waves of blocks that are looked at where they take different times.
WAVES = 10


@dataclass(frozen=True, slots=True)
class GridTimes:
    """Core cycles until the last of the first waves is done: `dealt` where every core does each
    block that is so many behind the one before, `as_they_come` where the chip starts a block, which
    takes its time, on the core that falls idle. `alike`: no block is known to differ from another,
    and the times are those of one wave."""

    dealt: float
    as_they_come: float
    alike: bool

    @property
    def is_dealt(self) -> bool:
        return self.dealt <= self.as_they_come


def grid_times(func: Func, target: Target) -> GridTimes:
    """The times of a grid whose text is not lowered yet."""
    work = BlockWork(func, target)
    begin = TIMING.block_us * target.clock_mhz
    if not _differ(func):
        length = work.cycles()
        return GridTimes(length, begin + length, alike=True)
    cores, count = target.cube_cores, constant_value(func.launch.blocks)
    most = WAVES * cores
    lengths = [work.cycles(b) for b in range(most if count is None else min(count, most))]
    ends = [0.0] * cores
    for length in lengths:
        heapreplace(ends, ends[0] + begin + length)
    dealt = max(sum(lengths[core::cores]) for core in range(cores))
    return GridTimes(begin + dealt, max(ends), alike=False)


def _differ(func: Func) -> bool:
    """Whether the number of a block changes the trip counts of its loops, or the taken branches."""
    depends: set[Expr] = {func.launch.block}

    def uses(*asked: Expr) -> bool:
        return any(not depends.isdisjoint(walk_expr(e)) for e in asked)

    for stmt in walk(func.launch.body):
        match stmt:
            case Let(var=var, value=value) if uses(value):
                depends.add(var)
            case For(start=start, stop=stop) if uses(start, stop):
                return True
            case If(condition=condition) if uses(condition):
                return True
    return False
