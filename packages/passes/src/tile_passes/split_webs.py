"""Gives values that share a buffer bytes of their own, where iterations then overlap more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set

from tile_ir import (
    Access,
    Alloc,
    Automatic,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Phase,
    Pipe,
    Target,
    accesses,
    buffer_bytes,
    pipe_of,
    walk,
    walk_ops,
)
from tile_ir.analysis import constant_trips, executions
from tile_ir.quick_dataclasses import replace
from tile_passes.analysis.own_bytes import with_own_bytes
from tile_passes.analysis.webs import Web, Webs, webs
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.passdef import ir_pass
from tile_passes.pipelining.schedule import Schedule
from tile_passes.pipelining.skew_loops import skew_loops
from tile_passes.pipelining.software_pipeline import WORTH, pipeline_core, unmovable


@ir_pass(needs=Phase.SPLIT, optional=True)
def split_webs(func: Func, target: Target) -> Func:
    """Give each web of a buffer a buffer of its own, where pipelined loops are faster then.

    Needs, gives: SPLIT. Idea: a web is the definitions and uses that share values. Two webs of one
    buffer wait for each other on all pipes and in all iterations, and so do operations with one
    piece of scratch. The pass renames more and more webs, plans the pipelined loops each time, and
    keeps the plan that is fastest by the modelled times. Limits: webs of pipelined loops; no buffer
    with a second name, at a fixed address or in gm; all buffers and versions have room side by
    side. Manually ordered kernels stay as they are. Where a loop gives its order, webs of other
    loops are apart: a given order needs versions, and a buffer has those of one loop.
    """
    loops = [
        s for s in walk(func.launch.body) if isinstance(s, For) and s.kind is LoopKind.PIPELINED
    ]
    if not loops or Automatic.SYNC not in func.automatic:
        return func
    if any(loop.given for loop in loops):
        return _apart_by_loop(func, loops, target)
    if Automatic.MEMORY not in func.automatic:
        return func
    allocs = func.launch.allocs
    shared = [a for a in _written_again(func, loops) if _fit((*allocs, replace(a)), target, True)]
    if not shared:
        return func
    found = webs(shared, func.launch.body)
    before: Sequence[Schedule] | None = None
    best, least = func, WORTH
    for chosen in _choices(func, found, loops, target):
        if before is None:
            before = pipeline_core(func, target)
            if all(s.saturated for s in before):
                break
        new = found.renamed(func, chosen)
        plan = pipeline_core(new, target)
        left = _time_left(before, plan, func)
        if left >= least:
            continue
        written = skew_loops(new, plan, target)
        if _fit(written.launch.allocs, target, apart=False):
            best, least = new, left
    return best


def _apart_by_loop(func: Func, loops: Sequence[For], target: Target) -> Func:
    """The function with a buffer for each web that begins in a later loop than the buffer's first,
    as far as there is room."""
    found = webs(_written_again(func, loops), func.launch.body)
    loop_of = {s: loop for loop in loops for s in walk(loop.body)}
    begins: dict[Web, For | None] = {}
    for stmt, uses in zip(walk(func.launch.body), found.at, strict=True):
        for web in uses.items():
            begins.setdefault(web, loop_of.get(stmt))
    first: dict[int, For] = {}
    allocs, chosen = func.launch.allocs, set[Web]()
    for web, loop in begins.items():
        alloc = found.buffers[web[0]]
        if loop is None or alloc.scratch or first.setdefault(web[0], loop) is loop:
            continue
        if _fit(copied := (*allocs, replace(alloc)), target, apart=True):
            allocs, chosen = copied, chosen | {web}
    return found.renamed(func, chosen) if chosen else func


def _written_again(func: Func, loops: Sequence[For]) -> list[Alloc]:
    """The buffers that could have several webs in loops: those that several statements write
    without the values they held; none in gm, with a second name or at a fixed address."""
    allocs = with_own_bytes(func.launch.allocs)
    inside = {op for loop in loops for op in walk_ops(loop.body)}
    scratch = {a.buffer for a in allocs if a.scratch}
    often = Counter(
        region.buffer
        for op in inside
        for region, access in accesses(op)
        if access is Access.WRITE or region.buffer in scratch
    )
    return [a for a in allocs if often[a.buffer] > 1 and a.buffer.memory is not Memory.GM]


def _choices(func: Func, found: Webs, loops: Sequence[For], target: Target) -> Iterator[Set[Web]]:
    """Webs to rename together, as far as there is room: those of buffers that several pipes use,
    then also those of one pipe and scratch, if statements may move."""
    inside = {s: unmovable(loop) is None for loop in loops for s in walk(loop.body)}
    pipes: dict[int, set[Pipe]] = {}
    movable: dict[int, dict[int, bool]] = {}
    for stmt, uses in zip(walk(func.launch.body), found.at, strict=True):
        for number, web in uses.items() if stmt in inside else ():
            pipes.setdefault(number, set()).add(pipe_of(stmt) if isinstance(stmt, Op) else Pipe.S)
            of_buffer = movable.setdefault(number, {})
            of_buffer[web] = of_buffer.get(web, False) or inside[stmt]
    groups: tuple[list[Web], list[Web]] = ([], [])
    for number, of_buffer in movable.items():
        alone = found.buffers[number].scratch or len(pipes[number]) == 1
        more = [web for web in [*of_buffer][1:] if of_buffer[web] or not alone]
        groups[alone].extend((number, web) for web in more)
    chosen: frozenset[Web] = frozenset()
    allocs = func.launch.allocs
    for group in groups:
        before = chosen
        for one in sorted(group, key=lambda w: _order(found.buffers[w[0]])):
            copied = (*allocs, replace(found.buffers[one[0]]))
            if _fit(copied, target, apart=True):
                allocs, chosen = copied, chosen | {one}
        if chosen != before:
            yield chosen


def _order(alloc: Alloc) -> tuple[bool, int]:
    """Small values first, scratch last."""
    return alloc.scratch, buffer_bytes(alloc)


def _fit(allocs: Sequence[Alloc], target: Target, apart: bool) -> bool:
    """Whether every memory has room for its buffers side by side; pieces of scratch need not be
    apart from each other."""
    return all(fit_side_by_side(allocs, memory, target, apart) for memory in target.capacity)


def _time_left(before: Sequence[Schedule], after: Sequence[Schedule], func: Func) -> float:
    """The modelled time of the loops of a function, as a part of that before. A loop around one
    whose order changes does not count: its times are those of the order in the text."""
    often = dict(executions(func.launch.body))
    earlier, later = 0.0, 0.0
    changed: set[For] = set()
    for one, other in zip(before, after, strict=True):
        if changed.isdisjoint(s for s in walk(one.loop.body) if isinstance(s, For)):
            entered = often[one.loop] / (constant_trips(one.loop) or 1)
            earlier += entered * one.times.whole
            later += entered * other.times.whole
        if one.skewed or other.skewed:
            changed.add(one.loop)
    return later / earlier if earlier else 1.0
