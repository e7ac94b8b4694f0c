"""Place the signals between cores, and number their counters.

One kind of core sets a signal right behind a place of a block, once the earlier work of one
pipe is complete. Another awaits it right before a place of the same block, so that both cores
pass them equally often. One that is carried by a loop is a credit: some of them are set before the
loop, and the last ones awaited behind it. Signals of one pipe between the same cores share a
counter where they are taken in the order in which they are set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from tile_ir import KernelError, Pipe
from tile_ir.quick_dataclasses import replace
from tile_passes.graphs import nx
from tile_passes.order.channels import Action, Counter, Do, Flag, Place, Plan, Reason
from tile_passes.order.core_dependences import CoreDependence
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Repeat, Tree

# How many signals a core may be ahead where nothing else holds it back, and how many credits: both
# together are what a counter holds at most.
AHEAD = 7


def propose(tree: Tree, found: Iterable[CoreDependence]) -> list[Counter]:
    """Return a signal for every dependence, right behind its source and right before its sink;
    equal ones are one.

    Raises KernelError where a dependence lies inside one core's own work.
    """
    by_place: dict[tuple[object, ...], Counter] = {}
    for d in found:
        signal = _for_dependence(tree, d)
        place = signal.block, signal.set_after, signal.wait_before
        key = (*signal.kind, *place, signal.carried)
        by_place[key] = _joined(by_place[key], signal) if key in by_place else signal
    # Of those awaited at one place the one that is set last tells most.
    return sorted(by_place.values(), key=lambda s: (s.carried, s.wait_before, -s.set_after))


def _for_dependence(tree: Tree, d: CoreDependence) -> Counter:
    earlier, later = d.earlier, d.later
    common, *_ = tree.nearest_common_dominator(earlier.item, later.item)
    wanted = d.loop.body if d.loop is not None and d.distance else common
    # The innermost block that all cores run equally often.
    block = wanted
    for outer in wanted.outward():
        if outer.owner is not None and outer.owner.private:
            block = outer.owner.block
    after, before = block.place(earlier.item), block.place(later.item)
    within_one = after == before and later.item.block is not block
    if block is not wanted if d.distance else within_one:
        raise KernelError(
            "handover-inside",
            f"`{d.before.region.buffer.name}` is handed from the {earlier.core.value} core (line "
            f"{earlier.item.loc.line}) to the {later.core.value} core inside a loop or branch that "
            "only one core, or each vector core for itself, can decide",
            later.item.loc,
            "hand it over outside, or decide by what is in gm or known at the launch",
        )
    # The scalar unit signals behind a barrier.
    pipe = Pipe.MTE3 if d.before.pipe is Pipe.S else d.before.pipe
    reason = Reason(earlier.item, later.item)
    places = block, after, before
    return Counter(
        earlier.core, later.core, *places, d.distance, d.distance, reason, d.distance > 1,
        pipe=pipe, covers=(d,),
    )  # fmt: skip


def credit(source: Place, sink: Place, loop: Repeat, ahead: int) -> Counter:
    """Return a credit for every iteration of a loop: the sink is at most so many ahead of the
    source."""
    last = len(loop.body.items) - 1
    reason = Reason(loop, loop)
    return Counter(source, sink, loop.body, last, 0, ahead, ahead, reason, pipe=Pipe.MTE2)


def allocate_counters(
    signals: Sequence[Counter], root: Block, count: int, limit: int
) -> Allocation:
    """Return an id below `count` for every signal, or for what has taken its place; no counter
    passes `limit`. Raises KernelError where the kernel needs more.

    Where shared counters are too many, neighbouring signals become one: set where the later one
    was, awaited where the earlier one was. Where that does not help either, the checkers are left
    to say whether the cores keep up with each other in loops.
    """
    current: list[Counter] | None = [*signals]
    while current is not None:
        if (ids := _coloured(current, root, count, limit, AHEAD)) is not None:
            return Allocation(Plan(ids), ids)
        current = _coarser(current)
    if (ids := _coloured(signals, root, count, limit, 1)) is not None:
        return Allocation(Plan(ids), ids)
    last = signals[-1]
    raise KernelError(
        "cross-flags-exhausted",
        f"the order between the cores needs {len(signals)} cross-core flags, and there are {count}",
        last.block.items[last.wait_before].loc,
        "hand over fewer values in one kernel, or several in one workspace",
    )


def _coloured(
    signals: Sequence[Counter], root: Block, count: int, limit: int, iterations: int
) -> dict[Flag, int] | None:
    """Return a counter for each signal, those of one counter in a row; None if there are too few.
    Loops are taken to run at most `iterations` times without a wait for the other core.

    A signal interferes with all signals of a counter that it cannot share, which depends on all of
    them: the edges are added when the signal is coloured.
    """
    if len(signals) <= count:
        return {s: n for n, s in enumerate(signals)}
    graph: nx.Graph[Counter] = nx.Graph()
    graph.add_nodes_from(signals)
    events: dict[object, list[Passed]] = {}
    for kind in {s.kind for s in signals}:
        # Signals that no loop carries, and those by which the source waits for the sink.
        back = kind[1::-1]
        plan = Plan(s for s in signals if not s.carried and (s.kind == kind or s.pair == back))
        events[kind] = [*_passed(plan, root, iterations)]

    def can_share(members: Sequence[Counter]) -> bool:
        kind = members[-1].kind
        alike = all(m.kind == kind and not m.carried for m in members)
        return alike and _behind(_Count(), events[kind], frozenset(members), limit) is not None

    def in_order(graph: nx.Graph[Counter], ids: dict[Counter, int]) -> Iterator[Counter]:
        for s in signals:
            for number in {*ids.values()}:
                group = [other for other, n in ids.items() if n == number]
                if not can_share([*group, s]):
                    graph.add_edges_from((s, other) for other in group)
            yield s

    ids = sorted(nx.greedy_color(graph, in_order).items(), key=lambda entry: entry[1])
    return dict(ids) if ids[-1][1] < count else None


def _coarser(signals: Sequence[Counter]) -> list[Counter] | None:
    """Return the signals with two neighbours as one; None where no two can be."""
    pairs = [(a, b) for a, b in combinations(signals, 2) if a.kind == b.kind and a.can_join(b)]
    if not pairs:
        return None

    def moved(pair: tuple[Counter, Counter]) -> int:
        a, b = pair
        return abs(a.set_after - b.set_after) + abs(a.wait_before - b.wait_before)

    a, b = min(pairs, key=moved)
    return [_joined(a, b) if s is a else s for s in signals if s is not b]


def _joined(a: Counter, b: Counter) -> Counter:
    return replace(a.joined(b), covers=(*a.covers, *b.covers))


# On one counter ----------------------------------------------------------------------------------


class Ways(NamedTuple):
    """The events of each side of a branch, of which one is taken, or of a loop of at most
    `iterations` iterations."""

    sides: Sequence[Sequence[Passed]]
    iterations: int


Passed: TypeAlias = "Action | Ways"


def _passed(plan: Plan, block: Block, iterations: int) -> Iterator[Passed]:
    """Every set and wait in the order of the text; loops run at most `iterations` times."""
    for item in block.items:
        yield from plan.gaps.get((block, item.position, False), ())
        sides = [[*_passed(plan, inner, iterations)] for inner in item.blocks]
        if any(sides):
            yield Ways(sides, int(min(item.most, iterations)) if isinstance(item, Repeat) else 1)
        yield from plan.gaps.get((block, item.position, True), ())


class _Count(NamedTuple):
    """The counter of some signals at one place: those that are set and not taken yet, the number
    taken so far, and the number of these that its source has learned of. `told` are the signals
    back to the source under way, each with the number that had been taken at its set."""

    queue: tuple[Counter, ...] = ()
    taken: int = 0
    known: int = 0
    told: Mapping[Counter, int] = MappingProxyType({})

    @property
    def ahead(self) -> int:
        """How many are set that the source does not know to be taken."""
        return len(self.queue) + self.taken - self.known


def _behind(
    count: _Count, events: Sequence[Passed], members: frozenset[Counter], limit: int
) -> _Count | None:
    """The counter of `members` behind events; None if one is taken out of order, or it passes its
    limit. Of several sides the one is gone on with that leaves most under way; iterations that
    leave no more than those before them are like all to come."""
    for event in events:
        if isinstance(event, Ways):
            for number in range(event.iterations):
                found = [_behind(count, side, members, limit) for side in event.sides]
                ends = [end for end in found if end is not None]
                if len(ends) < len(found):
                    return None
                before, count = count, max(ends, key=lambda end: end.ahead)
                if number and count.ahead <= before.ahead:
                    break
            continue
        do, signal = event
        queue, taken, known, told = count
        assert isinstance(signal, Counter), "cores have counters"
        if signal in members and do is Do.SET:
            count = count._replace(queue=(*queue, signal))
            if count.ahead > limit:
                return None
        elif signal in members:
            if queue[:1] != (signal,):
                return None
            count = count._replace(queue=queue[1:], taken=taken + 1)
        elif signal.pair == next(iter(members)).pair:
            continue  # on another counter
        elif do is Do.SET:
            count = count._replace(told={**told, signal: taken})
        else:
            count = count._replace(known=max(known, told.get(signal, 0)))
    return count
