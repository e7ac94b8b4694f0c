"""A search for a placement that is complete: it finds one if there is one.

Among all placements one has the least sum of addresses. In order of address, each of its intervals
lies as low as the earlier ones that it interferes with let it, and no interval fits whole below the
next one. So it is enough to place them upwards, each at the lowest address left to it (the idea is
known from exact memory planners for neural networks). Not here: quick ways that mostly suffice
(`linear_scan`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tile_passes.analysis.lowest_place import Bytes, lowest_place
from tile_passes.memory.allocation_problem import AllocationProblem


@dataclass(frozen=True, slots=True)
class Outcome:
    """Addresses in the order of the intervals, or None: there is no placement, or, not `certain`,
    none was found in time."""

    addresses: tuple[int, ...] | None
    steps: int
    certain: bool


def exact_search(problem: AllocationProblem, among: Sequence[int], limit: int) -> Outcome:
    """Look for a placement of intervals that interfere with no others, in at most about `limit`
    steps (intervals placed). Short searches by different preferences come first: a wrong early
    choice may take long to be taken back."""
    task = _Task.of(problem, among)
    steps = 0
    for rank in _rankings(task):
        outcome = _search(task, rank, min(_SHORT, limit))
        steps += outcome.steps
        if outcome.certain:
            return Outcome(outcome.addresses, steps, True)
    outcome = _search(task, _rankings(task)[0], limit)
    return Outcome(outcome.addresses, steps + outcome.steps, outcome.certain)


@dataclass(frozen=True, slots=True)
class _Task:
    """The intervals by their place among those looked at: sizes, neighbours in the interference
    graph, cliques of it, and the gaps of the memory. A search asks for them at every step, where
    the graph's own tables would take several times as long."""

    sizes: tuple[int, ...]
    neighbours: tuple[tuple[int, ...], ...]
    cliques: tuple[tuple[int, ...], ...]
    gaps: tuple[Bytes, ...]

    @staticmethod
    def of(problem: AllocationProblem, among: Sequence[int]) -> _Task:
        new = {old: i for i, old in enumerate(among)}
        graph = problem.interference
        return _Task(
            tuple(problem.sizes[i] for i in among),
            tuple(tuple(sorted(new[j] for j in graph[i])) for i in among),
            tuple(
                tuple(sorted(new[i] for i in clique))
                for clique in problem.cliques
                if not clique.isdisjoint(new)
            ),
            problem.gaps,
        )


_SHORT = 2000


def _rankings(task: _Task) -> list[list[int]]:
    """Orders of preference among intervals that can be placed equally low."""
    size, degree = task.sizes, [len(m) for m in task.neighbours]
    weight = [0] * len(size)
    for group in task.cliques:
        load = sum(size[i] for i in group)
        for i in group:
            weight[i] = max(weight[i], load)
    keys = (
        lambda i: (-weight[i], -degree[i], -size[i], i),
        lambda i: (-degree[i], -size[i], i),
        lambda i: (-size[i], -degree[i], i),
        lambda i: (-degree[i] * size[i], i),
    )
    return [_ranks(sorted(range(len(size)), key=key)) for key in keys]


def _ranks(order: Sequence[int]) -> list[int]:
    result = [0] * len(order)
    for place, number in enumerate(order):
        result[number] = place
    return result


def _search(task: _Task, rank: Sequence[int], limit: int) -> Outcome:
    state = _State(task, rank)
    if not state.sizes:
        return Outcome((), 0, True)
    if state.hopeless(0, state.free):
        return Outcome(None, 0, True)
    # For intervals left at lowest addresses: from which place on they are known not to fit.
    failed: dict[tuple[int, ...], Place] = {}
    frames = [_Frame((0, -1), state.key(), state.choices((0, -1)))]
    steps = 0
    while frames:
        frame = frames[-1]
        if not frame.choices:
            failed[frame.key] = frame.last
            frames.pop()
            if state.placed:
                state.take_back()
            continue
        address, ranked, number = frame.choices.pop()
        steps += 1
        if steps > limit:
            return Outcome(None, steps, False)
        state.put(number, address)
        if not state.free:
            return Outcome(tuple(state.address), steps, True)
        last, key = (address, ranked), state.key()
        hopeless = state.hopeless(address, (other for other, _ in state.placed[-1][1]))
        if hopeless or (key in failed and failed[key] <= last):
            state.take_back()
        else:
            frames.append(_Frame(last, key, state.choices(last)))
    return Outcome(None, steps, True)


Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What may follow the interval placed last, whose address and rank `last` is."""

    last: Place
    key: tuple[int, ...]
    choices: list[tuple[int, int, int]]


class _State:
    """Intervals placed so far, from low to high addresses."""

    def __init__(self, task: _Task, rank: Sequence[int]) -> None:
        self.sizes, self.neighbours, self.gaps = task.sizes, task.neighbours, task.gaps
        self.cliques, self.rank = task.cliques, rank
        self.groups: list[list[int]] = [[] for _ in self.sizes]
        for g, group in enumerate(task.cliques):
            for i in group:
                self.groups[i].append(g)
        self.free = {i for i in range(len(self.sizes))}
        self.address = [0] * len(self.sizes)
        self.left = [sum(self.sizes[i] for i in group) for group in task.cliques]
        self.floor = [0] * len(task.cliques)
        self.placed: list[tuple[int, list[tuple[int, int]], list[int]]] = []
        self.end = self.gaps[-1][1] if self.gaps else 0
        self.low = [self.lowest(0, size) for size in self.sizes]

    def lowest(self, start: int, size: int) -> int:
        """The lowest address from `start`; the end of the memory if there is none."""
        place = lowest_place(self.gaps, size, start)
        return self.end if place is None else place

    def above(self, start: int) -> int:
        """Bytes of room from an address on."""
        return sum(high - max(low, start) for low, high in self.gaps if high > start)

    def key(self) -> tuple[int, ...]:
        """What decides whether the rest fits: the lowest address left to each interval that is not
        placed. Intervals that are have none."""
        return tuple([low if i in self.free else -1 for i, low in enumerate(self.low)])

    def choices(self, last: Place) -> list[tuple[int, int, int]]:
        """Intervals that may come next, the best one last."""
        low, sizes = self.low, self.sizes
        # An interval that fits whole below another one would have been placed before it.
        ceiling = min(low[i] + sizes[i] for i in self.free)
        found = []
        for i in self.free:
            place = low[i], self.rank[i]
            if place > last and low[i] < ceiling:
                found.append((*place, i))
        found.sort(reverse=True)
        return found

    def put(self, number: int, address: int) -> None:
        self.address[number] = address
        self.free.discard(number)
        size = self.sizes[number]
        top = address + size
        raised = []
        for other in self.neighbours[number]:
            if other in self.free and self.low[other] < top:
                raised.append((other, self.low[other]))
                self.low[other] = self.lowest(top, self.sizes[other])
        floors = []
        for g in self.groups[number]:
            floors.append(self.floor[g])
            self.floor[g] = top
            self.left[g] -= size
        self.placed.append((number, raised, floors))

    def take_back(self) -> None:
        number, raised, floors = self.placed.pop()
        for g, floor in zip(self.groups[number], floors, strict=True):
            self.floor[g] = floor
            self.left[g] += self.sizes[number]
        for other, low in raised:
            self.low[other] = low
        self.free.add(number)

    def hopeless(self, last: int, raised: Iterable[int]) -> bool:
        """Whether one of these intervals, or what is left of some set, has no room above what is
        placed."""
        for other in raised:
            if self.low[other] + self.sizes[other] > self.end:
                return True
        if len(self.gaps) == 1:
            end = self.end
            for left, floor in zip(self.left, self.floor, strict=True):
                if left and left + (floor if floor > last else last) > end:
                    return True
            return False
        return any(
            left and left > self.above(max(floor, last))
            for left, floor in zip(self.left, self.floor, strict=True)
        )
