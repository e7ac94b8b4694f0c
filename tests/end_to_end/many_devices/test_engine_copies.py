"""Copies that an engine does while the core goes on: clean kernels have their result in every
schedule, and what is missing in the others is named in every schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_checkers.ranks import check_ranks
from tile_ir import DEFAULT_TARGET, KernelError, parse, print_func
from tile_ir.switches import override
from tile_passes import PassOptions, run_pipeline
from tile_runtime import Ranks, compile

from .example_cases import sum_by_engine
from .rank_cases import (
    ORDERED,
    ORDERED_CONFIGS,
    OfRank,
    OfRanks,
    RankCase,
    fault,
    interpret_case,
    load,
    lowered,
    schedules,
    simulate,
    tensors,
    words,
)

N = 1000
RANKS = 3
X = np.arange(RANKS * N, dtype=np.float32).reshape(RANKS, N)


def _case(*arguments: Any, expected: np.ndarray) -> RankCase:
    """A kernel whose last argument is its result."""
    number = len(arguments) - 1
    return RankCase("", "", (), RANKS, arguments, {number: expected})


def _shift(missing: str = "", threads: int = 2) -> Any:
    """Every rank hands its row to the right, by way of a copy of it that it then writes over."""

    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"),
        mine: T.Tensor((N,), "float32"),
        landed: T.SymmTensor((N,), "float32"),
        word: T.Signals(1),
        y: T.Tensor((N,), "float32"),
    ) -> None:
        with T.Kernel(1, threads=threads) as _cid, T.Scale("device") as (r, num):
            T.copy(x, mine)
            handle = T.put_async(mine, landed, (r + 1) % num)
            if missing == "wait before the source is reused":
                T.copy(y, mine)
            if missing != "wait":
                T.wait(handle)
            if missing != "signal":
                T.signal(word[0], 1, (r + 1) % num)
                T.wait_ge(word[0], 1)
            T.copy(y, mine)
            T.copy(landed, y)

    return kernel


SHIFTED = _case(
    OfRank(X), OfRank(0 * X), OfRanks(0 * X), words(RANKS, 1), OfRank(0 * X),
    expected=np.roll(X, 1, 0),
)  # fmt: skip


def _fetch(waits: bool = True) -> Any:
    """Every rank fetches the row of its right neighbour, in two pieces under one wait."""

    @T.prim_func
    def kernel(x: T.SymmTensor((N,), "float32"), y: T.Tensor((N,), "float32")) -> None:
        with T.Kernel(1) as _cid, T.Scale("device") as (r, num):
            T.get_async(x[: N // 4], y[: N // 4], (r + 1) % num)
            handle = T.get_async(x[N // 4 :], y[N // 4 :], (r + 1) % num)
            if waits:
                T.wait(handle)

    return kernel


FETCHED = _case(OfRanks(X), OfRank(0 * X), expected=np.roll(X, -1, 0))


@pytest.mark.parametrize(("make", "case"), [(_shift, SHIFTED), (_fetch, FETCHED)])
def test_what_is_waited_for_is_there(make: Any, case: RankCase) -> None:
    kernel = compile(make(), pass_configs=ORDERED_CONFIGS)
    for seed, delivery in schedules():
        case.check(simulate(case, kernel, seed, delivery, calls=1))
    first, last = lowered(make())
    case.check(interpret_case(case, first, in_text_order=True, calls=1))
    case.check(interpret_case(case, last, in_text_order=False, calls=1))


@pytest.mark.parametrize(
    ("missing", "slug", "hint"),
    [
        ("wait before the source is reused", "race", "source reused"),
        ("wait", "unquiet-signal", "T.wait(handle)"),
        ("signal", "race", "signal rank"),
    ],
)
def test_what_is_missing_is_named_on_every_schedule(missing: str, slug: str, hint: str) -> None:
    kernel = compile(_shift(missing), pass_configs=ORDERED_CONFIGS)
    for seed, delivery in schedules():
        error = fault(SHIFTED, kernel, seed, delivery, calls=1)
        assert error is not None, (seed, delivery)
        assert error.slug == slug
        assert hint in str(error)


def _early(missing: str) -> Any:
    """Every rank hands on what it fetches, or writes over what its left neighbour fetches."""

    @T.prim_func
    def kernel(
        x: T.SymmTensor((N,), "float32"),
        y: T.Tensor((N,), "float32"),
        z: T.Tensor((N,), "float32"),
    ) -> None:
        with T.Kernel(1) as _cid, T.Scale("device") as (r, num):
            handle = T.get_async(x, y, (r + 1) % num)
            if missing == "wait":
                T.copy(y, z)
            if missing == "wait for the engine":
                T.quiet()
                T.copy(y, z)
            if missing == "order of the ranks":
                T.copy(z, x)
            T.wait(handle)
            if not missing:
                T.copy(y, z)

    return kernel


HANDED_ON = _case(OfRanks(X), OfRank(0 * X), OfRank(0 * X), expected=np.roll(X, -1, 0))


@pytest.mark.parametrize("missing", ["", "wait", "wait for the engine", "order of the ranks"])
def test_a_destination_is_read_and_a_source_written_after_the_wait(missing: str) -> None:
    func = run_pipeline(_early(missing), DEFAULT_TARGET, PassOptions(automatic=ORDERED)).func
    slugs = {"race"} if missing else set()
    assert {d.slug for d in check_ranks(func, (2, 3))} == slugs
    kernel = compile(_early(missing), pass_configs=ORDERED_CONFIGS)
    for seed, delivery in schedules():
        error = fault(HANDED_ON, kernel, seed, delivery, calls=1)
        assert ({error.slug} if error is not None else set()) == slugs


def test_a_kernel_that_ends_before_the_engine_is_told() -> None:
    error = fault(FETCHED, compile(_fetch(waits=False), pass_configs=ORDERED_CONFIGS), 0, "prompt")
    assert error is not None
    assert error.slug == "transfer-open"


def test_too_early_values_are_those_of_before() -> None:
    """A source that is stored over too early is what arrives, if the engine is late."""
    early = _shift("wait before the source is reused", threads=1)
    kernel = compile(early, pass_configs=ORDERED_CONFIGS)
    found = {}
    for delivery in ("prompt", "late"):
        with override(check="off", delivery=delivery), Ranks(RANKS) as world:
            given = [tensors(world, a) for a in SHIFTED.arguments]
            world.launch(kernel, *given)
            found[delivery] = np.stack([t.numpy() for t in given[-1]])
    np.testing.assert_array_equal(found["prompt"], np.roll(X, 1, 0))
    np.testing.assert_array_equal(found["late"], 0 * X)


@pytest.mark.parametrize(
    ("missing", "slugs"),
    [
        ("", set()),
        ("wait before the source is reused", {"race"}),
        ("wait", {"unquiet-signal", "race", "transfer-open"}),
        ("signal", {"race"}),
    ],
)
def test_the_text_says_it_too(missing: str, slugs: set[str]) -> None:
    func = run_pipeline(_shift(missing), DEFAULT_TARGET, PassOptions(automatic=ORDERED)).func
    assert {d.slug for d in check_ranks(func, (2, 3))} == slugs


def test_the_text_of_an_example_is_proved(tmp_path: Path) -> None:
    case = sum_by_engine(3, 301)
    func = case.func(load(case.script, tmp_path))
    final = run_pipeline(func, DEFAULT_TARGET, PassOptions(automatic=ORDERED)).func
    assert not check_ranks(final, (1, 2, 3, 4, 5, 8))


def test_the_text_of_a_copy_can_be_read_back() -> None:
    text = print_func(_fetch())
    assert "sdma_copy" in text
    assert "sdma_wait" in text
    assert print_func(parse(text)) == text


def _traced(body: Any) -> Any:
    @T.prim_func
    def kernel(x: T.SymmTensor((8, N), "float32"), y: T.Tensor((8, N), "float32")) -> None:
        with T.Kernel(1, threads=1), T.Scale("device") as (r, num):
            body(x, y, (r + 1) % num)

    return kernel


@T.macro
def _by_put(x: Any, y: Any, pe: Any) -> None:
    T.wait(T.put_async(y[0, :], x[1, :], pe))


@T.macro
def _by_pto(x: Any, y: Any, pe: Any) -> None:
    T.wait(T.TPUT_ASYNC(x[1, :], y[0, :], pe))


@T.macro
def _by_shmem(x: Any, y: Any, pe: Any) -> None:
    T.sdma_put_nbi(x[1, :], y[0, :], N, pe)
    T.sdma_quiet()


def test_other_names_are_the_same_copy() -> None:
    def without_places(text: str) -> str:
        return "\n".join(line.partition(" @")[0] for line in text.splitlines())

    texts = {without_places(print_func(_traced(body))) for body in (_by_put, _by_pto, _by_shmem)}
    assert len(texts) == 1


@T.macro
def _columns(x: Any, y: Any, pe: Any) -> None:
    T.wait(T.put_async(y[:, :8], x[:, :8], pe))


@T.macro
def _no_handle(x: Any, y: Any, pe: Any) -> None:
    T.put_async(y[0, :], x[0, :], pe)
    T.wait(1)


@pytest.mark.parametrize(
    ("body", "slug"), [(_columns, "strided-operand"), (_no_handle, "operand-kind")]
)
def test_what_the_engine_does_not_do_is_an_error(body: Any, slug: str) -> None:
    with pytest.raises(KernelError) as caught:
        _traced(body)
    assert caught.value.slug == slug


@pytest.mark.parametrize("copies", [False, True])
def test_the_planner_leaves_the_engine_its_flag(copies: bool) -> None:
    """The library's functions set and wait for the last flag between MTE3 and MTE2 themselves."""

    @T.prim_func
    def kernel(x: T.SymmTensor((64,), "float32"), y: T.Tensor((64,), "float32")) -> None:
        with T.Kernel(1, threads=1) as _cid, T.Scale("device") as (r, num):
            tile = T.alloc_ub((64,), "float32")
            for k in T.unroll(7):
                T.set_flag("mte3", "mte2", k)
            T.copy(y, tile)
            T.copy(tile, y)
            T.copy(x, tile)
            for k in T.unroll(7):
                T.wait_flag("mte3", "mte2", k)
            if copies:
                T.wait(T.get_async(x, y, (r + 1) % num))

    text = print_func(run_pipeline(kernel, DEFAULT_TARGET, PassOptions(automatic=ORDERED)).func)
    assert ('set_flag(7) {src_pipe="mte3", dst_pipe="mte2"}' in text) != copies


def test_what_lies_behind_a_tensor_is_not_copied(tmp_path: Path) -> None:
    """Of three blocks of 32 elements the second has 8, and the third has none."""
    case = sum_by_engine(3, 40)
    kernel = case.kernel(load(case.script, tmp_path))
    for seed, delivery in ((0, "prompt"), (1, "late")):
        case.check(simulate(case, kernel, seed, delivery))


def _beside_work(at_once: bool, copies: bool = True, works: bool = True) -> Any:
    """A copy by the engine, and work of the core, which waits before it or behind it."""
    many, rows = 1 << 16, 64

    @T.prim_func
    def kernel(
        x: T.SymmTensor((many,), "float32"), y: T.Tensor((many,), "float32"),
        z: T.Tensor((rows, 1024), "float32"),
    ) -> None:  # fmt: skip
        with T.Kernel(1, threads=1) as _cid, T.Scale("device") as (r, num):
            tile = T.alloc_ub((1024,), "float32")
            if copies:
                T.get_async(x, y, (r + 1) % num)
                if at_once:
                    T.sdma_quiet()
            if works:
                for i in T.serial(rows):
                    T.copy(z[i, :], tile)
                    T.tile.exp(tile, tile)
                    T.copy(tile, z[i, :])
            if copies and not at_once:
                T.sdma_quiet()

    return kernel


def _modelled(kernel: Any) -> float:
    with override(check="off", time=True), Ranks(2) as world:
        x = world.zeros(1 << 16, torch.float32)
        y, z = ([torch.zeros(n) for _ in range(2)] for n in (1 << 16, (64, 1024)))
        world.launch(compile(kernel, pass_configs=ORDERED_CONFIGS), x, y, z)
        assert world.times is not None, "the launch is timed"
        return world.times.microseconds


def test_the_engine_works_beside_the_core() -> None:
    """Together they take little more than the longer of the two, one after the other their sum."""
    together, one_by_one = (_modelled(_beside_work(at_once)) for at_once in (False, True))
    copy, work = _modelled(_beside_work(True, works=False)), _modelled(_beside_work(True, False))
    nothing = 4  # the start of a core, which each of the two has
    assert together < max(copy, work) + nothing
    assert one_by_one > copy + work - nothing
    assert one_by_one > together + min(copy, work) / 2
