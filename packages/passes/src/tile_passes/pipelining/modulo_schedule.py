"""Schedule the units of an iteration modulo an initiation interval.

A new iteration of the pipelined loop starts every initiation interval. A unit that starts in the
k-th interval of its own iteration is in stage k: the new loop executes it k iterations behind. The
interval is at least what the busiest pipe takes for an iteration (ResMII), and what a cycle of
dependences takes for each iteration that it spans (RecMII). The scheduler tries intervals from
there on, with a table of the pipes that are reserved in each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from tile_ir import Buffer, Pipe
from tile_ir.quick_dataclasses import dataclass
from tile_passes.clock.occupancy import Occupancy, Resource, Times
from tile_passes.graphs import extend_paths, nx, topological
from tile_passes.pipelining.dependence_graph import Iteration, Unit

# When each unit starts, and the interval until it does again.
Periodic: TypeAlias = tuple[Mapping[Unit, float], float]
# Places to cut an iteration in two that are tried.
MOST_CUTS = 4
# Intervals that are tried, each so much longer than the one before.
INTERVALS, LONGER = 12, 1.1
# The share of itself to which RecMII is computed.
PRECISION = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """The units of an iteration in the order in which the new loop executes them, and how many
    iterations each is behind."""

    units: tuple[Unit, ...]
    stage: Mapping[Unit, int]

    @property
    def last(self) -> int:
        return max(self.stage.values(), default=0)


def busiest(uses: Iterable[Occupancy]) -> tuple[Resource, float]:
    """Find the pipe that is occupied longest, and for how many cycles (ResMII)."""
    total: dict[Resource, float] = defaultdict(float)
    for use in uses:
        total[use.resource] += use.cycles
    return max(total.items(), key=lambda pair: pair[1], default=((None, Pipe.S), 0.0))


def initiation_interval(graph: nx.MultiDiGraph[Unit], times: Mapping[Unit, Times]) -> float:
    """Compute the least cycles between the starts of two iterations: max(ResMII, RecMII). In RecMII
    a unit counts with its cycles on one pipe: units that depend on each other may overlap on other
    pipes."""
    taken = {unit: busiest(times[unit].uses)[1] for unit in graph}
    farthest_first = sorted(graph.edges(data="distance"), key=lambda edge: -edge[2])
    nearest = {(a, b): distance for a, b, distance in farthest_first}

    def allowed(interval: float) -> bool:
        edges = [(a, b, taken[a] - n * interval) for (a, b), n in nearest.items()]
        return extend_paths(edges, dict.fromkeys(taken, 0.0))

    least = max(1.0, busiest(use for unit in graph for use in times[unit].uses)[1])
    most = sum(taken.values())
    if most <= least or allowed(least):
        return least
    while most - least > PRECISION * most:
        middle = (least + most) / 2
        least, most = (least, middle) if allowed(middle) else (middle, most)
    return most


@dataclass(slots=True)
class ReservationTable:
    """The spans of an initiation interval for which each pipe is reserved."""

    interval: float
    reserved: dict[Resource, list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def first_free(self, uses: Sequence[Occupancy], earliest: float) -> float | None:
        """The first start from `earliest` on, within an interval, at which all pipes are free."""
        starts = {earliest}
        for use in uses:
            for _, end in self.reserved[use.resource]:
                starts.add(earliest + (end - use.after - earliest) % self.interval)
        return next((s for s in sorted(starts) if self._free(uses, s)), None)

    def reserve(self, uses: Sequence[Occupancy], start: float) -> None:
        for use in uses:
            self.reserved[use.resource] += self._spans(use, start)

    def _free(self, uses: Sequence[Occupancy], start: float) -> bool:
        return all(
            use.cycles <= self.interval
            and all(
                end <= low or high <= begin
                for begin, end in self._spans(use, start)
                for low, high in self.reserved[use.resource]
            )
            for use in uses
        )

    def _spans(self, use: Occupancy, start: float) -> Iterator[tuple[float, float]]:
        """The spans of a use within the interval: two where it goes over its end."""
        begin = (start + use.after) % self.interval
        end = begin + use.cycles
        if use.cycles:
            yield begin, min(end, self.interval)
        if end > self.interval:
            yield 0.0, end - self.interval


def modulo_schedule(
    iteration: Iteration, times: Mapping[Unit, Times], interval: float
) -> dict[Unit, float] | None:
    """Give each unit a start that its dependences and the pipes allow with such an interval; None
    where one finds no place."""
    table, starts = ReservationTable(interval), dict[Unit, float]()
    before, behind = defaultdict(list), defaultdict(list)
    for a, b, distance in iteration.edges:
        before[b].append((a, distance))
        behind[a].append((b, distance))
    for unit in iteration.units:
        earliest, latest = 0.0, float("inf")
        for a, distance in before[unit]:
            if a in starts:
                earliest = max(earliest, starts[a] + times[a].latency - distance * interval)
        for b, distance in behind[unit]:
            if b in starts:
                latest = min(latest, starts[b] + distance * interval - times[unit].latency)
        start = table.first_free(times[unit].uses, earliest)
        if start is None or start > latest:
            return None
        table.reserve(times[unit].uses, start)
        starts[unit] = start
    return starts


def as_written(iteration: Iteration) -> Arrangement:
    """The order of the text, all in one stage."""
    return Arrangement(iteration.units, dict.fromkeys(iteration.units, 0))


def least_interval(iteration: Iteration, times: Mapping[Unit, Times]) -> Periodic | None:
    """The modulo schedule of the least interval that has one."""
    interval = initiation_interval(iteration.graph, times)
    for _ in range(INTERVALS):
        starts = modulo_schedule(iteration, times, interval)
        if starts is not None:
            return starts, interval
        interval *= LONGER
    return None


def arrangements(
    iteration: Iteration, alone: Mapping[Unit, float], least: Periodic | None, most: int
) -> Iterator[Arrangement]:
    """Yield orders to try, with at most so many iterations between first and last stage.

    `alone`: when each unit starts in an iteration by itself. Some cut such an iteration in two;
    the last is the modulo schedule of the `least` interval.
    """
    seen: set[tuple[int, ...]] = set()
    begins = sorted(set(alone.values()))[1:]
    for cut in begins[:: max(1, -(-len(begins) // MOST_CUTS))]:
        stage = {u: int(at >= cut) for u, at in alone.items()}
        yield from _nearest(iteration, stage, alone, cut, most, seen)
    if least is not None:
        starts, interval = least
        stage = {u: min(most, int(at // interval)) for u, at in starts.items()}
        yield from _nearest(iteration, stage, starts, interval, most, seen)


def _nearest(
    iteration: Iteration,
    stage: dict[Unit, int],
    starts: Mapping[Unit, float],
    interval: float,
    most: int,
    seen: set[tuple[int, ...]],
) -> Iterator[Arrangement]:
    """The orders with these stages, or with the nearest that the dependences allow."""
    if not raise_stages(iteration, stage, most):
        return
    key = tuple(stage[u] for u in iteration.units)
    if key in seen or not any(key):
        return
    seen.add(key)
    place = {u: i for i, u in enumerate(iteration.units)}
    by_time = {u: (starts[u] - k * interval, k, place[u]) for u, k in stage.items()}
    by_stage = {u: (float(k), 0, place[u]) for u, k in stage.items()}
    orders = (ordered(iteration, stage, keys) for keys in (by_time, by_stage))
    for units in dict.fromkeys(orders):
        if units is not None:
            yield Arrangement(units, dict(stage))


def raise_stages(iteration: Iteration, stage: dict[Unit, int], most: int) -> bool:
    """Raise stages until each unit comes after those it depends on; whether `most` suffices."""
    extend_paths([(a, b, -distance) for a, b, distance in iteration.edges], stage)
    return max(stage.values(), default=0) <= most


def ordered(
    iteration: Iteration, stage: Mapping[Unit, int], key: Mapping[Unit, tuple[float, int, int]]
) -> tuple[Unit, ...] | None:
    """Sort the units by key, but behind those of the same new iteration that they depend on; None
    where these form a cycle."""
    same = ((a, b) for a, b, distance in iteration.edges if stage[b] + distance == stage[a])
    found = topological(iteration.units, same, key.__getitem__)
    return None if found is None else tuple(found)


def broken(iteration: Iteration, arrangement: Arrangement) -> tuple[Unit, Unit, int, Buffer] | None:
    """The first dependence that an arrangement does not keep: source, target, distance, buffer."""
    place = {u: i for i, u in enumerate(arrangement.units)}
    stage = arrangement.stage
    for a, b, data in iteration.graph.edges(data=True):
        behind = stage[b] + data["distance"] - stage[a]
        if behind < 0 or (behind == 0 and place[b] <= place[a] and a is not b):
            return a, b, data["distance"], data["buffer"]
    return None
