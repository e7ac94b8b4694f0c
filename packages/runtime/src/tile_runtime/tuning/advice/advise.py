"""Which changes make a program faster by the model: tries them one at a time, then what helped
together and further, as long as it helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_ir.quick_dataclasses import dataclass
from tile_runtime.tuning.advice.program import Change, Program, apply_change, says_of
from tile_runtime.tuning.trial import REFUSED, TrialOutcome

# A change that takes less than this part of the time away is not worth advising.
LEAST_GAIN = 0.03
# This part of what may be tried is kept for changes that are made together.
_KEPT = 3
# What refuses tiles that do not fit.
NO_ROOM = "memory-overflow"
Changes = Callable[[Program], Sequence[Change]]
Measure = Callable[[Sequence[Program]], Sequence[TrialOutcome]]


@dataclass(frozen=True, slots=True)
class Tried:
    """Changes that were made together, and microseconds with them; none where there is a problem,
    with its slug."""

    changes: tuple[Change, ...]
    program: Program
    microseconds: float | None
    problem: str = ""
    slug: str = ""

    @property
    def says(self) -> str:
        return says_of(self.changes)


@dataclass(frozen=True, slots=True)
class Advice:
    """The result of trying changes: microseconds `before`, the `best` change if it is worth
    advising, and all `tried` ones, in the order of the trials."""

    program: Program
    before: float
    best: Tried | None
    tried: tuple[Tried, ...]


def advise(
    program: Program, before: float, changes: Changes, measure: Measure, most: int
) -> Advice:
    """Try at most so many changed programs. `changes` are those of a program, likely ones first."""
    search = _AdviceSearch(program, before, changes, measure, most)
    best = search.first()
    best = search.climbed(best) if best else search.with_less_room(None)
    while best and (more := search.with_less_room(best)):
        best = search.climbed(more)
    return Advice(program, before, best, tuple(search.tried))


# Changes that were made, the program with them, and one more to try.
Step = tuple[tuple[Change, ...], Program, Change]


class _AdviceSearch:
    """The programs tried so far, and the trials left."""

    def __init__(
        self, program: Program, before: float, changes: Changes, measure: Measure, most: int
    ) -> None:
        self._changes, self._measure, self._left = changes, measure, most
        self._program, self._before = program, before
        self._seen = {program}
        self.tried: list[Tried] = []

    def first(self) -> Tried | None:
        """The best single change. Of each target the likeliest is tried, and the others where that
        does not help."""
        by_target: dict[str, list[Change]] = {}
        for change in self._changes(self._program):
            by_target.setdefault(change.target, []).append(change)
        likely = [found[0] for found in by_target.values()]
        keep = self._left // _KEPT
        self._try_all([((), self._program, change) for change in likely], keep)
        helped = self._helped()
        others = [
            c for target, found in by_target.items() for c in found[1:] if target not in helped
        ]
        self._try_all([((), self._program, change) for change in others], keep)
        return self._faster(self.tried, None)

    def climbed(self, best: Tried) -> Tried:
        """From the best program on, add more of the helpful changes, and all of them together."""
        while True:
            helped = self._helped()
            found = self._try_all([
                (best.changes, best.program, change)
                for change in self._changes(best.program)
                if change.target in helped
            ])  # fmt: skip
            faster = self._faster(found, best)
            if faster is None:
                return best
            best = faster

    def with_less_room(self, best: Tried | None) -> Tried | None:
        """Combine changes that had no room with a smaller tile of another target; None if that does
        not help."""
        made, program = (best.changes, best.program) if best else ((), self._program)
        steps: list[Step] = []
        for refused in [t.changes[0] for t in self.tried if t.slug == NO_ROOM]:
            match [c for c in self._changes(program) if c.says == refused.says]:
                case [larger, *_]:
                    changed = apply_change(program, larger)
                    steps += [
                        (_joined(made, larger), changed, change)
                        for change in self._changes(changed)
                        if change.smaller and change.target != larger.target
                    ]
        return self._faster(self._try_all(steps), best)

    def _try_all(self, steps: Sequence[Step], keep: int = 0) -> list[Tried]:
        """Try the new programs of these steps, within the number of trials left; `keep` trials stay
        unused."""
        new: list[tuple[tuple[Change, ...], Program]] = []
        for made, program, change in steps:
            changed = apply_change(program, change)
            if changed not in self._seen:
                self._seen.add(changed)
                new.append((_joined(made, change), changed))
        found: list[Tried] = []
        while new and self._left > keep:
            now, new = new[: self._left - keep], new[self._left - keep :]
            outcomes = self._measure([program for _, program in now])
            for (made, program), o in zip(now, outcomes, strict=True):
                time = None if o.milliseconds is None else 1e3 * o.milliseconds
                found.append(Tried(made, program, time, o.problem or "", o.slug))
            # What was not run costs nothing.
            self._left -= sum(o.state != REFUSED for o in outcomes)
        self.tried += found
        return found

    def _faster(self, found: Sequence[Tried], best: Tried | None) -> Tried | None:
        """The fastest of these, if it is worth more than the best so far."""
        fastest = min(found, key=_time, default=None)
        limit = (1 - LEAST_GAIN) * (self._before if best is None else _time(best))
        return fastest if fastest and _time(fastest) <= limit else None

    def _helped(self) -> set[str]:
        limit = (1 - LEAST_GAIN) * self._before
        return {c.target for t in self.tried if _time(t) <= limit for c in t.changes}


def _time(tried: Tried) -> float:
    return float("inf") if tried.microseconds is None else tried.microseconds


def _joined(made: tuple[Change, ...], change: Change) -> tuple[Change, ...]:
    """Changes that follow each other: of one target the last one counts."""
    return (*(c for c in made if c.target != change.target), change)
