"""Track, for the pipes of one core, the complete operations of all cores of the block.

A clock has a number for every pipe of every core: so many of its instructions are complete; and one
for every core: so many of its waits for other cores are over. Rules: docs/hardware/index.md#flags.
"""

from __future__ import annotations

from tile_checkers.touched import PIPES, Flag, S

# Clocks are not changed in place once they are stored.
Clock = list[int]
WAITS = len(PIPES)
WIDTH = WAITS + 1
# A pipe, whose clock is complete before what it starts next; a flag that is set; and a pipe that
# follows another one: what else is complete once its instructions so far are.
Holder = int | Flag | tuple[int]
# What is known on one way to a statement, and how much each pipe had issued there.
Way = tuple[dict[Holder, Clock], tuple[int, ...]]


def joined(a: Clock, b: Clock) -> Clock:
    """Return the union of two clocks: the larger number of every entry."""
    return list(map(max, a, b))


class CoreClocks:
    """The clocks of one core. `known[p]` has the operations that are complete before the next one
    of pipe p. It leaves out those that the scalar unit has waited for, which hold for all pipes."""

    def __init__(self, number: int, cores: int) -> None:
        self.base = number * WIDTH
        self.known: dict[Holder, Clock] = {
            holder: [0] * (cores * WIDTH) for p in range(len(PIPES)) for holder in (p, (p,))
        }
        self.issued = [0] * len(PIPES)
        self.waits = 0
        # What was computed since something changed; nearly all barriers find nothing new.
        self.asked: dict[tuple[int, bool], Clock] = {}
        self.level = False

    def changed(self) -> None:
        self.asked.clear()
        self.level = False

    def before(self, pipe: int, own: bool = False) -> Clock:
        """Return the operations that are complete before an instruction of a pipe starts, if it is
        issued now; with `own`, after all earlier ones of that pipe."""
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
        """Return the clock, and that all instructions of the pipe so far are complete."""
        found = joined(clock, self.known[pipe,])
        found[self.base + pipe] = self.issued[pipe]
        return found

    def learn(self, holder: Holder, clock: Clock) -> None:
        if self.known.get(holder) != clock:
            self.known[holder] = clock
            self.changed()

    def follow(self, pipe: int, other: int) -> None:
        """The last instruction of a pipe ends behind the last one of another, by the unit flags of
        l0c (docs/hardware/units.md#unit-flag)."""
        self.learn((pipe,), self.before(other, own=True))

    def issue(self, pipe: int) -> int:
        """Issue one more instruction; return its number."""
        self.issued[pipe] += 1
        self.changed()
        return self.issued[pipe]

    def set_flag(self, flag: Flag) -> None:
        self.known[flag] = self.before(flag[0], own=True)

    def wait_flag(self, flag: Flag) -> None:
        carried = self.known.pop(flag, None)
        if carried is not None:  # else nothing is known; the proof for one core objects
            self.learn(flag[1], joined(self.known[flag[1]], carried))

    def barrier(self, pipe: int) -> None:
        if self.known[pipe][self.base + pipe] != self.issued[pipe]:
            self.learn(pipe, self.complete(pipe, self.known[pipe]))

    def barrier_all(self) -> Clock:
        """Wait for everything before; return its clock."""
        found = self.known[S]
        if not self.level:
            for pipe in range(len(PIPES)):
                found = joined(found, self.known[pipe])
            found[self.base : self.base + WIDTH] = [*self.issued, self.waits]
            self.learn_all(found)
        return found

    def learn_all(self, clock: Clock) -> None:
        """All operations issued from now on come after this clock."""
        learned = [joined(self.known[p], clock) for p in range(len(PIPES))]
        self.known.update(enumerate(learned))
        self.changed()
        self.level = all(k == clock for k in learned)

    def receive(self, clock: Clock) -> int:
        """Wait for another core: nothing later is issued before. Return the number of the wait."""
        self.waits += 1
        self.known[S] = joined(self.known[S], clock)
        self.changed()
        return self.waits

    def fork(self) -> Way:
        """Return a copy of the clocks, for the other path through a branch."""
        return dict(self.known), tuple(self.issued)

    def past(self, way: Way) -> Way:
        """Return a path that skips the operations issued since: a clock that includes all
        operations before them includes these too."""
        known, issued = way
        both = zip(issued, self.issued, strict=True)
        skipped = [
            (self.base + pipe, low, high) for pipe, (low, high) in enumerate(both) if low != high
        ]
        if not skipped:
            return way

        def raised(clock: Clock) -> Clock:
            found = clock
            for at, low, high in skipped:
                if low <= clock[at] < high:
                    found = list(clock) if found is clock else found
                    found[at] = high
            return found

        return {holder: raised(clock) for holder, clock in known.items()}, tuple(self.issued)

    def restore(self, way: Way) -> None:
        self.known = dict(way[0])
        self.changed()

    def meet(self, way: Way) -> None:
        """Keep the common part of both paths. Of flags that are set on one of them, the proof for
        one core reports."""
        known, other = self.known, way[0]
        apart = [h for h in known.keys() & other.keys() if known[h] is not other[h]]
        met = {h: list(map(min, known[h], other[h])) for h in apart}
        self.known = {**known, **other, **met}
        self.changed()


__all__ = ["WAITS", "WIDTH", "Clock", "CoreClocks", "joined"]
