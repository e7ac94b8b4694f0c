"""Run instructions on pipes that take them in order, and report when each starts and ends.

A pipe starts its next instruction when it is free and when everything that happens before is over.
It is occupied for `Cost.busy` cycles; others may use the result after `Cost.done` cycles.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from tile_ir.costs.instruction_cost import Cost
from tile_ir.costs.timing import DEFAULT_TIMING as TIMING

# Iterations of a loop whose trip count is not known.
ASSUMED_ITERATIONS = 16

Resource = TypeVar("Resource", bound=Hashable)


class PipeClock(Generic[Resource]):
    """The pipes of a core, or pairs of core and pipe.

    `free`: when each takes its next instruction; `done`: when all its results can be used.
    """

    def __init__(self, pipes: Iterable[Resource] = ()) -> None:
        self.free: dict[Resource, float] = defaultdict(float, dict.fromkeys(pipes, 0.0))
        self.done: dict[Resource, float] = defaultdict(float, self.free)
        self._queues: dict[Resource, deque[float]] = defaultdict(
            lambda: deque(maxlen=int(TIMING.queue_depth))
        )

    @property
    def end(self) -> float:
        """When all instructions so far are done."""
        return max(self.done.values())

    def run(self, pipe: Resource, cost: Cost, ready: float = 0.0) -> tuple[float, float]:
        """Run an instruction, not before `ready`; return its start and its end."""
        free, done = self.free[pipe], self.done
        start = free if free > ready else ready
        self.free[pipe] = start + cost.busy
        end = start + cost.done
        if end > done[pipe]:
            done[pipe] = end
        return start, end

    def issue(
        self, pipe: Resource, cost: Cost, ready: float, by: Resource, entries: float = 1.0
    ) -> tuple[float, float]:
        """Run an operation whose instructions the scalar unit `by` issues, with so many entries in
        the queue of the pipe; a full queue stops the unit."""
        queue, free = self._queues[pipe], self.free
        issued = free[by]
        if len(queue) == queue.maxlen and queue[0] > issued:
            issued = queue[0]
        issued += TIMING.scalar_issue
        start, end = self.run(pipe, cost, ready if ready > issued else issued)
        if entries > 1.0:
            count, depth = int(entries), int(TIMING.queue_depth)
            each = cost.busy / count
            # The last entry waits until the one that is a whole queue ahead of it has started.
            ahead = len(queue) + count - 1 - depth
            waits = start + each * (count - 1 - depth)
            if ahead < len(queue):
                waits = queue[ahead] if ahead >= 0 else 0.0
            issued = max(issued + TIMING.scalar_issue * (count - 1), waits)
            queue.extend(start + each * k for k in range(max(0, count - depth), count))
        else:
            queue.append(start)
        free[by] = issued
        return start, end

    def wait(self, pipes: Iterable[Resource], time: float) -> None:
        """Let pipes take nothing before a time."""
        for pipe in pipes:
            self.free[pipe] = max(self.free[pipe], time)

    def advance(self, cycles: float) -> None:
        """Move all times on, as iterations do that are not run one by one."""
        for times in (self.free, self.done):
            times.update((pipe, time + cycles) for pipe, time in times.items())
