"""Blocks of their own for the two lanes of a core, where no rows of a block can be split."""

from __future__ import annotations

from tile_ir import (
    Automatic,
    Const,
    Core,
    Func,
    If,
    Let,
    Memory,
    Op,
    Section,
    Stmt,
    Target,
    Var,
    constant_value,
    core_of,
    walk,
)
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.room_of_tiles import overfull
from tile_passes.free_names import FreeNames
from tile_passes.lanes.plan import LanePlan, work_of_lanes
from tile_passes.lanes.relations import Dim

LANES = 2
# What the busiest core must gain at least where lanes share a part of the work of each block.
LEAST_GAIN = 0.85


def with_blocks_of_lanes(func: Func, plan: LanePlan, target: Target) -> Func | None:
    """The function whose vector cores run one block each; None where the plan of shared blocks is
    as good. A block needs its core for itself if the cube core works, or if room in gm goes by the
    number of the block. Blocks of a grid wait for none of the others (`Automatic.GRID`)."""
    launch, count = func.launch, constant_value(func.launch.blocks)
    left = not func.automatic.isdisjoint((Automatic.GRID, Automatic.BLOCKS))
    if not left or count is None or count <= target.cube_cores:
        return None
    if any(map(_is_of_cube, walk(launch.body))):
        return None
    if any(a.buffer.memory is Memory.GM for a in launch.allocs):
        return None
    if plan.alone is None and not _is_better(plan, count, target.cube_cores):
        return None
    if _has_shared_room(plan) and overfull(func, target):
        return None
    pair = Var(FreeNames.of(func).fresh("pair"), launch.block.dtype)
    number = Let(launch.block, pair * LANES + launch.lane, launch.loc)
    body = launch.body
    if count % LANES:
        body = (If(launch.block < count, body, (), launch.loc),)
    pairs = Const(-(-count // LANES))
    found = func.with_body((number, *body), blocks=pairs, block=pair)
    return replace(found, launch=replace(found.launch, threads=None))


def _is_better(plan: LanePlan, count: int, cores: int) -> bool:
    """Whether whole blocks of each lane take less time than blocks that lanes share."""
    both, shared = work_of_lanes(plan)
    own = -(-count // (LANES * cores)) * (both + shared)
    return own <= LEAST_GAIN * -(-count // cores) * (both + shared / LANES)


def _has_shared_room(plan: LanePlan) -> bool:
    """Whether lanes that share blocks need less room than those with blocks of their own."""
    return any(isinstance(n, Dim) and n.buffer.memory is Memory.UB for n in plan.choice.sizes)


def _is_of_cube(stmt: Stmt) -> bool:
    match stmt:
        case Section(core=core):
            return core is not Core.VECTOR
        case Op():
            return core_of(stmt) is Core.CUBE
    return False
