"""Place the signals between cores, and number their counters.

A signal is set by one kind of core right behind a place of a block, once the earlier work of one
pipe is complete, and awaited by another right before a place of the same block, so that both cores
pass them equally often. One that is carried by a loop is a credit: some of them are set before the
loop, and the last ones awaited behind it. Not here: which signals are needed (`core_completion`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

from tile_ir import KernelError, Pipe
from tile_passes.order.channels import Counter, Do, Flag, Place, Plan, Reason
from tile_passes.order.core_dependences import CoreDependence
from tile_passes.order.event_ids import Allocation
from tile_passes.order.tree import Block, Repeat, nearest_common_ancestor, place_in

# The signal, and whether it is set here.
_Event: TypeAlias = tuple[Counter, bool]


def propose(found: Iterable[CoreDependence]) -> list[Counter]:
    """Return a signal for every dependence, right behind its source and right before its sink;
    equal ones are one.

    Raises KernelError where a dependence lies inside of what one core does by itself.
    """
    by_place: dict[tuple[object, ...], Counter] = {}
    for d in found:
        signal = _for_dependence(d)
        place = signal.block, signal.set_after, signal.wait_before
        key = (*signal.kind, *place, signal.carried)
        if (old := by_place.get(key)) is not None:
            ahead, covers = min(old.distance, d.distance), (*old.covers, d)
            signal = replace(signal, distance=ahead, slots=ahead, local=ahead > 1, covers=covers)
        by_place[key] = signal
    # Of those awaited at one place the one that is set last tells most.
    return sorted(by_place.values(), key=lambda s: (s.carried, s.wait_before, -s.set_after))


def _for_dependence(d: CoreDependence) -> Counter:
    earlier, later = d.earlier.leaf, d.later.leaf
    common, *_ = nearest_common_ancestor(earlier.item, later.item)
    wanted = common if d.loop is None else d.loop.body
    # The innermost block that all cores run equally often.
    block = wanted
    for outer in wanted.outward():
        if outer.private:
            assert outer.owner is not None, "all cores run the outermost block"
            block = outer.owner.block
    after, before = place_in(block, earlier.item), place_in(block, later.item)
    within_one = after == before and later.item.block is not block
    if within_one if d.loop is None else block is not wanted:
        raise KernelError(
            "handover-inside",
            f"`{d.earlier.region.buffer.name}` is handed from the {earlier.core.value} core (line "
            f"{earlier.item.loc.line}) to the {later.core.value} core inside a loop or branch that "
            "only one core, or each vector core for itself, can decide",
            later.item.loc,
            "hand it over outside, or decide by what is in gm or known at the launch",
        )
    # The scalar unit signals behind a barrier.
    pipe = Pipe.MTE3 if d.earlier.pipe is Pipe.S else d.earlier.pipe
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
    passes `limit`.

    Signals of one pipe between the same cores share a counter where the order in which they are set
    is the order in which they are awaited. Where even that needs too many counters, neighbouring
    signals become one: set where the later one was, awaited where the earlier one was. Raises
    KernelError where the kernel needs more.
    """
    current = [*signals]
    while (groups := _groups(current, root, count, limit)) is None:
        if (coarser := _coarser(current)) is None:
            last = current[-1]
            raise KernelError(
                "cross-flags-exhausted",
                f"the order between the cores needs {len(current)} cross-core flags, and there are "
                f"{count}",
                last.block.items[last.wait_before].loc,
                "hand over fewer values in one kernel, or several in one workspace",
            )
        current = coarser
    ids: dict[Flag, int] = {s: n for n, group in enumerate(groups) for s in group}
    return Allocation(Plan(ids), ids)


def _groups(
    signals: Sequence[Counter], root: Block, count: int, limit: int
) -> list[list[Counter]] | None:
    """Return the signals of each counter; None if there are too few counters."""
    if len(signals) <= count:
        return [[s] for s in signals]
    groups: list[list[Counter]] = []
    events = [*_events(Plan(s for s in signals if not s.carried), root)]
    for s in signals:
        # What concerns signals of a kind: their own, and those by which their source waits for
        # their sink.
        back = s.target, s.source
        concerned = [
            (other, is_set)
            for other, is_set in events
            if other.kind == s.kind or (not is_set and other.kind[:2] == back)
        ]
        for group in groups:
            if _can_share(group, s, concerned, limit):
                group.append(s)
                break
        else:
            groups.append([s])
    return groups if len(groups) <= count else None


def _events(plan: Plan, block: Block) -> Iterator[_Event]:
    """Yield every set and wait once, in the order of the text."""
    for item in block.items:
        for behind in (False, True):
            for do, op in plan.gaps.get((block, item.position, behind), ()):
                assert isinstance(op, Counter), "cores have counters"
                yield op, do is Do.SET
            if not behind:
                for inner in item.blocks:
                    yield from _events(plan, inner)


def _can_share(group: list[Counter], new: Counter, events: list[_Event], limit: int) -> bool:
    """Whether all of them, on one counter, are taken in the order in which they are set; by the
    events that concern their kind."""
    if new.carried or group[0].carried or group[0].kind != new.kind:
        return False
    members = {*group, new}
    queue: deque[Counter] = deque()
    # The source may be ahead of the sink until it waits for it; then it has been taken.
    outstanding = 0
    for signal, is_set in events:
        if signal in members:
            if is_set:
                queue.append(signal)
                outstanding += 1
                if outstanding > limit:
                    return False
            elif not queue or queue.popleft() is not signal:
                return False
        elif not is_set and not queue and signal.kind[:2] == (new.target, new.source):
            outstanding = 0
    return True


def _coarser(signals: Sequence[Counter]) -> list[Counter] | None:
    """Return the signals with two neighbours as one; None where no two can be."""
    best: tuple[int, Counter, Counter, Counter] | None = None
    for a, b in combinations(signals, 2):
        if a.kind != b.kind or a.block is not b.block or a.carried != b.carried:
            continue
        after, before = max(a.set_after, b.set_after), min(a.wait_before, b.wait_before)
        if not a.carried and after >= before:
            continue
        cost = abs(a.set_after - b.set_after) + abs(a.wait_before - b.wait_before)
        if best is None or cost < best[0]:
            ahead, covers = min(a.distance, b.distance), (*a.covers, *b.covers)
            both = replace(
                a,
                set_after=after,
                wait_before=before,
                distance=ahead,
                slots=ahead,
                covers=covers,
            )
            best = cost, a, b, both
    if best is None:
        return None
    _, a, b, both = best
    return [both if s is a else s for s in signals if s is not b]
