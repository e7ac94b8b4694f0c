"""Model the cross-core counters of a block: sets, waits, and the order that a wait establishes.

A counter holds tokens. Each set adds one, with a clock of the operations that are complete then; a
wait takes the oldest. Sets of both vector cores make one token together
(docs/hardware/index.md#flags-between-cores).
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import field

from tile_checkers.block.clocks import WAITS, WIDTH, Clock, CoreClocks, joined
from tile_checkers.findings import BlockFindings, Counter
from tile_checkers.touched import NUMBER
from tile_ir import Op, Pipe
from tile_ir.quick_dataclasses import dataclass


@dataclass(slots=True)
class Tokens:
    """One counter: its tokens, and the numbers of its waits among all waits of its core."""

    waiting: deque[tuple[Clock, Op]] = field(default_factory=deque)
    raised: int = 0
    mode: int | None = None
    waits: list[int] = field(default_factory=list)
    last_wait: Op | None = None
    most: int = 0

    def over(self, core: int, clock: Clock) -> int:
        """How many waits are surely over where a clock is known."""
        return bisect_right(self.waits, clock[core * WIDTH + WAITS])


class Counters:
    """All counters of a block with these cores; core 0 is the cube core."""

    def __init__(self, cores: tuple[int, ...], limit: int, findings: BlockFindings) -> None:
        self.cores = cores
        self.limit = limit
        self.findings = findings
        self.lanes = tuple(c for c in cores if c > 0)
        self.tokens: dict[Counter, Tokens] = {}
        # Sets of vector cores that wait for the other one, by mode and number.
        self.halves: dict[tuple[int, int], dict[int, deque[tuple[Clock, Op]]]] = {}
        # The last set of a number by a core: its pipe, and its place there.
        self.last: dict[tuple[int, int], tuple[int, int, Op]] = {}

    def of(self, core: int, number: int) -> Tokens:
        return self.tokens.setdefault((core, number), Tokens())

    def set(self, core: int, clocks: CoreClocks, number: int, op: Op) -> None:
        """A core sets a flag, once the earlier work of a pipe is complete."""
        pipe, mode = NUMBER[Pipe(op.attr("pipe"))], op.attr("mode")
        clock = clocks.before(pipe, own=True)
        last = self.last.get((core, number))
        if last is not None and last[0] != pipe and clock[clocks.base + last[0]] < last[1]:
            self.findings.two_pipes(core, op, number, last[2])
        self.last[core, number] = pipe, clocks.issue(pipe), op
        if core == 0:
            targets = self.lanes if mode == 2 else (0,)
            parties: tuple[int, ...] = (0,)
        else:
            targets = tuple(c for c in self.cores if c == 0) if mode == 2 else self.lanes
            parties = self.lanes
        complete = self._complete((mode, number), core, parties, clock, op)
        if complete is not None:
            for target in targets:
                self._raise(target, number, mode, complete, op)

    def _complete(
        self,
        key: tuple[int, int],
        core: int,
        parties: tuple[int, ...],
        clock: Clock,
        op: Op,
    ) -> Clock | None:
        """The clock of the complete operations once all parties have set; None before."""
        if len(parties) == 1:
            return clock
        halves = self.halves.setdefault(key, {c: deque() for c in parties})
        halves[core].append((clock, op))
        if not all(halves.values()):
            return None
        for _, queue in halves.items():
            clock = joined(clock, queue.popleft()[0])
        return clock

    def _raise(self, core: int, number: int, mode: int, clock: Clock, op: Op) -> None:
        tokens = self.of(core, number)
        over = tokens.over(core, clock)
        if tokens.mode not in (None, mode) and over < tokens.raised:
            self.findings.two_modes(op, (core, number))
        tokens.mode = mode
        tokens.raised += 1
        tokens.most = max(tokens.most, tokens.raised - over)
        if tokens.raised - over > self.limit:
            self.findings.overflow(op, (core, number), tokens.last_wait, self.limit)
        tokens.waiting.append((clock, op))

    def wait(self, core: int, clocks: CoreClocks, number: int, op: Op) -> bool:
        """Take a token, if there is one."""
        tokens = self.of(core, number)
        if not tokens.waiting:
            return False
        clock, _ = tokens.waiting.popleft()
        tokens.waits.append(clocks.receive(clock))
        tokens.last_wait = op
        return True

    def held(self) -> int:
        """How many tokens all counters together may have had to hold at most."""
        return sum(t.most for t in self.tokens.values())

    def peak(self) -> int:
        """The most that any counter may have had to hold."""
        return max((t.most for t in self.tokens.values()), default=0)

    def alone(self) -> list[tuple[int, int, Op]]:
        """Sets of one vector core that the other one has not joined: core, number, and where."""
        return [
            (core, number, queue[0][1])
            for (_, number), halves in self.halves.items()
            for core, queue in halves.items()
            if queue
        ]

    def left(self) -> list[tuple[Counter, int, Op]]:
        """Counters that are not back at zero, with their value and the operation that raised them
        last."""
        return [
            (counter, len(t.waiting), t.waiting[-1][1])
            for counter, t in self.tokens.items()
            if t.waiting
        ]


__all__ = ["Counters"]
