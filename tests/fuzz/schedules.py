"""Whether flags work whatever the speeds of the pipes: one run's flags and barriers, replayed with
one pipe at a time starved until nothing else can go on, or run ahead of all others.

The scalar unit hands out instructions in order; each pipe takes its own in order. A wait takes the
flag down; a set that finds its flag up, or an end that does, is a fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from fuzz.machine.assemble import CODES, PIPES

SET, WAIT = CODES["set_flag"], CODES["wait_flag"]
BARRIER_ALL = CODES["barrier_all"]
S = PIPES["s"]
Entry = tuple[int, int, int, int]


def problem_of_schedules(trace: Sequence[Entry]) -> str | None:
    """What goes wrong at some speeds, or None."""
    relevant = tuple(e for e in trace if e[0] in (SET, WAIT, BARRIER_ALL))
    return _problem(relevant) if any(e[0] == SET for e in relevant) else None


@lru_cache(maxsize=4096)
def _problem(trace: tuple[Entry, ...]) -> str | None:
    pipes = sorted({p for code, a, b, _ in trace for p in (a, b) if p >= 0} | {S})
    for starved in pipes:
        others = [p for p in pipes if p != starved]
        for order in ([*others, starved], [starved, *others], [*others[::-1], starved]):
            found = _replay(trace, order)
            if found is not None:
                return found
    return None


def _replay(trace: Sequence[Entry], order: Sequence[int]) -> str | None:
    """Always the first pipe of `order` that can go on goes on."""
    queues: dict[int, deque[Entry]] = {p: deque() for p in order}
    waiting = deque(trace)
    flags: set[tuple[int, int, int]] = set()

    def pipe(entry: Entry) -> int:
        return S if entry[0] == BARRIER_ALL else entry[1] if entry[0] == SET else entry[2]

    def go(p: int) -> bool | str:
        """Whether the pipe could take its next instruction."""
        if p == S:
            if not waiting:
                return False
            entry = waiting[0]
            if pipe(entry) != S:
                queues[pipe(entry)].append(waiting.popleft())
                return True
            if entry[0] == BARRIER_ALL:
                if any(queues[q] for q in order if q != S):
                    return False
                waiting.popleft()
                return True
        elif not queues[p]:
            return False
        entry = waiting[0] if p == S else queues[p][0]
        flag = entry[1:]
        if entry[0] == WAIT:
            if flag not in flags:
                return False
            flags.remove(flag)
        elif flag in flags:
            return f"flag {flag} is set while it is up, with pipes in the order {list(order)}"
        else:
            flags.add(flag)
        (waiting if p == S else queues[p]).popleft()
        return True

    while True:
        for p in order:
            done = go(p)
            if isinstance(done, str):
                return done
            if done:
                break
        else:
            break
    if waiting or any(queues.values()):
        return f"pipes stand still, in the order {list(order)}"
    return f"flag {next(iter(flags))} is left up" if flags else None
