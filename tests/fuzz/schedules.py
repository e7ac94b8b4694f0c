"""Whether flags work whatever the speeds of the pipes: one run's flags and barriers, replayed with
one pipe at a time starved until nothing else can go on, or run ahead of all others.

The scalar unit hands out instructions in order; each pipe takes its own in order. A wait takes the
flag down; a set that finds its flag up, or an end that does, is a fault.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
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
    run = _Run(deque(trace), {p: deque() for p in order})
    while any(run.goes_on(p) for p in order):
        if run.fault:
            return f"{run.fault}, with pipes in the order {list(order)}"
    if run.ahead or any(run.queues.values()):
        return f"pipes stand still, in the order {list(order)}"
    return f"flag {next(iter(run.flags))} is left up" if run.flags else None


def _taker(entry: Entry) -> int:
    """The pipe that carries an instruction out."""
    code, source, target, _ = entry
    return S if code == BARRIER_ALL else source if code == SET else target


@dataclass
class _Run:
    """`ahead` is what the scalar unit has not handed out, `queues` what each pipe was given."""

    ahead: deque[Entry]
    queues: dict[int, deque[Entry]]
    flags: set[tuple[int, int, int]] = field(default_factory=set)
    fault: str = ""

    def goes_on(self, pipe: int) -> bool:
        """Whether the pipe could take its next instruction, which it then has."""
        queue = self.ahead if pipe == S else self.queues[pipe]
        if not queue:
            return False
        entry = queue[0]
        taker = _taker(entry)
        if taker != pipe:
            self.queues[taker].append(queue.popleft())
            return True
        if not self.carries_out(entry):
            return False
        queue.popleft()
        return True

    def carries_out(self, entry: Entry) -> bool:
        code, *flag = entry
        key = (flag[0], flag[1], flag[2])
        if code == BARRIER_ALL:
            return not any(self.queues.values())
        if code == WAIT:
            if key not in self.flags:
                return False
            self.flags.remove(key)
            return True
        if key in self.flags:
            self.fault = f"flag {key} is set while it is up"
        self.flags.add(key)
        return True
