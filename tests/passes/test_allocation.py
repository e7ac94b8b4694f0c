"""The solvers of allocation problems: none is wrong, the exact one finds every placement there is,
and there is one routine that finds a place."""

from __future__ import annotations

import ast
import itertools
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kept_cases import examples, kept_number

import tile_passes
from tile_passes.analysis.in_place import InPlacePair
from tile_passes.analysis.live_ranges import LiveRange, interfere, union
from tile_passes.analysis.lowest_place import gaps, lowest_place
from tile_passes.memory.allocate import allocate, place
from tile_passes.memory.allocation_problem import AllocationProblem, Interval
from tile_passes.memory.exact_search import Solution, exact_search
from tile_passes.memory.linear_scan import scans

POINTS = 12


@st.composite
def problems(draw: st.DrawFn) -> AllocationProblem:
    """Few intervals with holes, some at an address of the user's, in a memory that is just large
    enough, or not quite."""
    align = draw(st.sampled_from([1, 4, 32]))
    marks = st.lists(st.integers(0, POINTS), max_size=6, unique=True)
    intervals = []
    for _ in range(draw(st.integers(0, 7))):
        points = sorted(draw(marks))
        live = union(zip(points[::2], points[1::2], strict=False))
        address = draw(st.none() | st.none() | st.integers(0, 6).map(lambda n: n * align))
        intervals.append(Interval(draw(st.integers(1, 5 * align)), live, address))
    pairs = list(itertools.combinations(range(len(intervals)), 2))
    apart = draw(st.lists(st.sampled_from(pairs), max_size=3) if pairs else st.just([]))
    kept = frozenset(map(frozenset, apart))
    problem = AllocationProblem(tuple(intervals), 1 << 20, align, (), kept)
    end = max((i.address + i.size for i in intervals if i.address is not None), default=0)
    capacity = max(end, problem.bound + align * draw(st.integers(-1, 6)))
    return replace(problem, capacity=max(capacity, 0))


def live_at(live: LiveRange) -> set[int]:
    return {p for low, high in live for p in range(low, high + 1)}


def share(problem: AllocationProblem, addresses: tuple[int, ...], a: int, b: int) -> bool:
    return (
        addresses[a] < addresses[b] + problem.intervals[b].size
        and addresses[b] < addresses[a] + problem.intervals[a].size
    )


def check(problem: AllocationProblem, addresses: tuple[int, ...]) -> None:
    """By the definition of a placement, not by what the problem has worked out."""
    assert len(addresses) == len(problem.intervals)
    for address, interval in zip(addresses, problem.intervals, strict=True):
        if interval.address is None:
            assert address % problem.alignment == 0
            assert address >= 0 and address + interval.size <= problem.capacity
        else:
            assert address == interval.address
    for a, b in itertools.combinations(range(len(addresses)), 2):
        one, other = problem.intervals[a], problem.intervals[b]
        fixed = [i.address is not None for i in (one, other)]
        if all(fixed):
            continue  # as the user wants it
        apart = {a, b} in problem.apart
        if any(fixed) or apart or live_at(one.live) & live_at(other.live):
            assert not share(problem, addresses, a, b), (a, b)


@settings(max_examples=examples(kept_number(400)))
@given(problems())
def test_no_solver_is_wrong(problem: AllocationProblem) -> None:
    scanned = [problem.addresses(s) for s in scans(problem)]
    found, both = place(problem), allocate(problem)
    for addresses in (*scanned, found.addresses, both.addresses):
        if addresses is not None:
            check(problem, addresses)
    if scanned or both.addresses is not None:
        assert found.addresses is not None
    if found.addresses is None and found.certain:
        assert both.addresses is None


@settings(max_examples=examples(kept_number(300)))
@given(problems(), st.data())
def test_only_what_may_be_in_place_shares_a_point(
    problem: AllocationProblem, data: st.DataObject
) -> None:
    """Where two share bytes, an operation writes in place at every point that needs both, and they
    begin at one address."""
    common = [
        InPlacePair(point, a, b)
        for a, b in itertools.permutations(range(len(problem.intervals)), 2)
        for point in live_at(problem.intervals[a].live) & live_at(problem.intervals[b].live)
    ]
    chosen = data.draw(st.lists(st.sampled_from(common), max_size=6) if common else st.just([]))
    smaller = data.draw(st.integers(0, problem.capacity))
    end = max((i.address + i.size for i in problem.intervals if i.address is not None), default=0)
    problem = replace(problem, in_place=tuple(chosen), capacity=max(smaller, end))
    found = allocate(problem).addresses
    if found is None:
        return
    allowed = {(frozenset((p.source, p.result)), p.point) for p in chosen}
    for a, b in itertools.combinations(problem.free, 2):
        if share(problem, found, a, b):
            both = [live_at(problem.intervals[i].live) for i in (a, b)]
            touching = both[0] & both[1]
            assert all((frozenset((a, b)), point) in allowed for point in touching)
            assert not touching or found[a] == found[b]
            assert {a, b} not in problem.apart
    for i in problem.free:
        assert found[i] + problem.intervals[i].size <= problem.capacity


@settings(max_examples=examples(kept_number(200)))
@given(problems())
def test_interference_is_being_live_at_one_point(problem: AllocationProblem) -> None:
    graph = problem.interference
    assert set(graph) == set(problem.free)
    for a, b in itertools.combinations(problem.free, 2):
        one, other = (problem.intervals[i].live for i in (a, b))
        common = bool(live_at(one) & live_at(other))
        assert interfere(one, other) is common
        assert graph.has_edge(a, b) is (common or {a, b} in problem.apart)
    for clique in problem.cliques:
        assert all(graph.has_edge(a, b) for a, b in itertools.combinations(clique, 2))


bytes_ = st.tuples(st.integers(0, 40), st.integers(1, 8)).map(lambda t: (t[0], t[0] + t[1]))


@settings(max_examples=examples(kept_number(300)))
@given(
    st.lists(bytes_, max_size=4), st.lists(bytes_, max_size=5), st.integers(1, 12),
    st.integers(0, 12), st.sampled_from([1, 4]), st.integers(0, 48),
)  # fmt: skip
def test_the_lowest_place(
    fixed: list[tuple[int, int]], others: list[tuple[int, int]],
    size: int, start: int, align: int, capacity: int,
) -> None:  # fmt: skip
    """By trying every address."""
    room = gaps(fixed, align, capacity)
    free = {p for low, high in room for p in range(low, high)}
    whole = {p // align for low, high in fixed for p in range(low, high)}
    assert free == {p for p in range(capacity // align * align) if p // align not in whole}
    busy = {p for low, high in others for p in range(low, high)}
    expected = next(
        (a for a in range(start, capacity) if set(range(a, a + size)) <= free - busy), None
    )
    assert lowest_place(room, size, start, sorted(others)) == expected


def test_one_routine_finds_places() -> None:
    """Nothing else walks over gaps: in the sources of this package only it loops over them."""
    walking = set()
    for path in Path(tile_passes.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                loops = [
                    n.iter for n in ast.walk(node) if isinstance(n, (ast.For, ast.comprehension))
                ]
                if any(ast.unparse(i).split(".")[-1] in ("gaps", "room") for i in loops):
                    walking.add(f"{path.stem}.{node.name}")
    # The others sum up what is free.
    assert walking == {
        "lowest_place.lowest_place",
        "allocation_problem.room",
        "exact_search._above",
    }


def of_sizes(
    intervals: list[tuple[int, LiveRange]], capacity: int, fixed: tuple[Interval, ...] = ()
) -> AllocationProblem:
    return AllocationProblem((*(Interval(*i) for i in intervals), *fixed), capacity, 1)


def random_problem(rng: random.Random, count: int, times: int, size: int) -> AllocationProblem:
    """Intervals with at most one hole, in room for what is live at one point."""
    found = []
    for _ in range(count):
        marks = sorted(rng.sample(range(2 * times), rng.choice([2, 2, 4])))
        found.append((rng.randint(1, size), union(zip(marks[::2], marks[1::2], strict=True))))
    problem = of_sizes(found, 1 << 20)
    return replace(problem, capacity=problem.bound)


def any_placement(problem: AllocationProblem) -> bool:
    """By trying every address for every interval."""
    sizes, graph = problem.sizes, problem.interference
    addresses: dict[int, int] = {}

    def extend(left: tuple[int, ...]) -> bool:
        if not left:
            return True
        i = left[0]
        for low, high in problem.gaps:
            for address in range(low, high - sizes[i] + 1):
                if all(
                    address + sizes[i] <= addresses[j] or addresses[j] + sizes[j] <= address
                    for j in graph[i]
                    if j in addresses
                ):
                    addresses[i] = address
                    if extend(left[1:]):
                        return True
                    del addresses[i]
        return False

    return extend(problem.free)


@pytest.mark.parametrize("gap", [False, True])
def test_a_placement_is_found_exactly_if_there_is_one(gap: bool) -> None:
    found, none = 0, 0
    for seed in range(300):
        rng = random.Random(seed)
        problem = random_problem(rng, rng.randint(3, 6), 4, 4)
        if gap:
            cut = rng.randint(1, problem.bound)
            fixed = Interval(2, ((0, 0),), cut)
            capacity = problem.bound + 2 + rng.randint(0, 2)
            intervals = (*problem.intervals, fixed)
            problem = replace(problem, intervals=intervals, capacity=capacity)
        result = place(problem, 100_000)
        if result.addresses is not None:
            check(problem, result.addresses)
        assert (result.addresses is not None) == any_placement(problem), seed
        assert result.certain
        found += result.addresses is not None
        none += result.addresses is None
    assert found > 30 and none > 5


def test_the_search_is_right_alone() -> None:
    """Without the quick ways before it."""
    for seed in range(300):
        problem = random_problem(random.Random(seed), 6, 4, 4)
        outcome = exact_search(problem, problem.free, 100_000)
        assert outcome.certain
        assert (outcome.addresses is not None) == any_placement(problem), seed
        if outcome.addresses is not None:
            check(problem, outcome.addresses)


def test_where_linear_scans_fail_the_search_finds() -> None:
    """Intervals without holes, in room for what is live at one point and no more."""
    solved, by_search = [], 0
    for seed in range(300):
        rng = random.Random(seed)
        starts = [(rng.randint(1, 40), rng.randint(0, 30)) for _ in range(rng.randint(8, 24))]
        problem = of_sizes([(n, ((s, s + rng.randint(0, 12)),)) for n, s in starts], 1 << 20)
        problem = replace(problem, capacity=problem.bound)
        result = place(problem, 50_000)
        solved.append(result.addresses is not None)
        by_search += result.addresses is not None and not any(scans(problem))
    assert by_search
    assert sum(solved) >= 0.98 * len(solved)


def test_no_intervals_and_no_room() -> None:
    assert place(of_sizes([], 0)).addresses == ()
    one = [(1, ((0, 0),))]
    assert place(of_sizes(one, 0)) == Solution(None, True)
    around = tuple(Interval(2, (), a) for a in (0, 3))
    assert place(of_sizes(one, 5, around)).addresses == (2, 0, 3)


def test_a_search_that_is_given_up_says_so() -> None:
    for seed in itertools.count():
        problem = random_problem(random.Random(seed), 14, 8, 9)
        result = place(problem, 3)
        if result.addresses is None:
            break
    assert not result.certain and result.steps > 3


def test_two_that_are_kept_apart_share_nothing() -> None:
    """Placed as they begin to live, the third lies on the first; if it must not, on the second."""
    three = [(1, ((0, 1),)), (3, ((1, 1),)), (2, ((2, 3),))]
    problem = of_sizes(three, 4)
    scanned = place(problem).addresses
    assert scanned is not None and share(problem, scanned, 0, 2)
    never = replace(problem, apart=frozenset([frozenset((0, 2))]))
    found = place(never).addresses
    assert found is not None and not share(never, found, 0, 2)


def test_what_is_written_in_place_is_one_interval() -> None:
    """Room for one of two that touch at a point: only if they may be one."""
    two = [(4, ((0, 1),)), (4, ((1, 2),))]
    problem = of_sizes(two, 4)
    assert allocate(problem) == Solution(None, True)
    joined = replace(problem, in_place=(InPlacePair(1, 0, 1),))
    assert allocate(joined).addresses == (0, 0)
    apart = replace(joined, apart=frozenset([frozenset((0, 1))]))
    assert allocate(apart).addresses is None
