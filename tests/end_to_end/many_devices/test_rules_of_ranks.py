"""What orders devices and what does not, each in a kernel that does nothing else: the clean one has
its result in every schedule, and the one without an edge is told of in every schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tile_frontend as T
from tile_runtime import compile

from . import example_cases
from .rank_cases import (
    ORDERED_CONFIGS,
    OfRank,
    OfRanks,
    RankCase,
    fault,
    load,
    schedules,
    simulate,
    words,
)

N = 96
RANKS = 3


def _case(*arguments: Any, expected: np.ndarray) -> RankCase:
    """A kernel whose last argument is its result."""
    number = len(arguments) - 1
    return RankCase("", "", (), RANKS, arguments, {number: expected})


def _numbers(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _clean(case: RankCase, func: Any) -> None:
    kernel = compile(func, pass_configs=ORDERED_CONFIGS)
    for seed, delivery in schedules():
        case.check(simulate(case, kernel, seed, delivery, calls=1))


def _told(case: RankCase, func: Any, slug: str) -> None:
    kernel = compile(func, pass_configs=ORDERED_CONFIGS)
    told = [fault(case, kernel, seed, delivery, calls=1) for seed, delivery in schedules()]
    assert {error and error.slug for error in told} == {slug}
    assert len({error and error.loc for error in told}) == 1


def _halves(joined: bool) -> Any:
    """Each block puts half; one tells of it after all have met, or after nobody has."""

    @T.prim_func
    def kernel(
        x: T.Tensor((2, N), "float32"),
        y: T.SymmTensor((2, N), "float32"),
        word: T.Signals(1),
        z: T.Tensor((2, N), "float32"),
    ) -> None:
        with T.Kernel(2) as cid, T.Scale("device") as (r, num):
            T.put(x[cid, :], y[cid, :], (r + 1) % num)
            T.quiet()
            if joined:
                T.sync_all()
            if cid == 0:
                T.signal(word[0], 1, (r + 1) % num)
            T.wait_ge(word[0], 1)
            T.copy(y[1 - cid, :], z[1 - cid, :])

    return kernel


def test_a_signal_carries_what_met_at_a_barrier_of_the_launch() -> None:
    """S-11."""
    x = _numbers(RANKS, 2, N)
    case = _case(
        OfRank(x), OfRanks(0 * x), words(RANKS, 1), OfRank(0 * x), expected=np.roll(x, 1, 0)
    )
    _clean(case, _halves(joined=True))
    _told(case, _halves(joined=False), "race")


def _adds(enough: int) -> Any:
    """Every rank puts to rank 0 and adds to its word; rank 0 reads all when the word is `enough`."""

    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((RANKS, N), "float32"),
        word: T.Signals(1),
        z: T.Tensor((RANKS, N), "float32"),
    ) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            T.put(x, y[r, :], 0)
            T.quiet()
            T.signal(word[0], 1, 0, op="add")
            if r == 0:
                T.wait_ge(word[0], enough)
                T.copy(y, z)

    return kernel


def test_a_wait_joins_the_additions_that_it_needs() -> None:
    """S-12."""
    x = _numbers(RANKS, N)
    z = np.zeros((RANKS, RANKS, N), np.float32)
    expected = z.copy()
    expected[0] = x
    case = _case(OfRank(x), OfRanks(z), words(RANKS, 1), OfRank(z), expected=expected)
    _clean(case, _adds(3))
    _told(case, _adds(2), "race")


def _neighbours_words(apart: int) -> Any:
    """The ranks on both sides set a word each, so far apart."""

    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((2, N), "float32"),
        word: T.SymmTensor((2 * apart,), "int32"),
        z: T.Tensor((2, N), "float32"),
    ) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            T.put_signal(x, y[0, :], word[0], 1, (r + 1) % num)
            T.put_signal(x, y[1, :], word[apart], 1, (r + 2) % num)
            T.wait_ge(word[0], 1)
            T.wait_ge(word[apart], 1)
            T.copy(y, z)

    return kernel


@pytest.mark.parametrize(("apart", "slug"), [(16, None), (1, "signal-lost")])
def test_words_of_two_ranks_in_one_line(apart: int, slug: str | None) -> None:
    """S-13."""
    x = _numbers(RANKS, N)
    z = np.zeros((RANKS, 2, N), np.float32)
    expected = np.stack([np.roll(x, 1, 0), np.roll(x, 2, 0)], 1)
    word = OfRanks(np.zeros((RANKS, 2 * apart), np.int32))
    case = _case(OfRank(x), OfRanks(z), word, OfRank(z), expected=expected)
    if slug is None:
        _clean(case, _neighbours_words(apart))
    else:
        _told(case, _neighbours_words(apart), slug)


def _rounds(monotone: bool) -> Any:
    """Three rounds to the right and three places, with words that grow, or that are set back."""

    @T.prim_func
    def kernel(
        x: T.Tensor((3, N), "float32"),
        y: T.SymmTensor((3, N), "float32"),
        word: T.Signals(1),
        z: T.Tensor((3, N), "float32"),
    ) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            for t in T.serial(3):
                until = t + 1 if monotone else 1
                T.put_signal(x[t, :], y[t, :], word[0], until, (r + 1) % num)
                T.wait_ge(word[0], until)
                if not monotone:
                    T.signal(word[0], 0, r)
                T.copy(y[t, :], z[t, :])

    return kernel


def test_a_word_that_is_set_back_may_meet_the_next_signal() -> None:
    """S-14."""
    x = _numbers(RANKS, 3, N)
    case = _case(
        OfRank(x), OfRanks(0 * x), words(RANKS, 1), OfRank(0 * x), expected=np.roll(x, 1, 0)
    )
    _clean(case, _rounds(monotone=True))
    _told(case, _rounds(monotone=False), "signal-reset")


def _unfinished(order: str) -> Any:
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        y: T.SymmTensor((N,), "float32"),
        word: T.Signals(1),
        z: T.Tensor((N,), "float32"),
    ) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            T.put(x, y, (r + 1) % num)
            if order == "quiet":
                T.quiet()
            elif order == "fence":
                T.fence()
            T.signal(word[0], 1, (r + 1) % num)
            T.wait_ge(word[0], 1)
            T.copy(y, z)

    return kernel


def test_a_signal_says_nothing_of_what_is_under_way() -> None:
    """S-9."""
    x = _numbers(RANKS, N)
    case = _case(
        OfRank(x), OfRanks(0 * x), words(RANKS, 1), OfRank(0 * x), expected=np.roll(x, 1, 0)
    )
    _clean(case, _unfinished("quiet"))
    _clean(case, _unfinished("fence"))
    _told(case, _unfinished(""), "unquiet-signal")


def _reused(acknowledged: bool) -> Any:
    """Two puts to one place: the second one when the first was read, or at once."""

    @T.prim_func
    def kernel(
        x: T.Tensor((2, N), "float32"),
        y: T.SymmTensor((N,), "float32"),
        sent: T.Signals(1),
        read: T.Signals(1),
        z: T.Tensor((2, N), "float32"),
    ) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            for t in T.serial(2):
                if acknowledged:
                    T.wait_ge(read[0], t)
                T.put_signal(x[t, :], y, sent[0], t + 1, (r + 1) % num)
                T.wait_ge(sent[0], t + 1)
                T.copy(y, z[t, :])
                T.signal(read[0], t + 1, (r + num - 1) % num)

    return kernel


def test_a_place_is_written_again_when_it_was_read() -> None:
    x = _numbers(RANKS, 2, N)
    y = np.zeros((RANKS, N), np.float32)
    case = _case(
        OfRank(x), OfRanks(y), words(RANKS, 1), words(RANKS, 1), OfRank(0 * x),
        expected=np.roll(x, 1, 0),
    )  # fmt: skip
    _clean(case, _reused(acknowledged=True))
    _told(case, _reused(acknowledged=False), "race")


@pytest.mark.parametrize("form", ["as (r, num):", "as r, num:"])
def test_the_seeds_neighbour_copy(form: str, tmp_path: Path) -> None:
    """S-1, in the seed's way of writing two names too."""
    neighbour = example_cases.neighbour
    kernel = neighbour(1, 77).kernel(load("neighbour_copy", tmp_path, ("as (r, num):", form)))
    for ranks in example_cases.RANKS:
        case = neighbour(ranks, 77)
        case.check(simulate(case, kernel, ranks, "late", calls=1))
