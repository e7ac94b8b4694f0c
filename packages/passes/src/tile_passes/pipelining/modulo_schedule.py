"""Orders of the statements of a loop in which rounds overlap: a stage for each, the rounds it is
behind, and a place in the new round. Which of them is best is for the clock to say.

A round alone takes some time; cut into pieces of the initiation interval, what begins in the
second piece is a stage behind what begins in the first, and the new round has all pieces on top of
each other. What the orders between units do not allow is put right, or left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from tile_ir import Buffer
from tile_passes.clock.loop_timetable import Timetable
from tile_passes.pipelining.round_units import Order, Round, Unit

# Places to cut a round in two that are tried.
MOST_CUTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """The units of a round in the order in which a new round has them, and how many rounds each is
    behind."""

    units: tuple[Unit, ...]
    stage: Mapping[Unit, int]

    @property
    def last(self) -> int:
        return max(self.stage.values(), default=0)

    def of(self, units: Mapping[Unit, Unit]) -> Arrangement:
        """The same of other units."""
        stage = {units[u]: k for u, k in self.stage.items()}
        return Arrangement(tuple(units[u] for u in self.units), stage)


def as_written(round_: Round) -> Arrangement:
    """The order of the text, all in one stage."""
    return Arrangement(round_.units, dict.fromkeys(round_.units, 0))


def arrangements(
    round_: Round, alone: Timetable[Unit], busiest: float, most: int
) -> Iterator[Arrangement]:
    """Orders to try, with at most so many rounds between first and last stage. `alone`: one round
    by itself; `busiest`: cycles of the pipe that has most to do."""
    begins = [alone.starts[u] for u in round_.units]
    whole = max(alone.ends.values(), default=0.0)
    seen: set[tuple[int, ...]] = set()
    for cut in _cuts(begins):
        stage = {u: int(at >= cut) for u, at in zip(round_.units, begins, strict=True)}
        yield from _with(
            round_, stage, dict(zip(round_.units, begins, strict=True)), cut, most, seen
        )
    for last in range(2, most + 1):
        interval = max(busiest, whole / (last + 1), 1.0)
        stage = {
            u: min(last, int(at // interval)) for u, at in zip(round_.units, begins, strict=True)
        }
        times = dict(zip(round_.units, begins, strict=True))
        yield from _with(round_, stage, times, interval, most, seen)


def _cuts(begins: Sequence[float]) -> list[float]:
    found = sorted(set(begins))[1:]
    step = max(1, -(-len(found) // MOST_CUTS))
    return found[::step]


def _with(
    round_: Round,
    stage: dict[Unit, int],
    begins: Mapping[Unit, float],
    interval: float,
    most: int,
    seen: set[tuple[int, ...]],
) -> Iterator[Arrangement]:
    """The orders of the new round with these stages, or those that come nearest."""
    if not repaired(round_.orders, stage, most):
        return
    key = tuple(stage[u] for u in round_.units)
    if key in seen or not any(key):
        return
    seen.add(key)
    place = {u: i for i, u in enumerate(round_.units)}
    phase = {u: begins[u] - stage[u] * interval for u in round_.units}
    by_time = {u: (phase[u], stage[u], place[u]) for u in round_.units}
    by_stage = {u: (float(stage[u]), 0, place[u]) for u in round_.units}
    for keys in (by_time, by_stage):
        units = placed(round_, stage, keys)
        if units is not None:
            yield Arrangement(units, dict(stage))


def repaired(orders: Sequence[Order], stage: dict[Unit, int], most: int) -> bool:
    """Raise stages until no unit is before what it comes after; whether `most` suffices."""
    changed = True
    while changed:
        changed = False
        for o in orders:
            least = stage[o.first] - o.distance
            if stage[o.then] < least:
                stage[o.then], changed = least, True
                if least > most:
                    return False
    return True


def placed(
    round_: Round, stage: Mapping[Unit, int], key: Mapping[Unit, tuple[float, int, int]]
) -> tuple[Unit, ...] | None:
    """The units by key, but behind those of the same new round that come before them; None where
    they go round in a circle."""
    graph: nx.DiGraph[Unit] = nx.DiGraph()
    graph.add_nodes_from(round_.units)
    graph.add_edges_from(
        (o.first, o.then) for o in round_.orders if stage[o.then] + o.distance == stage[o.first]
    )
    try:
        return tuple(nx.lexicographical_topological_sort(graph, key=key.__getitem__))
    except nx.NetworkXUnfeasible:
        return None


def broken(round_: Round, arrangement: Arrangement) -> Order | None:
    """The first order that an arrangement does not keep."""
    place = {u: i for i, u in enumerate(arrangement.units)}
    stage = arrangement.stage
    for o in round_.orders:
        behind = stage[o.then] + o.distance - stage[o.first]
        if behind < 0 or (
            behind == 0 and place[o.then] <= place[o.first] and o.then is not o.first
        ):
            return o
    return None


def versions_of(arrangement: Arrangement, fresh: Sequence[Buffer]) -> dict[Buffer, int]:
    """How many rounds at once have values in each of the buffers that rounds fill anew."""
    behind: dict[Buffer, list[int]] = {}
    for unit, stage in arrangement.stage.items():
        for buffer, _, _ in unit.touched:
            behind.setdefault(buffer, []).append(stage)
    return {b: max(behind[b]) - min(behind[b]) + 1 for b in fresh if b in behind}


__all__ = [
    "Arrangement",
    "arrangements",
    "as_written",
    "broken",
    "placed",
    "repaired",
    "versions_of",
]
