"""What the pipes of one core know to be complete, on all cores of the block.

A clock has a number for every pipe of every core: so many of its instructions are complete; and one
for every core: so many of its waits for other cores are over. Rules: docs/hardware/flags.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_checkers.section.state import PIPES, Flag, S

Clock = list[int]
WAITS = len(PIPES)
WIDTH = WAITS + 1


def joined(a: Clock, b: Clock) -> Clock:
    """What is complete where both are."""
    return list(map(max, a, b))


@dataclass(frozen=True, slots=True)
class Way:
    """What is known on one way to a statement, and how much had been issued there by each pipe."""

    known: list[Clock]
    flags: dict[Flag, Clock]
    followed: dict[int, Clock]
    issued: tuple[int, ...]


class CoreClocks:
    """One core. `known[p]` is complete before what pipe p starts next, apart from what the scalar
    unit has waited for, which holds back all pipes."""

    def __init__(self, number: int, cores: int) -> None:
        self.base = number * WIDTH
        self.known: list[Clock] = [[0] * (cores * WIDTH) for _ in PIPES]
        self.issued = [0] * len(PIPES)
        self.waits = 0
        self.flags: dict[Flag, Clock] = {}
        # What else is complete once a pipe's instructions so far are.
        self.followed: dict[int, Clock] = {}
        # What was asked since something changed; nearly all barriers find nothing new.
        self.asked: dict[tuple[int, bool], Clock] = {}
        self.level = False

    def changed(self) -> None:
        self.asked.clear()
        self.level = False

    def before(self, pipe: int, own: bool = False) -> Clock:
        """What is complete before an instruction of a pipe that is issued now starts; with `own`,
        after all earlier ones of that pipe."""
        made = self.asked.get((pipe, own))
        if made is not None:
            return made
        found = joined(self.known[pipe], self.known[S])
        found[self.base + WAITS] = self.waits
        if own:
            found = self.complete(pipe, found)
        self.asked[pipe, own] = found
        return found

    def complete(self, pipe: int, clock: Clock) -> Clock:
        """The clock, and that all the pipe was given so far is complete."""
        found = joined(clock, self.followed.get(pipe, clock))
        found[self.base + pipe] = self.issued[pipe]
        return found

    def follow(self, pipe: int, other: int) -> None:
        """The last instruction of a pipe ends behind the last one of another, by the unit flags of
        l0c (docs/hardware/cube.md#unit-flag)."""
        self.followed[pipe] = self.before(other, own=True)
        self.changed()

    def issue(self, pipe: int) -> int:
        """One more instruction; its number."""
        self.issued[pipe] += 1
        self.changed()
        return self.issued[pipe]

    def set_flag(self, flag: Flag) -> None:
        self.flags[flag] = self.before(flag[0], own=True)

    def wait_flag(self, flag: Flag) -> None:
        carried = self.flags.pop(flag, None)
        if carried is not None:  # else nothing is known; the proof for one core objects
            now = joined(self.known[flag[1]], carried)
            if now != self.known[flag[1]]:
                self.known[flag[1]] = now
                self.changed()

    def barrier(self, pipe: int) -> None:
        if self.known[pipe][self.base + pipe] != self.issued[pipe]:
            self.known[pipe] = self.complete(pipe, self.known[pipe])
            self.changed()

    def barrier_all(self) -> Clock:
        """Everything before is complete; what that is."""
        if self.level:
            return self.known[S]
        found = self.known[S]
        for clock in self.known:
            found = joined(found, clock)
        found[self.base : self.base + WIDTH] = [*self.issued, self.waits]
        self.learn(found)
        return found

    def learn(self, clock: Clock) -> None:
        """Whatever is issued from now on comes after this."""
        self.known = [joined(k, clock) for k in self.known]
        self.changed()
        self.level = all(k == clock for k in self.known)

    def receive(self, clock: Clock) -> int:
        """A wait for another core: nothing later is issued before. The number of the wait."""
        self.known[S] = joined(self.known[S], clock)
        self.waits += 1
        self.changed()
        return self.waits

    def fork(self) -> Way:
        """What is known now, for the other way through a branch."""
        known = [list(k) for k in self.known]
        return Way(known, dict(self.flags), dict(self.followed), tuple(self.issued))

    def restore(self, saved: Way) -> None:
        self.known = [list(k) for k in saved.known]
        self.flags = dict(saved.flags)
        self.followed = dict(saved.followed)
        self.changed()

    def past(self, way: Way) -> Way:
        """A way on which nothing happened of what was issued since it was told: who knows of all
        before knows of that too."""

        def raised(clock: Clock) -> Clock:
            found = list(clock)
            for pipe, (low, high) in enumerate(zip(way.issued, self.issued, strict=True)):
                if found[self.base + pipe] >= low:
                    found[self.base + pipe] = max(high, found[self.base + pipe])
            return found

        flags = {flag: raised(clock) for flag, clock in way.flags.items()}
        followed = {pipe: raised(clock) for pipe, clock in way.followed.items()}
        return Way([raised(k) for k in way.known], flags, followed, tuple(self.issued))

    def meet(self, other: Way) -> None:
        """Only what is known on both ways."""
        self.known = [list(map(min, a, b)) for a, b in zip(self.known, other.known, strict=True)]
        flags = dict(other.flags)
        for flag, clock in self.flags.items():
            flags[flag] = list(map(min, clock, flags[flag])) if flag in flags else clock
        self.flags = flags
        both = self.followed.keys() & other.followed.keys()
        self.followed = {
            pipe: list(map(min, self.followed[pipe], other.followed[pipe])) for pipe in both
        }
        self.changed()


__all__ = ["WAITS", "WIDTH", "Clock", "CoreClocks", "joined"]
