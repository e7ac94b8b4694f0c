"""Numbers for signals: each its own while there are enough, else several share one.

Signals of one pipe between the same cores can share a counter where the order in which they are set
is the order in which they are awaited. Where even that needs too many numbers, neighbouring signals
become one: set where the later one was, awaited where the earlier one was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from tile_ir import Core, KernelError, Pipe
from tile_passes.order.core_blocks import Block
from tile_passes.order.counters import Signal


def flag_ids(signals: Sequence[Signal], root: Block, count: int, limit: int) -> dict[Signal, int]:
    """An id below `count` for every signal, or for what has taken its place; no counter passes
    `limit`.

    Raises KernelError where the kernel needs more.
    """
    current = list(signals)
    while True:
        groups = _groups(current, root, count, limit)
        if groups is not None:
            return {s: n for n, group in enumerate(groups) for s in group}
        coarser = _coarser(current)
        if coarser is None:
            raise _too_many(current, count)
        current = coarser


def _groups(
    signals: Sequence[Signal], root: Block, count: int, limit: int
) -> list[list[Signal]] | None:
    if len(signals) <= count:
        return [[s] for s in signals]
    groups: list[list[Signal]] = []
    events = _events(signals, root)
    of_kind = {kind: _concerning(kind, events) for kind in {s.kind for s in signals}}
    for s in signals:
        for group in groups:
            if _can_share(group, s, of_kind[s.kind], limit):
                group.append(s)
                break
        else:
            groups.append([s])
            if len(groups) > count:
                return None
    return groups


Event = tuple[Signal, bool]  # the signal, and whether it is set here


def _events(signals: Sequence[Signal], root: Block) -> list[Event]:
    """Every set and wait of signals that are not carried, once, in the order of the text."""
    before: dict[tuple[int, int], list[Signal]] = {}
    after: dict[tuple[int, int], list[Signal]] = {}
    for s in signals:
        if not s.carried:
            before.setdefault((id(s.block), s.before), []).append(s)
            after.setdefault((id(s.block), s.after), []).append(s)
    found: list[Event] = []

    def visit(block: Block) -> None:
        for place in range(len(block.items)):
            found.extend((s, False) for s in before.get((id(block), place), ()))
            for inner in block.inner.get(place, ()):
                visit(inner)
            found.extend((s, True) for s in after.get((id(block), place), ()))

    visit(root)
    return found


def _concerning(kind: tuple[Core, Core, Pipe], events: list[Event]) -> list[Event]:
    """Those of signals of one kind, and the waits of its source for its sink."""
    back = kind[1], kind[0]
    return [
        (s, is_set) for s, is_set in events if s.kind == kind or (not is_set and s.kind[:2] == back)
    ]


def _can_share(group: list[Signal], new: Signal, events: list[Event], limit: int) -> bool:
    """Whether all of them, on one counter, are taken in the order in which they are set; by the
    events that concern their kind."""
    if new.carried or group[0].carried or group[0].kind != new.kind:
        return False
    members = {*group, new}
    queue: deque[Signal] = deque()
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
        elif not is_set and not queue and (signal.source, signal.sink) == (new.sink, new.source):
            outstanding = 0
    return True


def _coarser(signals: Sequence[Signal]) -> list[Signal] | None:
    """Two neighbours as one signal; None where no two can be."""
    best: tuple[int, Signal, Signal, Signal] | None = None
    for i, a in enumerate(signals):
        for b in signals[i + 1 :]:
            if a.kind != b.kind or a.block is not b.block or a.carried != b.carried:
                continue
            after, before = max(a.after, b.after), min(a.before, b.before)
            if not a.carried and after >= before:
                continue
            both = replace(
                a,
                after=after,
                before=before,
                ahead=min(a.ahead, b.ahead),
                covers=(*a.covers, *b.covers),
            )
            cost = abs(a.after - b.after) + abs(a.before - b.before)
            if best is None or cost < best[0]:
                best = cost, a, b, both
    if best is None:
        return None
    _, a, b, both = best
    return [both if s is a else s for s in signals if s is not b]


def _too_many(signals: Sequence[Signal], count: int) -> KernelError:
    last = signals[-1]
    return KernelError(
        "cross-flags-exhausted",
        f"the order between the cores needs {len(signals)} cross-core flags, and there are {count}",
        last.block.items[last.before].stmt.loc,
        "hand over fewer values in one kernel, or several in one workspace",
    )
