"""Which buffers of pipelined loops may get several versions, and whether there is room for them.

A version of its own for every round in flight takes the reuse of its bytes out of the dependences
between rounds. Says nothing about order, nor about how many versions a loop asks for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tile_ir import (
    Access,
    Automatic,
    Body,
    Buffer,
    Const,
    Core,
    Expr,
    For,
    Func,
    LoopKind,
    Memory,
    Op,
    Pipe,
    Section,
    Store,
    Target,
    accesses,
    breaks,
    buffers_of,
    is_constant,
    loads,
    pipe_of,
    walk,
    walk_ops,
)
from tile_passes.analysis.liveness import liveness
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.pipelining.in_versions import with_versions

# One part is read, one is to be read next, and one is filled meanwhile.
LEAST_PARTS = 3


@dataclass(frozen=True, slots=True)
class Candidates:
    """The buffers of a pipelined loop that are filled anew in every round, and not needed after it.

    `handed`: those that one pipe writes and another reads, loads first: they are what is waited
    for. `loaded`: which of them the memory of the chip fills and another pipe only reads; what that
    pipe changes where it lies comes behind them. `others`: which only one pipe uses.
    """

    loop: For
    core: Core
    handed: tuple[Buffer, ...]
    loaded: frozenset[Buffer]
    others: tuple[Buffer, ...]


def version_candidates(func: Func) -> list[Candidates]:
    """For every pipelined loop, the inner ones first, the buffers whose reuse would keep a round
    from beginning before the last is over.

    None at an address of the author's, and none where a break leaves the loop: what is in flight
    then must not depend on the round.
    """
    launch = func.launch
    loops = _inner_first(launch.body, Core.VECTOR)
    if not loops:
        return []
    fixed = {a.alias_of for a in launch.allocs} | {
        a.buffer for a in launch.allocs if a.address is not None or a.alias_of or a.scratch
    }
    live = liveness(launch.allocs, launch.body)
    needed = {p.stmt: p.needed for p in live.points if isinstance(p.stmt, For)}
    taken: set[Buffer] = set()
    found: list[Candidates] = []
    for loop, core in loops:
        own = dict.fromkeys(b for s in walk(loop.body) for b in buffers_of(s) if b in live.roots)
        left = any(breaks(loop.body))
        kept = fixed | taken | set(_filled_in_parts(loop.body))
        fresh = [
            b for b in own if not left and b not in kept and not needed[loop] >> live.roots[b] & 1
        ]
        writers, readers = _pipes(loop.body)
        handed = [
            b for b in writers if b in fresh and readers[b] and len(writers[b] | readers[b]) > 1
        ]
        loaded = frozenset(b for b in handed if Pipe.MTE2 in writers[b] and readers[b] - writers[b])
        taken.update(handed)
        others = tuple(b for b in fresh if b not in handed)
        ordered = tuple(sorted(handed, key=lambda b: b not in loaded))
        found.append(Candidates(loop, core, ordered, loaded, others))
    return found


def _inner_first(body: Body, core: Core) -> list[tuple[For, Core]]:
    found: list[tuple[For, Core]] = []
    for stmt in body:
        if isinstance(stmt, Section):
            found += _inner_first(stmt.body, stmt.core)[::-1]
        else:
            inside = [s for s in walk((stmt,)) if isinstance(s, For)]
            found += [(s, core) for s in inside if s.kind is LoopKind.PIPELINED]
    return found[::-1]


def _pipes(body: Body) -> tuple[dict[Buffer, set[Pipe]], dict[Buffer, set[Pipe]]]:
    """Which pipes write each buffer, and which read it."""
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
    return writers, readers


def _filled_in_parts(body: Body) -> Iterator[Buffer]:
    """Buffers whose parts are filled one by one, each in a place of its own: while some are read,
    others are filled for the next round, which takes no second version."""
    places: dict[Buffer, set[Expr]] = defaultdict(set)
    for op in walk_ops(body):
        for region, access in accesses(op):
            if access is not Access.READ and region.buffer.memory is Memory.L1:
                first = region.dims[0]
                one = len(region.dims) > 2 and is_constant(first.extent, 1)
                places[region.buffer].add(first.offset if one else Const(-1))
    for buffer, found in places.items():
        if len(found) >= LEAST_PARTS and {Const(n) for n in range(len(found))} == found:
            yield buffer


def that_fit(
    func: Func, count: Mapping[Buffer, int], more: Iterable[Buffer], versions: int, target: Target
) -> dict[Buffer, int]:
    """The versions of each buffer with so many of these, as far as there is room for all buffers
    side by side."""
    found = dict(count)
    for buffer in more:
        if found.get(buffer, 1) < versions and fits(
            func, {**found, buffer: versions}, buffer.memory, target
        ):
            found[buffer] = versions
    return found


def fits(func: Func, count: Mapping[Buffer, int], memory: Memory, target: Target) -> bool:
    """Whether a memory has room for all of its buffers, with so many versions of each."""
    align = target.alignment[memory]
    allocs = (
        replace(a, buffer=with_versions(a.buffer, count[a.buffer], align))
        if a.buffer.memory is memory and a.buffer in count
        else a
        for a in func.launch.allocs
    )
    return fit_side_by_side(allocs, memory, target, Automatic.MEMORY in func.automatic)


__all__ = ["Candidates", "fits", "that_fit", "version_candidates"]
