"""Plan how many versions the buffers of pipelined loops have, check that they have room, and let
statements name the version that they access.

With a version for every iteration in flight, the reuse of its bytes is no dependence between
iterations. Loops of one core and loops over both use the same rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache

from tile_ir import (
    Access,
    Alloc,
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
    Pipe,
    Target,
    accesses,
    breaks,
    buffer_bytes,
    buffers_of,
    is_constant,
    walk,
    walk_ops,
)
from tile_ir.quick_dataclasses import dataclass, replace
from tile_passes.analysis.liveness import carried_by_loops
from tile_passes.analysis.own_bytes import with_own_bytes
from tile_passes.analysis.pipes_of_buffers import PipesOfBuffers
from tile_passes.memory.side_by_side import fit_side_by_side
from tile_passes.pipelining.dependence_graph import Iteration
from tile_passes.pipelining.modulo_schedule import Arrangement
from tile_passes.streams.items import with_cores

# One part is read, one is to be read next, and one is filled meanwhile.
LEAST_PARTS = 3


@dataclass(frozen=True, slots=True)
class Candidates:
    """The fresh buffers of a pipelined loop of one core.

    `handed`: those that one pipe writes and another reads, loads first. `loaded`: those of them
    that are loaded from gm and that another pipe only reads; what that pipe changes in place comes
    behind them. `others`: those that one pipe uses.
    """

    loop: For
    core: Core
    handed: tuple[Buffer, ...]
    loaded: frozenset[Buffer]
    others: tuple[Buffer, ...]


def fresh_buffers(func: Func, loops: Set[For]) -> dict[For, set[Buffer]]:
    """For each of the loops the buffers that every iteration writes anew and nothing behind the
    loop needs. None at an address of the author's, and none that share bytes."""
    allocs = [a for a in func.launch.allocs if a.buffer.memory is not Memory.VAR]
    free = {a.buffer for a in with_own_bytes(allocs) if not a.scratch}
    needed = carried_by_loops(allocs, func.launch.body, loops)
    return {loop: free - carried for loop, carried in needed.items()}


def version_candidates(func: Func) -> list[Candidates]:
    """For every pipelined loop of one core, the inner ones first, the buffers whose reuse would
    delay the next iteration. None where a break leaves the loop: what is in flight then must not
    depend on the iteration."""
    # Those outside of sections are the vector cores'.
    loops = [
        (s, core)
        for s, core in with_cores(func.launch.body, Core.VECTOR)
        if isinstance(s, For) and s.kind is LoopKind.PIPELINED
    ]
    fresh_of = fresh_buffers(func, {loop for loop, _ in loops if not any(breaks(loop.body))})
    taken: set[Buffer] = set()
    found: list[Candidates] = []
    for loop, core in reversed(loops):
        own = dict.fromkeys(b for s in walk(loop.body) for b in buffers_of(s))
        usable = fresh_of.get(loop, set()) - taken - {*_filled_in_parts(loop.body)}
        pipes = PipesOfBuffers.of(loop.body)
        writers, readers = pipes.writers, pipes.readers
        handed = [b for b in writers if b in usable and pipes.is_handed(b)]
        loaded = frozenset(b for b in handed if Pipe.MTE2 in writers[b] and readers[b] - writers[b])
        taken.update(handed)
        others = tuple(b for b in own if b in usable and b not in handed)
        ordered = tuple(sorted(handed, key=lambda b: b not in loaded))
        found.append(Candidates(loop, core, ordered, loaded, others))
    return [replace(c, others=_of_one_loop(c, found)) for c in found]


def _of_one_loop(each: Candidates, found: Sequence[Candidates]) -> tuple[Buffer, ...]:
    """The others of a loop that are not handed over in a loop around it, nor others of a loop in
    it: an access names the version of one loop."""
    taken = {b for c in found if each.loop in walk(c.loop.body) for b in c.handed}
    taken |= {b for c in found if c.loop in walk(each.loop.body) for b in c.others}
    return tuple(b for b in each.others if b not in taken)


def _filled_in_parts(body: Body) -> Iterator[Buffer]:
    """Buffers whose parts are filled one by one, each in a place of its own: while some are read,
    others are filled for the next iteration, which takes no second version."""
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


def versions_of(
    arrangement: Arrangement, fresh: Iterable[Buffer], handed_over: Set[Buffer] = frozenset()
) -> dict[Buffer, int]:
    """How many iterations at once have values in each fresh buffer. One more if it is handed over
    between cores: then a core need not wait until the other one has taken the last value."""
    behind: dict[Buffer, list[int]] = defaultdict(list)
    for unit, stage in arrangement.stage.items():
        for access in unit.accesses:
            behind[access.buffer].append(stage)
    return {
        b: max(behind[b]) - min(behind[b]) + (2 if b in handed_over else 1)
        for b in fresh
        if b in behind
    }


def loaded_tiles(iteration: Iteration) -> set[Buffer]:
    """The buffers on chip that an iteration fills from gm and from nothing else."""
    units = iteration.units
    read = {u: {a.buffer.memory for a in u.accesses if not a.writes} for u in units}
    filled = [(a.buffer, read[u]) for u in units for a in u.accesses if a.writes]
    on_chip = {b for b, _ in filled if b.memory is not Memory.GM}
    return on_chip - {b for b, memories in filled if memories != {Memory.GM}}


def that_fit(
    func: Func, count: Mapping[Buffer, int], more: Iterable[Buffer], versions: int, target: Target
) -> dict[Buffer, int]:
    """The versions of each buffer with so many of these, as far as there is room for all buffers
    side by side."""
    found = dict(count)
    for buffer in more:
        wider = {**found, buffer: versions}
        if found.get(buffer, 1) < versions and fits(func, wider, buffer.memory, target):
            found = wider
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


@lru_cache(maxsize=256)
def with_versions(buffer: Buffer, count: int, align: int) -> Buffer:
    """The buffer with a first dimension more. Versions begin where a transfer may: a buffer in ub
    that ends elsewhere gets more rows."""
    shape = buffer.static_shape()
    if buffer.memory is Memory.GM or shape is None:
        return replace(buffer, shape=(Const(count), *buffer.shape))
    rows, *rest = shape or (1,)

    def of_shape(*dims: int) -> Buffer:
        return replace(buffer, shape=tuple(map(Const, dims)))

    if buffer.memory is Memory.UB:
        while buffer_bytes(Alloc(of_shape(rows, *rest), buffer.loc)) % align:
            rows += 1
    return of_shape(count, rows, *rest)
