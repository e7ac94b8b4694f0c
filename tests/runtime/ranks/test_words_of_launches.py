"""Words of launches that follow each other: nothing orders a launch of one rank after the launch
before of another, unless the second rank has told the first."""

from __future__ import annotations

from functools import cache

import pytest
import torch

import tile_frontend as T
from tile_ir.switches import override
from tile_runtime import Ranks, SimulationError

N, RANKS = 64, 3
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
RESET, ACKNOWLEDGED, ROOT, ROOT_AND_BARRIER, GROWING, COUNTED = range(6)


@T.prim_func
def sent_on(
    x: T.Tensor((N,), "float32"),
    y: T.SymmTensor((N,), "float32"),
    words: T.Signals(4),
    z: T.Tensor((N,), "float32"),
    how: T.int32,
    step: T.int32,
    root: T.int32,
):
    """A line to the next rank, or a word from a root to all, told in several ways."""
    with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
        after, before = (r + 1) % num, (r + num - 1) % num
        if how <= ACKNOWLEDGED:
            T.put_signal(x, y, words[0], 1, after)
            T.wait_eq(words[0], 1)
            T.copy(y, z)
            T.signal(words[0], 0)
            if how == ACKNOWLEDGED:
                T.signal(words[1], step, before)
                T.wait_ge(words[1], step)
        elif how == GROWING:
            T.wait_ge(words[1], step - 1)  # what was put before has been read
            T.put_signal(x, y, words[0], step, after)
            T.wait_ge(words[0], step)
            T.copy(y, z)
            T.signal(words[1], step, before)
        elif how == COUNTED:
            for s in T.serial(num):
                T.signal(words[3], 1, s, "add")
            T.wait_eq(words[3], num)
            T.signal(words[3], 0)
        else:
            if (
                r == root
            ):  # which tells a rank of its words to those before, and not to those behind
                for s in T.serial(num):
                    T.signal(words[2], step, s)
            T.wait_ge(words[2], step)
            if how == ROOT_AND_BARRIER:
                T.barrier()


@cache
def compiled() -> T.JITKernel:
    return T.compile(sent_on, pass_configs=CONFIGS)


def launch_three_times(how: int, seed: int, delivery: str, meets: bool = False) -> str | None:
    """The slug of what the simulator reports, None if nothing; `meets`: all ranks between any two."""
    with override(check="strict", delivery=delivery), Ranks(RANKS, seed=seed) as world:
        x = [torch.full((N,), float(rank)) for rank in range(RANKS)]
        z = [torch.zeros(N) for _ in range(RANKS)]
        y, words = world.zeros(N, torch.float32), world.signals(4)
        for step in (1, 2, 3):
            try:
                world.launch(compiled(), x, y, words, z, how, step, RANKS - step)
            except SimulationError as error:
                assert step == 2, "the first launch follows nothing"
                assert "in an earlier launch" in error.message
                assert error.loc is not None and "test_words_of_launches.py" in error.loc.file
                return error.slug
            if meets:
                world.barrier()
        return None


SCHEDULES = [(seed, delivery) for seed in (1, 2, 3) for delivery in ("prompt", "late")]


@pytest.mark.parametrize(
    ("how", "slug"),
    [
        (RESET, "signal-reset"),
        (ACKNOWLEDGED, None),
        (ROOT, "signal-lost"),
        (ROOT_AND_BARRIER, None),
        (GROWING, None),
        (COUNTED, "signal-reset"),
    ],
)
def test_what_orders_the_next_launch(how: int, slug: str | None) -> None:
    """S-14, on every schedule."""
    assert {launch_three_times(how, *schedule) for schedule in SCHEDULES} == {slug}


@pytest.mark.parametrize("how", [RESET, ROOT, COUNTED])
def test_a_barrier_of_the_host_orders_launches(how: int) -> None:
    assert {launch_three_times(how, *schedule, meets=True) for schedule in SCHEDULES[:2]} == {None}


def test_words_that_the_host_has_written_follow_nothing() -> None:
    """A word with another value than launches have left is not what they have signalled."""
    with override(check="strict"), Ranks(RANKS) as world:
        x, z = torch.ones(N), [torch.zeros(N) for _ in range(RANKS)]
        y, words = world.zeros(N, torch.float32), world.signals(4)
        for step in (1, 2):
            world.launch(compiled(), x, y, words, z, ROOT, step, RANKS - step)
            words.fill(torch.zeros(RANKS, 4, 16, dtype=torch.int32))
