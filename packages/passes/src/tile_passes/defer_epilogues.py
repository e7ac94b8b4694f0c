"""Lets the vector cores finish a block's result while the cube core works on the next block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tile_ir import (
    OPS,
    Automatic,
    Body,
    Buffer,
    Core,
    Effect,
    For,
    Func,
    LoopKind,
    Memory,
    Phase,
    Target,
    breaks,
    walk_ops,
)
from tile_ir.analysis import constant_trips
from tile_passes.memory.overfull import overfull_memory
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.dependence_graph import Iteration, Unit, dependence_graph
from tile_passes.pipelining.modulo_schedule import Arrangement
from tile_passes.pipelining.plan_versions import fresh_buffers, versions_of
from tile_passes.pipelining.schedule import Stages
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.streams.items import Step, steps_of, works_on
from tile_passes.streams.workspaces import workspaces

PLAIN = (LoopKind.SERIAL, LoopKind.PERSISTENT)
BOTH = frozenset({Core.CUBE, Core.VECTOR})


@ir_pass(needs=Phase.LOWERED)
def defer_epilogues(func: Func, target: Target) -> Func:
    """Let vector work on a result of the cube core follow the next iteration's handovers to it.

    Needs, gives: LOWERED. Idea: an inner loop hands tiles from the vector cores to the cube core.
    The cube core waits for the first tile of the next iteration; the vector cores make it only
    after their work on the result of this iteration, for which they wait. That work becomes a stage
    of the outer loop, one iteration behind; the workspace of the result gets two versions. Limits:
    loops of one inner loop over both kinds of core, in automatic order, without `break`; vector
    work behind it that hands on nothing but by tensors.
    """
    if not {Automatic.SYNC, Automatic.CROSS} <= func.automatic:
        return func
    for loop in list(_outer_loops(func.launch.body)):
        stages = _deferred(func, loop)
        if stages is None:
            continue
        new = skew_loops(func, (stages,), target)
        if overfull_memory(new, target) is None:
            return new  # versions change what other loops touch
    return func


def _outer_loops(body: Body) -> Iterator[For]:
    for stmt in body:
        if isinstance(stmt, For):
            if stmt.kind in PLAIN:
                yield stmt
            else:
                continue
            yield from _outer_loops(stmt.body)


def _deferred(func: Func, loop: For) -> Stages | None:
    """The stages of a loop whose last vector work can be one iteration behind."""
    trips = constant_trips(loop)
    if (trips is not None and trips < 2) or any(breaks(loop.body)):
        return None
    if any(op.opdef.effect is not Effect.DATA for op in walk_ops(loop.body)):
        return None
    steps: list[Step] = []
    inner: For | None = None
    behind: set[int] = set()
    for stmt in loop.body:
        found = steps_of(stmt)
        if found is None:
            if inner is not None or not isinstance(stmt, For) or works_on(stmt) != BOTH:
                return None
            inner, found = stmt, [Step(stmt, None)]
        elif inner is not None:
            behind |= {id(step.stmt) for step in found if step.core is Core.VECTOR}
        steps += found
    if inner is None or not behind:
        return None
    found_ours = workspaces(func, tuple(s.stmt for s in steps))
    ours = [b for b, declared in found_ours.items() if not declared]
    own = fresh_buffers(func, {loop})[loop]
    fresh = [*ours, *(a.buffer for a in func.launch.allocs if a.buffer in own)]
    iteration = dependence_graph(func, loop, steps, fresh)
    stage = {u: int(u.core is Core.VECTOR and id(u.stmts[0]) in behind) for u in iteration.units}
    if any(stage[a] > stage[b] for a, b, _ in iteration.edges):
        return None
    crossing = _crossing(iteration.units, stage)
    results = [b for b in ours if b in crossing]
    sent = any(_is_sent(b, inner, iteration) for b in ours)
    if not sent or not results or any(b.memory is not Memory.GM for b in crossing):
        return None
    order = tuple(sorted(iteration.units, key=stage.__getitem__))
    arrangement = Arrangement(order, stage)
    versions = versions_of(arrangement, results)
    return Stages(iteration, arrangement, versions, frozenset())


def _crossing(units: Sequence[Unit], stage: dict[Unit, int]) -> set[Buffer]:
    """The buffers that both stages access, of which one writes."""
    touched = [
        {x.buffer for u in units if stage[u] == number for x in u.accesses} for number in (0, 1)
    ]
    written = {x.buffer for u in units for x in u.accesses if x.writes}
    return touched[0] & touched[1] & written


def _is_sent(buffer: Buffer, inner: For, iteration: Iteration) -> bool:
    """Whether the inner loop alone uses a workspace, which the vector cores write there."""
    users = [u for u in iteration.units if any(x.buffer is buffer for x in u.accesses)]
    if [u.stmts for u in users] != [(inner,)]:
        return False
    return any(
        op.opdef is OPS["copy_ub_gm"] and op.region("dst").buffer is buffer
        for op in walk_ops(inner.body)
    )
