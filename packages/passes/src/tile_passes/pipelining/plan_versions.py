"""Which buffers of pipelined loops get several versions, so that rounds may overlap.

A version of its own for every round in flight takes the reuse of its bytes out of the dependences
between rounds. Says nothing about order: `insert_sync` finds what is left of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tile_ir import Automatic, Buffer, For, Func, Memory, Op, Store, Target
from tile_ir.machine import Pipe
from tile_ir.nodes import Body, LoopKind
from tile_ir.opdef import Access, accesses, pipe_of
from tile_ir.walk import breaks, loads, walk, walk_ops
from tile_passes.analysis.liveness import liveness
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.pipelining.in_versions import with_versions


@dataclass(frozen=True, slots=True)
class Versions:
    """The buffers of one loop with several versions, and how many each has; round `i` uses that of
    number `i` modulo as many. `short`: those that are loaded, and for which there is no room for
    all that are asked for."""

    loop: For
    count: Mapping[Buffer, int]
    short: tuple[Buffer, ...] = ()


def plan_versions(func: Func, target: Target) -> list[Versions]:
    """For every pipelined loop, the inner ones first, the buffers whose reuse would keep a round
    from beginning before the last is over: filled anew in every round by one pipe and emptied by
    another. As many versions as the loop has stages, two at least; fewer where they do not fit.

    Nothing where the order inside a core or an address is the author's, or where a break leaves the
    loop: what is in flight then must not depend on the round.
    """
    if Automatic.SYNC not in func.automatic:
        return []
    launch = func.launch
    fixed = {a.alias_of for a in launch.allocs} | {
        a.buffer for a in launch.allocs if a.address is not None or a.alias_of or a.scratch
    }
    live = liveness(launch.allocs, launch.body)
    needed = {p.stmt: p.needed for p in live.points if isinstance(p.stmt, For)}
    taken: set[Buffer] = set()
    found: list[tuple[For, list[Buffer]]] = []
    for loop in _inner_first(launch.body):
        if any(breaks(loop.body)):
            continue
        wanted = [
            b
            for b in _handed_over(loop.body)
            if b in live.roots and b not in fixed | taken and not needed[loop] >> live.roots[b] & 1
        ]
        taken.update(wanted)
        found.append((loop, wanted))
    return _that_fit(func, found, target)


def _inner_first(body: Body) -> list[For]:
    found = [s for s in walk(body) if isinstance(s, For) and s.kind is LoopKind.PIPELINED]
    return found[::-1]


def _handed_over(body: Body) -> Iterator[Buffer]:
    """Buffers that one pipe writes and another reads, loads first: they are what is waited for."""
    writers: dict[Buffer, set[Pipe]] = defaultdict(set)
    readers: dict[Buffer, set[Pipe]] = defaultdict(set)
    for stmt in walk(body):
        for load in loads(stmt):
            readers[load.buffer].add(Pipe.S)
        match stmt:
            case Op():
                for region, access in accesses(stmt):
                    if access is not Access.READ:
                        writers[region.buffer].add(pipe_of(stmt))
                    if access is not Access.WRITE:
                        readers[region.buffer].add(pipe_of(stmt))
            case Store(buffer=buffer):
                writers[buffer].add(Pipe.S)
    handed = [b for b, pipes in writers.items() if readers[b] - pipes]
    yield from sorted(handed, key=lambda b: Pipe.MTE2 not in writers[b])


def _that_fit(
    func: Func, found: Sequence[tuple[For, list[Buffer]]], target: Target
) -> list[Versions]:
    """As many versions as there is room for with all buffers side by side: first two of each, then
    the more that stages ask for."""
    loaded = {
        region.buffer
        for op in walk_ops(func.launch.body)
        if pipe_of(op) is Pipe.MTE2
        for region, access in accesses(op)
        if access is not Access.READ
    }
    count: dict[Buffer, int] = {}
    for least in (True, False):
        for loop, wanted in found:
            for buffer in wanted:
                more = 2 if least else max(2, loop.stages)
                if _fits(func, {**count, buffer: more}, buffer.memory, target):
                    count[buffer] = more
    return [
        Versions(
            loop,
            {b: count[b] for b in wanted if b in count},
            tuple(b for b in wanted if b in loaded and count.get(b, 1) < max(2, loop.stages)),
        )
        for loop, wanted in found
    ]


def _fits(func: Func, count: Mapping[Buffer, int], memory: Memory, target: Target) -> bool:
    align = target.alignment[memory]
    allocs = (
        replace(a, buffer=with_versions(a.buffer, count[a.buffer], align))
        if a.buffer.memory is memory and a.buffer in count
        else a
        for a in func.launch.allocs
    )
    return fit_side_by_side(allocs, memory, target, Automatic.MEMORY in func.automatic)
