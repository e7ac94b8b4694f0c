"""Random programs of three ranks that put, signal, wait and read: the checker against all runs.

One kernel interprets the programs, so that none has to be compiled.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from kept_cases import examples
from rank_kernels import RankKernels, SimulatorError, own, schedules, shared
from rank_prelude import PRELUDE

RANKS, SLOTS, WORDS, N, LINE = 3, 2, 3, 64, 16
PUT, QUIET, SIGNAL, WAIT, READ, BARRIER, END = range(7)

KERNELS = RankKernels(PRELUDE)
KERNELS.add(
    "interpreter",
    "GM_ADDR program, GM_ADDR x, GM_ADDR y, GM_ADDR out, GM_ADDR w",
    """
Tile t;
GlobalTensor<int32_t> p; p.SetGlobalBuffer((__gm__ int32_t*)program);
for (int32_t i = 0;; i += 4) {
    const int32_t what = p.GetValue(i), where = p.GetValue(i + 1), pe = p.GetValue(i + 2);
    const int32_t value = p.GetValue(i + 3);
    if (what == 0) { t.Load(x, 0); t.Store(y, where, pe); }
    if (what == 1) aclshmem_quiet();
    if (what == 2) aclshmemx_signal_op(Word(w, where * LINE), value, ACLSHMEM_SIGNAL_ADD, pe);
    if (what == 3) aclshmem_signal_wait_until(Word(w, where * LINE), ACLSHMEM_CMP_GE, value);
    if (what == 4) { t.Load(y, where); t.Store(out, where, t.me); t.Done(); }
    if (what == 5) aclshmem_barrier_all();
    if (what == 6) break;
}
""",
)

# What a rank does: (what, slot or word, other rank, value).
Step = tuple[int, int, int, int]
Programs = tuple[tuple[Step, ...], ...]


@dataclass(frozen=True)
class Verdict:
    """What is wrong with the programs, in some run or in all."""

    race: bool
    unquiet: bool
    hangs: bool


def random_programs(rng: random.Random) -> Programs:
    """Programs that mostly make sense: quiets before signals, reads after waits, few barriers."""
    programs: list[list[Step]] = [[] for _ in range(RANKS)]
    for rank in range(RANKS):
        steps = programs[rank]
        for _ in range(rng.randint(2, 5)):
            other = rng.choice([r for r in range(RANKS) if r != rank])
            slot, word = rng.randrange(SLOTS), rng.randrange(WORDS)
            match rng.randrange(6):
                case 0 | 1:
                    steps.append((PUT, slot, other, 0))
                    if rng.random() < 0.85:
                        steps.append((QUIET, 0, 0, 0))
                    if rng.random() < 0.85:
                        steps.append((SIGNAL, word, other, 1))
                case 2:
                    steps.append((SIGNAL, word, other, rng.randint(1, 2)))
                case 3 | 4:
                    steps.append((WAIT, word, 0, rng.randint(1, 3)))
                    if rng.random() < 0.7:
                        steps.append((READ, slot, 0, 0))
                case _:
                    steps.append((READ, slot, 0, 0))
    if rng.random() < 0.15:
        for steps in programs:
            steps.insert(rng.randint(0, len(steps)), (BARRIER, 0, 0, 0))
    return _mostly_possible(programs, rng)


def _mostly_possible(programs: list[list[Step]], rng: random.Random) -> Programs:
    """The programs without most waits for more than is ever signalled."""
    sent = [0] * (RANKS * WORDS)
    for what, where, other, value in (step for steps in programs for step in steps):
        sent[other * WORDS + where] += value if what == SIGNAL else 0
    kept = []
    for rank, steps in enumerate(programs):
        kept.append(
            tuple(
                (
                    what,
                    where,
                    other,
                    _possible(value, sent[rank * WORDS + where]) if what == WAIT else value,
                )
                for what, where, other, value in steps
                if what != WAIT or sent[rank * WORDS + where] > 0 or rng.random() < 0.02
            )
        )
    return tuple(kept)


def _possible(value: int, sent: int) -> int:
    return min(value, sent) if sent > 0 else value


def brute_force(programs: Programs) -> Verdict:
    """All runs, by all states: who is where, what the words are, which puts are under way."""
    first = ((0,) * RANKS, (0,) * (RANKS * WORDS), frozenset())
    seen, todo = {first}, [first]
    race = hangs = False
    while todo:
        state = todo.pop()
        places, _, _ = state
        following = [s for r in range(RANKS) if (s := _step(programs, state, r)) is not None]
        race = race or any(raced for _, raced in following)
        if not following and any(p < len(programs[r]) for r, p in enumerate(places)):
            hangs = True
        for after, _ in following:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return Verdict(race, _unquiet(programs), hangs)


def _step(programs: Programs, state: Any, rank: int) -> tuple[Any, bool] | None:
    """The state after the next step of a rank, and whether the step meets a put under way."""
    places, words, under_way = state
    if places[rank] == len(programs[rank]):
        return None
    what, where, other, value = programs[rank][places[rank]]
    ahead = tuple(p + (r == rank) for r, p in enumerate(places))
    raced = False
    match what:
        case _ if what == PUT:
            raced = any((o, s) == (other, where) and by != rank for by, o, s in under_way)
            under_way |= {(rank, other, where)}
        case _ if what == QUIET:
            under_way = frozenset(p for p in under_way if p[0] != rank)
        case _ if what == SIGNAL:
            at = other * WORDS + where
            words = (*words[:at], words[at] + value, *words[at + 1 :])
        case _ if what == WAIT:
            if words[rank * WORDS + where] < value:
                return None
        case _ if what == READ:
            raced = any((o, s) == (rank, where) for _, o, s in under_way)
        case _:
            if any(
                p == len(steps) or steps[p][0] != BARRIER
                for p, steps in zip(places, programs, strict=True)
            ):
                return None
            ahead, under_way = tuple(p + 1 for p in places), frozenset()
    return (ahead, words, under_way), raced


def _unquiet(programs: Programs) -> bool:
    for steps in programs:
        open_to: set[int] = set()
        for what, _, other, _ in steps:
            if what in (QUIET, BARRIER):
                open_to.clear()
            if what == PUT:
                open_to.add(other)
            if what == SIGNAL and other in open_to:
                return True
    return False


def checked(programs: Programs, **options: int) -> set[str]:
    """The slugs that the simulator tells."""
    size = 4 * (max(map(len, programs)) + 1)
    program = own(RANKS, size)
    for rank, steps in enumerate(programs):
        flat = np.array([*steps, (END, 0, 0, 0)], np.int32).ravel()
        program[rank][: flat.size] = flat
    x, y = own(RANKS, N), shared(RANKS, SLOTS, N)
    for rank in range(RANKS):
        x[rank][:] = rank + 1
    try:
        KERNELS.run(
            "interpreter", RANKS, program, x, y, own(RANKS, SLOTS, N), shared(RANKS, WORDS * LINE),
            **options,
        )  # fmt: skip
    except SimulatorError as error:
        return {error.fault.kind, *(f.kind for f in KERNELS.others("interpreter"))}
    return set()


def agree(programs: Programs, told: set[str]) -> bool:
    expected = brute_force(programs)
    if expected.hangs != bool(told & {"deadlock", "collective-mismatch"}):
        return False
    if ("unquiet-signal" in told) != expected.unquiet and not expected.hangs:
        return False
    # Of a launch that hangs, what its blocks did is not compared.
    return expected.hangs or ("race" in told) == expected.race


@pytest.mark.parametrize("first", range(0, examples(600), 100))
def test_the_checker_finds_what_some_run_shows(first: int) -> None:
    for seed in range(first, first + 100):
        programs = random_programs(random.Random(seed))
        told = checked(programs, seed=seed, threads=1 + seed % 2, delivery=seed % 3)
        assert agree(programs, told), (seed, programs, told, brute_force(programs))


# Rank 1 goes on by 1 of rank 2 or by 2 of rank 0, nobody knows which, and then needs both: the second
# wait may not count what the first one seemed to have learned.
TWO_WAITS: Programs = (
    ((WAIT, 0, 0, 2), (SIGNAL, 0, 1, 2)),
    ((WAIT, 0, 0, 1), (WAIT, 0, 0, 3), (READ, 1, 0, 0), (PUT, 0, 2, 0), (QUIET, 0, 0, 0)),
    ((SIGNAL, 0, 0, 2), (READ, 0, 0, 0), (PUT, 1, 1, 0), (QUIET, 0, 0, 0), (SIGNAL, 0, 1, 1)),
)


def test_a_second_wait_counts_what_the_first_is_not_sure_of() -> None:
    early = (TWO_WAITS[0], (*TWO_WAITS[1][:1], *TWO_WAITS[1][2:]), TWO_WAITS[2])
    for programs, expected in ((TWO_WAITS, set()), (early, {"race"})):
        assert brute_force(programs).race == bool(expected)
        for options in schedules():
            assert checked(programs, **options) == expected
