"""Stores what an iteration hands to the next from a copy, so that the next one need not wait."""

from __future__ import annotations

from collections.abc import Iterator, Set

from tile_ir import (
    OPS,
    Access,
    Alloc,
    Automatic,
    Body,
    Buffer,
    Core,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Phase,
    Pipe,
    Region,
    Stmt,
    Target,
    accesses,
    breaks,
    buffer_bytes,
    pipe_of,
    rewrite,
    walk_ops,
)
from tile_ir.costs.instruction_cost import Assumed, cost
from tile_ir.layout.geometry import BLOCK_BYTES
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.own_bytes import with_own_bytes
from tile_passes.clock.pipe_work import pipe_work
from tile_passes.free_names import FreeNames
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.plan_versions import fresh_buffers
from tile_passes.streams.items import with_cores

# The wait that goes away is so many times the cycles of the copy at least: the model leaves out
# what else the vector pipe waits for.
WORTH = 2.0
STORE = OPS["copy_ub_gm"]
VECTOR = (Core.VECTOR, Pipe.V)


@ir_pass(needs=Phase.SPLIT)
def stage_carried_stores(func: Func, target: Target) -> Func:
    """Store values that the next iteration changes from a copy of them.

    Needs, gives: SPLIT. Idea: a recurrence keeps its state in one tile, and stores it in each
    iteration. The next one may not change the tile until it has been stored, which takes longer
    than to copy it; the copy is a fresh tile, of which pipelined loops have versions. Limits: whole
    tiles of constant sizes, stored once in an iteration of a pipelined loop of the vector cores.
    The modelled wait must be longer than the copy, and two of the tiles must have room.
    """
    if not {Automatic.SYNC, Automatic.MEMORY, Automatic.ITERATIONS} <= func.automatic:
        return func
    without_room: set[Op] = set()
    while (store := next(_waiting(func, target, without_room), None)) is not None:
        staged = _staged(func, store, target)
        if staged is None:
            without_room.add(store)
        func = staged or func
    return func


def _waiting(func: Func, target: Target, but: Set[Op]) -> Iterator[Op]:
    """The stores that the next iteration waits for, for longer than a copy takes."""
    for loop, core in with_cores(func.launch.body, Core.VECTOR):
        if not isinstance(loop, For) or loop.kind is not LoopKind.PIPELINED or loop.given:
            continue
        found = [s for s in loop.body if isinstance(s, Op) and s.opdef is STORE and s not in but]
        if core is not Core.VECTOR or not found or any(breaks(loop.body)):
            continue
        carried = _carried(func, loop)
        for store in found:
            src = store.region("src")
            if src.buffer not in carried or not src.is_whole():
                continue
            if _wait(loop.body, store, target) >= WORTH * _copied(store, target):
                yield store


def _carried(func: Func, loop: For) -> set[Buffer]:
    """The tiles of constant sizes and of whole blocks whose values a later iteration needs."""
    (fresh,) = fresh_buffers(func, {loop}).values()
    own = (a for a in with_own_bytes(func.launch.allocs) if a.buffer not in fresh)
    return {
        a.buffer
        for a in own
        if a.buffer.static_shape() is not None and buffer_bytes(a) % BLOCK_BYTES == 0
    }


def _wait(body: Body, store: Op, target: Target) -> float:
    """Cycles until a store is done, without those of the vector instructions that come before the
    next one that writes what is stored."""
    tile, at = store.region("src").buffer, body.index(store)
    behind = [*body[at + 1 :], *body[:at]]
    writes = next((n for n, s in enumerate(behind) if _is_changed(tile, s)), None)
    if writes is None:
        return 0.0
    between = pipe_work(tuple(behind[:writes]), target).get(VECTOR, 0.0)
    return cost(store, target, Assumed(cores=target.cube_cores)).done - between


def _is_changed(tile: Buffer, stmt: Stmt) -> bool:
    return any(
        region.buffer == tile and access is not Access.READ
        for op in walk_ops((stmt,))
        if pipe_of(op) is Pipe.V
        for region, access in accesses(op)
    )


def _copied(store: Op, target: Target) -> float:
    tile = store.region("src").buffer
    copy = _copy(store, tile)
    return cost(copy, target, Assumed(cores=target.cube_cores)).done


def _copy(store: Op, tile: Buffer) -> Op:
    return Op(OPS["copy_ub_ub"], (store.region("src"), Region.whole(tile)), (), store.loc)


def _staged(func: Func, store: Op, target: Target) -> Func | None:
    """The function with a copy before a store; None where two of them have no room."""
    src = store.region("src")
    name = FreeNames.of(func).fresh(f"{src.buffer.name}_stored")
    copied = Alloc(replace(src.buffer, name=name, loc=store.loc), store.loc)
    allocs = (*func.launch.allocs, copied)
    if not fit_side_by_side((*allocs, replace(copied)), Memory.UB, target, scratch_apart=True):
        return None
    operands = tuple(Region.whole(copied.buffer) if o is src else o for o in store.operands)
    new = (_copy(store, copied.buffer), replace(store, operands=operands))
    body = rewrite(func.launch.body, lambda s: new if s is store else s)
    return func.with_body(body, allocs=allocs)
