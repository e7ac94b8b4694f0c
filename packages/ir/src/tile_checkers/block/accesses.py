"""Record the accesses of a block's streams to gm, and find pairs of executions without an order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import field
from typing import Any

from tile_checkers.block.choices import Path, normal_form
from tile_checkers.block.clocks import WIDTH, Clock
from tile_checkers.block.samples import Guard, Sample, Samples, meet_somewhere
from tile_checkers.block.streams import StreamSite
from tile_checkers.block.values import WRITTEN, Values
from tile_checkers.touched import Hazard, S, first_conflict
from tile_ir import (
    Binary,
    Expr,
    Load,
    Region,
    Var,
    constant_value,
    linear_form,
    map_region,
    print_expr,
    replace_in,
    simplify,
    walk_expr,
)
from tile_ir.analysis import Ranges, apart, element
from tile_ir.analysis.residues import periods
from tile_ir.quick_dataclasses import dataclass

Regions = tuple[Region, ...]


class _Everything(frozenset[Any]):
    """A set of all names: each means the same on all cores, since loop variables are replaced by
    their values."""

    def __contains__(self, item: object) -> bool:
        return True

    # It has no elements of its own, but is not what has none.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


_EVERYTHING = _Everything()

# After so many executions of two sites that may meet, or one that does, no more are looked at.
MOST_TRIES = 6


@dataclass(frozen=True, slots=True)
class Done:
    """One execution of a site: its number on its pipe, and its accesses."""

    number: int
    regions: Regions
    guards: tuple[Guard, ...]
    iterations: tuple[Expr | None, ...]


@dataclass(frozen=True, slots=True)
class UnorderedPair:
    """Two executions in no certain order that touch the same bytes, or may do so if that is not
    `certain`: `sample` has the numbers with which they do. `alike` ones are of one statement, in
    the same iteration of all loops, and touch the same."""

    first: StreamSite
    second: StreamSite
    hazard: Hazard
    certain: bool
    alike: bool
    sample: Sample


@dataclass(slots=True)
class Accesses:
    """Everything done so far by the `sites`. `skipped` are variables of loops of which iterations
    were left out, in multiples of `period`."""

    known: Ranges
    samples: Samples
    period: int
    sites: Iterable[StreamSite]
    done: dict[StreamSite, list[Done]] = field(default_factory=dict)
    skipped: set[Var] = field(default_factory=set)
    tries: dict[tuple[StreamSite, StreamSite], int] = field(default_factory=dict)
    met: dict[tuple[Any, ...], tuple[int, int] | None] = field(default_factory=dict)
    versions: dict[tuple[Any, ...], Var] = field(default_factory=dict)

    def begin(self) -> None:
        self.done, self.skipped, self.versions = {}, set(), {}

    def element(self, load: Load, core: int, seen: Clock, path: Path) -> Expr | None:
        """Return a name for the value that a core reads with the knowledge `seen`. The name is the
        same on all cores with the same knowledge, since each write to the element comes before all
        of them or after all. None if a write is not surely visible."""
        behind: list[tuple[int, int, int]] = []
        for site in self.sites:
            if not site.writes(load.buffer):
                continue
            if not self.skipped.isdisjoint(site.loops):
                return None
            own = site.core == core and site.pipe == S
            over = seen[site.core * WIDTH + site.pipe]
            for done in self.done.get(site, ()):
                if self._hits(site, done, load, path):
                    if done.number > over and not own:
                        return None
                    behind.append((site.core, site.pipe, done.number))
        if not behind:
            return load
        at = (load, *behind)
        if at not in self.versions:
            name = f"{print_expr(load)}{WRITTEN}{len(self.versions)}"
            self.versions[at] = Var(name, load.dtype)
        return self.versions[at]

    def _hits(self, site: StreamSite, done: Done, load: Load, path: Path) -> bool:
        """Whether an execution of a site may write an element."""
        path.proofs += 1
        place, known = element(load.buffer, load.indices), {**self.known, **site.known}
        return any(
            t.writes and r.buffer is load.buffer and not apart(r, place, _EVERYTHING, known)
            for t, r in zip(site.touches, done.regions, strict=True)
        )

    def execute(
        self,
        site: StreamSite,
        number: int,
        clock: Clock,
        values: Values,
        guards: tuple[Guard, ...],
        path: Path,
    ) -> Iterator[UnorderedPair]:
        """Run a site; yield those before it, on other cores, that it does not come after."""
        regions = tuple(map_region(t.region, values.value) for t in site.touches)
        now = Done(number, regions, guards, tuple(values.bound.get(v) for v in site.loops))
        for other in site.partners:
            over = clock[other.core * WIDTH + other.pipe]
            for then in reversed(self.done.get(other, ())):
                if then.number <= over or self.tries.get((other, site), 0) >= MOST_TRIES:
                    break
                found = self._unordered(other, then, site, now, path)
                if found is not None:
                    yield found
        self.done.setdefault(site, []).append(now)

    def _unordered(
        self, other: StreamSite, then: Done, site: StreamSite, now: Done, path: Path
    ) -> UnorderedPair | None:
        which = self._meet(other, then, site, now, path)
        if which is None:
            return None
        # Iterations left out may take other ways than those that stand for them.
        every = self.skipped.isdisjoint((*other.loops, *site.loops))
        if every and (
            _exclude_each_other(then.guards, now.guards)
            # The way may have been chosen since.
            or any(path.truth(c) is (not truth) for c, truth in then.guards)
            or self._parted_by(path.fixed, other, then, site, now)
        ):
            return None
        alike = other.stmt is site.stmt and then.iterations == now.iterations
        alike = alike and then.regions == now.regions
        certain: bool | None = alike
        sample: Sample = {}
        if not alike:
            path.proofs += 10
            one, two = then.regions[which[0]], now.regions[which[1]]
            guards = (*then.guards, *now.guards)
            certain, sample = meet_somewhere(one, two, guards, self.samples.fitting(path))
            if certain is False and every:
                return None
            more = MOST_TRIES if certain else 1
            self.tries[other, site] = self.tries.get((other, site), 0) + more
        hazard = Hazard(other.touches[which[0]], site.touches[which[1]])
        return UnorderedPair(other, site, hazard, bool(certain), alike, sample)

    def _parted_by(
        self, fixed: dict[Expr, Expr], other: StreamSite, then: Done, site: StreamSite, now: Done
    ) -> bool:
        """Whether two executions have no bytes in common once these parts are numbers."""
        if not fixed:
            return False

        def put_in(expr: Expr) -> Expr:
            return simplify(replace_in(expr, fixed.get))

        one, two = (tuple(map_region(r, put_in) for r in d.regions) for d in (then, now))
        return self._judge(other, one, site, two, _EVERYTHING) is None

    def _meet(
        self, one: StreamSite, then: Done, two: StreamSite, now: Done, path: Path
    ) -> tuple[int, int] | None:
        """Which touches of two executions may have bytes in common."""
        first, second = then.regions, now.regions
        same: frozenset[Var] = _EVERYTHING
        if self.skipped and not self._moves_along(one, two):
            first, second, same = one.regions, two.regions, frozenset(self.known)
        at = (one, first, two, second, same is _EVERYTHING)
        if at not in self.met:
            path.proofs += 2
            self.met[at] = self._judge(one, first, two, second, same)
        return self.met[at]

    def _judge(
        self,
        one: StreamSite,
        first: Regions,
        two: StreamSite,
        second: Regions,
        same: Collection[Var],
    ) -> tuple[int, int] | None:
        known = {**one.known, **two.known}
        return first_conflict(
            one.touches, two.touches, lambda i, j: not apart(first[i], second[j], same, known)
        )

    def _moves_along(self, one: StreamSite, two: StreamSite) -> bool:
        """Whether two sites meet in iterations so far apart, whichever these are: both advance by
        the same steps in the loops whose iterations are left out."""
        a = [v for v in one.loops if v in self.skipped]
        b = [v for v in two.loops if v in self.skipped]
        for x, r in zip(one.touches, one.regions, strict=True):
            for y, q in zip(two.touches, two.regions, strict=True):
                for s, t in zip(r.dims, q.dims, strict=False) if x.conflicts(y) else ():
                    steps = _steps(s.offset, a, self.period)
                    if steps is None or steps != _steps(t.offset, b, self.period):
                        return False
        return True


def _exclude_each_other(one: Iterable[Guard], two: Iterable[Guard]) -> bool:
    """Whether no run fulfils both: a condition that holds for one does not for the other."""
    guards = tuple(one)
    return any(told_by(guards, c) is (not truth) for c, truth in two)


def told_by(guards: Iterable[Guard], condition: Expr) -> bool | None:
    """The truth of a condition that is equal to a guard or to its negation; None for all others."""
    key, direct = normal_form(condition)
    for c, truth in guards:
        other, way = normal_form(c)
        if other == key:
            return (truth is way) is direct
    return None


def _steps(offset: Expr, loops: list[Var], period: int) -> tuple[int, ...] | None:
    """The step of an offset in each loop; None if an offset has no constant step. A remainder of a
    division has the step 0, since iterations are skipped in whole periods."""
    terms, _ = linear_form(offset)
    steps = dict.fromkeys(loops, 0)
    for atom, factor in terms.items():
        if isinstance(atom, Var):
            if atom in steps:
                steps[atom] = factor
        elif any(v in steps for v in walk_expr(atom)) and not _comes_back(atom, loops, period):
            return None
    return tuple(s for s in steps.values() if s)


def _comes_back(atom: Expr, loops: list[Var], period: int) -> bool:
    if not (isinstance(atom, Binary) and atom.op == "%" and constant_value(atom.right)):
        return False
    return not any(period % m for v in loops for m in periods(atom, v))


__all__ = ["Accesses", "UnorderedPair", "told_by"]
