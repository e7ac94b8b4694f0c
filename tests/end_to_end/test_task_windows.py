"""Which blocks of a task wait for which: windows hold all that is needed, and the formulas of the
text say the same; graphs of tasks are ordered by them as far as tasks meet."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from kept_cases import examples, kept_number

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from end_to_end.test_task_graphs import graph, rolled, squares
from tile_ir import Const, constant_value, simplify
from tile_passes import run_pipeline
from tile_passes.tasks.edges import TaskEdge, TaskPlace, edges_between, needs_of
from tile_passes.tasks.instances import accesses_of
from tile_passes.tasks.schedule import planned
from tile_passes.tasks.split import tasks_of
from tile_passes.tasks.windows import BlockWindow, whole, window_of


def said(window: BlockWindow, number: int, numbers: int, tellers: int) -> frozenset[int]:
    """The blocks whose groups the text of a block looks at, all of each group by its count."""
    first, behind = window.groups(Const(number), numbers, tellers)
    groups = range(int(value(first)), int(value(behind)))
    for group in groups:
        told = len([b for b in range(tellers) if b // window.size == group])
        assert value(window.count(Const(group), tellers)) == told
    return frozenset(b for b in range(tellers) if b // window.size in groups)


def value(expr: tile_ir.Expr) -> int:
    found = constant_value(simplify(expr))
    assert found is not None
    return int(found)


def random_needs(chance: random.Random) -> tuple[list[frozenset[int]], int]:
    """Runs of blocks that move with the number, some of them cut, empty or beside the way."""
    tellers, numbers = chance.randint(1, 24), chance.randint(1, 24)
    every, step, back = chance.randint(1, 6), chance.randint(0, 6), chance.random() < 0.4
    wide, start = chance.randint(1, 6), chance.randint(-3, 3)
    needs = []
    for n in range(numbers):
        first = (numbers - 1 - n if back else n) // every * step + start
        needs.append(frozenset(range(max(0, first), min(tellers, first + wide))))
    for _ in range(chance.choice([0, 0, 1, 3])):
        needs[chance.randrange(numbers)] = frozenset(
            chance.sample(range(tellers), chance.randint(0, tellers))
        )
    if not any(needs):
        needs[0] = frozenset([0])
    return needs, tellers


@pytest.mark.parametrize("seed", range(20))
def test_a_window_holds_what_is_needed(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(examples(10)):
        needs, tellers = random_needs(chance)
        window = window_of(needs, tellers)
        for n, need in enumerate(needs):
            waited = window.blocks(n, tellers)
            assert need <= waited
            if need:
                assert said(window, n, len(needs), tellers) == waited


@pytest.mark.parametrize("tellers", range(1, 25))
def test_who_waits_for_all_looks_at_few_words(tellers: int) -> None:
    window = whole(tellers)
    assert said(window, 3, 24, tellers) == frozenset(range(tellers)) == window.blocks(3, tellers)
    assert value(window.groups(Const(0), 1, tellers)[1]) == -(-tellers // 8)


def needed(
    before: T.PrimFunc, later: T.PrimFunc, firsts: tuple[int, int] = (0, 0)
) -> list[frozenset[int]]:
    """What the second needs of the first, if it reads what that writes."""
    call = [T.Task(before)("x", "h"), T.Task(later)("h", "y")]
    one, two = (run_pipeline(t, tile_ir.DEFAULT_TARGET).func for t in tasks_of(T.megakernel(call)))
    places = [TaskPlace.of(t, n, 24) for t, n in zip((one, two), firsts, strict=True)]
    return needs_of(accesses_of(one), accesses_of(two), *places)


def test_tiles_of_other_sizes() -> None:
    """Rows of 96 in tiles: four of 4 rows make one of 16, and one of 16 is read by four."""
    fine, coarse = kernels.scaled(96, 64, 2.0, 4), kernels.scaled(96, 64, 2.0, 16)
    needs = needed(fine, coarse)
    assert [sorted(n | {k}) for k, n in enumerate(needs)][1:] == [
        sorted({k, *range(4 * k, 4 * k + 4)}) for k in range(1, 6)
    ]
    window = window_of(needs, 24)
    assert (window.size, window.step, window.width) == (4, 4, 4)
    back = window_of(needed(coarse, fine), 6)
    assert (back.every, back.step, back.width) == (4, 1, 1)


def test_tiles_of_rows_and_columns() -> None:
    """A tile of rows is read from the two tiles of columns that it has, in reversed order."""
    needs = needed(squares(96, 64, 8, 32), kernels.reversed_rows(96, 64, 8))
    assert [sorted(n) for n in needs][1:3] == [[20, 21], [18, 19]]
    window = window_of(needs, 24)
    assert (window.size, window.step, window.width, window.last) == (2, 2, 2, 11)


def test_tasks_that_begin_at_other_blocks() -> None:
    """What a block reads itself depends on where both begin."""
    scale, roll = kernels.scaled(64, 64, 2.0), rolled(64, 64, 1, 8)
    assert not any(needed(scale, scale)) and all(needed(scale, scale, (0, 3)))
    # One tile further on, begun one block further on: each block has it itself, but for the last.
    assert needed(scale, roll, (0, 1)) == [frozenset()] * 7 + [frozenset([0])]
    assert all(needed(scale, roll)) and all(needed(scale, roll, (1, 0)))


def ordered(places: Sequence[TaskPlace], edges: Sequence[TaskEdge]) -> dict[object, set[object]]:
    """For each task on each block, all that is done before: from the edges alone."""
    before: dict[object, set[object]] = {}
    latest: dict[int, object] = {}
    for then, place in enumerate(places):
        for number, block in enumerate(place.blocks):
            found: set[object] = set()
            direct = [latest[block]] if block in latest else []
            for edge in edges:
                if edge.then == then:
                    told = places[edge.first].blocks
                    waited = edge.window.blocks(number, len(told))
                    direct += [(edge.first, told[m]) for m in waited]
            for one in direct:
                found |= {one, *before[one]}
            before[then, block] = found
        latest.update({block: (then, block) for block in place.blocks})
    return before


def unordered(
    tasks: Sequence[tile_ir.Func], places: Sequence[TaskPlace], edges: Sequence[TaskEdge]
) -> Iterator[tuple[int, int]]:
    """Tasks that meet somewhere in no order."""
    before = ordered(places, edges)
    for then in range(len(tasks)):
        for first in range(then):
            needs = needs_of(
                accesses_of(tasks[first]), accesses_of(tasks[then]), places[first], places[then]
            )
            told = places[first].blocks
            if any(
                (first, told[m]) not in before[then, block]
                for block, need in zip(places[then].blocks, needs, strict=True)
                for m in need
            ):
                yield first, then


@pytest.mark.parametrize("seed", range(kept_number(24)))
def test_graphs_are_ordered_where_tasks_meet(seed: int) -> None:
    """By all edges, and by all but any one not."""
    func = graph(seed + 100, 8).launch()
    tasks = [run_pipeline(task, tile_ir.DEFAULT_TARGET).func for task in tasks_of(func)]
    plan = planned(tasks, tile_ir.DEFAULT_TARGET)
    tasks = [tasks[n] for n in plan.order]
    places = [
        TaskPlace.of(task, n, plan.blocks) for task, n in zip(tasks, plan.firsts, strict=True)
    ]
    edges = edges_between(tasks, plan.blocks, plan.firsts)
    assert [*unordered(tasks, places, edges)] == []
    for edge in edges:
        assert any(unordered(tasks, places, [e for e in edges if e != edge])), edge
