"""Two opinions on flags at other speeds of the pipes: clocks during the run, replays of its trace."""

from __future__ import annotations

from fuzz.flags import flags_everywhere
from fuzz.kernels import argument_sets, random_kernel
from fuzz.machine import run
from fuzz.machine.assemble import CODES, PIPES
from fuzz.schedules import problem_of_schedules
from fuzz.verdict import plan
from tile_ir import Core

SET, WAIT, ALL = CODES["set_flag"], CODES["wait_flag"], CODES["barrier_all"]


def flag(code: int, source: str, target: str, event: int = 0) -> tuple[int, int, int, int]:
    return code, PIPES[source], PIPES[target], event


def pair(source: str, target: str, event: int = 0) -> list[tuple[int, int, int, int]]:
    return [flag(SET, source, target, event), flag(WAIT, source, target, event)]


BARRIER = (ALL, -1, -1, -1)


def test_what_works_at_all_speeds() -> None:
    assert problem_of_schedules(pair("mte2", "v") * 1) is None
    assert problem_of_schedules([*pair("mte2", "v"), *pair("v", "mte2")] * 4) is None
    assert problem_of_schedules([*pair("mte2", "v"), BARRIER, *pair("mte2", "v")]) is None
    # The scalar unit hands nothing out while it waits.
    assert problem_of_schedules([*pair("v", "s"), *pair("v", "s")]) is None


def test_what_works_at_some_speeds_only() -> None:
    # The second set may come while the vector unit has not yet waited.
    assert "while it is up" in str(problem_of_schedules(pair("mte2", "v") * 2))
    crossed = [
        flag(SET, "mte2", "v"),
        flag(SET, "v", "mte2"),
        flag(WAIT, "mte2", "v"),
        flag(WAIT, "v", "mte2"),
    ]
    assert "while it is up" in str(problem_of_schedules(crossed * 2))


def test_what_never_works() -> None:
    assert "left up" in str(problem_of_schedules([flag(SET, "mte2", "v")]))
    swapped = [
        flag(WAIT, "mte2", "v"),
        flag(SET, "v", "mte2"),
        flag(WAIT, "v", "mte2"),
        flag(SET, "mte2", "v"),
    ]
    assert "stand still" in str(problem_of_schedules(swapped))
    never = [flag(WAIT, "v", "s"), flag(SET, "v", "s")]
    assert "stand still" in str(problem_of_schedules(never))


def test_clocks_find_what_replays_find() -> None:
    """Sets before the waits of the gap before: found by the clocks wherever a replay goes wrong."""
    early = 0
    for seed in range(60):
        func = random_kernel(seed)
        if {s.core for s in func.launch.body} != {Core.VECTOR}:  # type: ignore[union-attr]
            continue
        final = flags_everywhere(plan(func, tight=False)[0], sets_first=True)
        outcome = run(final, argument_sets(func, seed, 3), trace=4096)
        assert outcome.error is None, "in program order they are right"
        replayed = any(problem_of_schedules(t) for t in outcome.traces)
        assert outcome.early_set or not replayed
        early += bool(outcome.early_set)
    assert early > 20
