"""Tasks of one launch that talk to other ranks, and lists of tasks that are done in turns: results,
what is proved from the text, and what goes wrong without a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from kept_cases import kept_number

import tile_frontend as T
import tile_ir
from end_to_end import task_kernels as kernels
from tile_checkers import prove_ranks
from tile_ir.switches import override
from tile_passes import PassOptions, run_pipeline
from tile_passes.tasks import join
from tile_passes.tasks.edges import edges_of_turns
from tile_runtime import Ranks, SimulationError
from tile_runtime.options.pass_configs import pass_options

from .rank_cases import schedules

ROWS, WIDTH, TILE = 24, 64, 8
BLOCKS = ROWS // TILE
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}
AUTOMATIC = PassOptions(automatic=pass_options(CONFIGS).automatic)
LAYERS = T.symbolic("layers")


def summed(ranks: int, what: str = "", threads: int = 1) -> T.PrimFunc:
    """Y = the sum of X over all ranks; slots of two steps alternate. `what` is left out."""
    slots_of = 1 if what == "other slots" else 2

    @T.prim_func
    def total_of_ranks(
        X: T.Tensor((ROWS, WIDTH), "float32"),
        slots: T.SymmTensor((2, ranks, ROWS, WIDTH), "float32"),
        sent: T.Signals(ranks * BLOCKS),
        Y: T.Tensor((ROWS, WIDTH), "float32"),
        step: T.int32,
    ):
        with T.Kernel(BLOCKS, threads=threads, is_npu=True) as cid:
            part = T.alloc_shared((TILE, WIDTH), "float32")
            total = T.alloc_shared((TILE, WIDTH), "float32")
            row = cid * TILE
            with T.Scale("device") as (r, num):
                T.copy(X[row, 0], part)
                for s in T.serial(num):
                    T.put(part, slots[step % slots_of, r, row, 0], (r + s) % num)
                if what != "quiet":
                    T.quiet()
                for s in T.serial(num):
                    T.signal(sent[r * BLOCKS + cid], step, (r + s) % num)
                T.tile.fill(total, 0.0)
                for s in T.serial(num):
                    if what != "wait":
                        T.wait_ge(sent[s * BLOCKS + cid], step)
                    T.copy(slots[step % slots_of, s, row, 0], part)
                    for i, j in T.Parallel(TILE, WIDTH):
                        total[i, j] = total[i, j] + part[i, j]
                T.copy(total, Y[row, 0])

    return total_of_ranks


def tasks(ranks: int, turns: Any = LAYERS, what: str = "", threads: int = 1) -> T.PrimFunc:
    """x = the sum over all ranks of x with its rows reversed, + w of the turn."""
    back = T.Task(kernels.reversed_rows(ROWS, WIDTH, TILE))
    total = T.Task(summed(ranks, what, threads))
    add = T.Task(kernels.added(ROWS, WIDTH, TILE))
    calls = [back("x", "h"), total("h", "slots", "sent", "g", "step"), add("g", "w", "x")]
    return T.megakernel(
        calls, inputs=["x", "w"], outputs=["x"], step="step", turns=turns, stacked=["w"],
        name=f"turns_{ranks}_{what.replace(' ', '_')}_{threads}",
    )  # fmt: skip


@cache
def compiled(ranks: int, what: str = "", threads: int = 1) -> T.JITKernel:
    return T.compile(tasks(ranks, what=what, threads=threads), pass_configs=CONFIGS)


def expected(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """What every rank has at the end; `x` is stacked by rank."""
    for bias in w:
        back = x.view(len(x), BLOCKS, TILE, WIDTH).flip(1).reshape(x.shape)
        total = torch.zeros_like(back[0])
        for part in back:
            total = total + part
        x = (total + bias).expand(x.shape)
    return x


def launched(world: Ranks, kernel: T.JITKernel, layers: int) -> None:
    x, w = torch.randn(world.count, ROWS, WIDTH), torch.randn(layers, ROWS, WIDTH)
    found = [own.clone() for own in x]
    world.launch(kernel, found, w)
    for own, right in zip(found, expected(x, w), strict=True):
        assert torch.equal(own, right)


@pytest.mark.parametrize(("ranks", "threads"), [(2, 1), (2, 2), (3, 1)])
def test_any_number_of_turns_on_one_binary(ranks: int, threads: int) -> None:
    """Words go on from call to call, however many turns each takes."""
    for seed, delivery in schedules(6):
        with override(check="strict", delivery=delivery), Ranks(ranks, seed=seed) as world:
            for layers in (1, 3, 2):
                launched(world, compiled(ranks, threads=threads), layers)


def test_one_device_is_rank_0_of_1() -> None:
    x, w = torch.randn(1, ROWS, WIDTH), torch.randn(2, ROWS, WIDTH)
    found = x[0].clone()
    with override(check="strict"):
        compiled(1)(found, w)
    assert torch.equal(found, expected(x, w)[0])


@pytest.mark.parametrize("tiles", [(4, 7, 5), (5, 4, 7), (3, 8, 4), (8, 3, 5), (2, 7, 3)])
def test_no_block_counts_while_another_looks_for_the_turn_before(
    tiles: tuple[int, int, int],
) -> None:
    """Tiles of several sizes make waits wider than what is accessed: blocks look at words of others
    whose rows they do not touch, and which nothing else keeps from the next turn."""
    rows, (a, b, c) = 30, tiles
    calls = [
        T.Task(kernels.scaled(rows, WIDTH, 2.0, a))("x", "h"),
        T.Task(kernels.added(rows, WIDTH, b))("h", "w", "g"),
        T.Task(kernels.scaled(rows, WIDTH, 0.5, c))("g", "x"),
    ]
    func = T.megakernel(
        calls, inputs=["x", "w"], outputs=["x"], turns=LAYERS, stacked=["w"],
        name=f"tiles_{a}_{b}_{c}",
    )  # fmt: skip
    kernel = T.compile(func, pass_configs=CONFIGS)
    for seed in range(6):
        x, w = torch.randn(rows, WIDTH), torch.randn(2, rows, WIDTH)
        right = ((x * 2 + 1 + w[0]) * 0.5 + 1) * 2 + 1 + w[1]
        with override(check="strict", seed=seed):
            kernel(x, w)
        torch.testing.assert_close(x, right * 0.5 + 1)


def test_the_interpreter_says_the_same() -> None:
    ranks, layers = 2, 2
    x, w = torch.randn(ranks, ROWS, WIDTH), torch.randn(layers, ROWS, WIDTH)
    found = [own.numpy().copy() for own in x]
    func = tasks(ranks)
    text = tile_ir.print_func(func)
    assert tile_ir.print_func(tile_ir.parse(text, "x")) == text
    tile_ir.interpret_ranks(func, [[own, w.numpy()] for own in found], in_text_order=True)
    np.testing.assert_array_equal(np.stack(found), expected(x, w).numpy())


@pytest.mark.parametrize("ranks", [2, 3])
def test_any_number_of_turns_is_proved(ranks: int) -> None:
    assert prove_ranks(compiled(ranks).lowered, [ranks]).findings == ()


BROKEN = {"quiet": "unquiet-signal", "wait": "race", "other slots": "race"}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_lists_are_found_in_text_and_run(what: str) -> None:
    found = prove_ranks(compiled(2, what).lowered, [2]).findings
    assert BROKEN[what] in {d.slug for d in found}
    for seed, delivery in schedules(6):
        with (
            override(check="strict", delivery=delivery),
            Ranks(2, seed=seed) as world,
            pytest.raises(SimulationError) as error,
        ):
            launched(world, compiled(2, what), 3)
        assert error.value.slug == BROKEN[what]


def without_edges(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Each wait between tasks by number, while it is left out."""
    kept = edges_of_turns
    count = 1
    number = 0
    while number < count:

        def fewer(*placed: Any, number: int = number) -> Any:
            nonlocal count
            edges = kept(*placed)
            count = len(edges)
            return edges[:number] + edges[number + 1 :]

        monkeypatch.setattr(join, "edges_of_turns", fewer)
        yield number
        number += 1


def test_every_edge_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a wait the simulator reports a race. What blocks of one rank leave to each other in
    plain tensors is no part of what is proved of ranks. Tasks with words of ranks follow each other
    as launches do, though blocks of this one wait for no word of another block."""
    as_launches = []
    for number in without_edges(monkeypatch):
        with override(cache=False, check="strict"):
            kernel = T.compile(tasks(2), pass_configs=CONFIGS)
            try:
                with Ranks(2, seed=number) as world:
                    launched(world, kernel, 3)
                as_launches.append(number)
            except SimulationError as error:
                assert error.slug == "race"
    assert number == 2 and as_launches == [1]


@pytest.mark.parametrize("what", ["", *BROKEN])
def test_what_stands_for_any_number_says_what_each_number_says(what: str) -> None:
    """Texts with a number of turns in them against the one proof for all."""
    found = {d.slug for d in prove_ranks(compiled(2, what).lowered, [2]).findings}
    each = [
        {d.slug for d in prove_ranks(of_turns(turns, what), [2]).findings}
        for turns in range(1, 2 + kept_number(6))
    ]
    assert set().union(*each) == found


def of_turns(turns: int, what: str) -> tile_ir.Func:
    return run_pipeline(tasks(2, turns, what), tile_ir.DEFAULT_TARGET, AUTOMATIC).func


def test_a_call_that_fails_begins_anew() -> None:
    """What ranks have told each other is forgotten with it, by all kernels of these ranks."""
    kernel, broken = compiled(2), compiled(2, "wait")
    with override(check="strict"), Ranks(2) as world:
        launched(world, kernel, 2)
        with pytest.raises(SimulationError):
            launched(world, broken, 2)
        assert [kept.calls for kept in world._kept.values()] == [{}, {}]
        launched(world, kernel, 3)


def refused(slug: str, **named: Any) -> None:
    back = T.Task(kernels.reversed_rows(ROWS, WIDTH, TILE))
    with pytest.raises(tile_ir.KernelError) as error:
        T.megakernel([back("x", "h"), T.Task(summed(2))("h", "a", "b", "y", "step")], **named)
    assert error.value.slug == slug


def test_turns_and_steps_that_do_not_fit_are_refused() -> None:
    refused("attribute-value", step="step", turns=0)
    refused("attribute-value", step="step", turns=LAYERS)
    refused("task-region", step="calls")
    refused("task-region", step="step", turns=2, stacked=["z"])
    flat = T.Task(kernels.scaled(ROWS * 2, WIDTH // 2, 2.0))
    with pytest.raises(tile_ir.KernelError, match="shape-mismatch"):
        T.megakernel(
            [flat("w", "h"), T.Task(kernels.added(ROWS, WIDTH))("w", "h", "y")],
            turns=2, stacked=["w"],
        )  # fmt: skip


def test_a_core_that_signals_its_cube_core_needs_the_other() -> None:
    """Beside tasks of two vector cores, one that meets its cube core alone is refused."""

    @T.prim_func
    def product(
        A: T.Tensor((16, 64), "float16"),
        B: T.Tensor((64, 64), "float16"),
        C: T.SymmTensor((16, 64), "float32"),
        sent: T.Signals(1),
        step: T.int32,
    ):
        with T.Kernel(1, threads=1, is_npu=True), T.Scale("device") as (r, num):
            a = T.alloc_shared((16, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((16, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm_v0(a, b, c, init=True)
            T.copy(c, C, dst_pe=(r + 1) % num)
            T.quiet()
            T.signal(sent[0], step, (r + 1) % num)
            T.wait_ge(sent[0], step)

    two = T.Task(kernels.scaled(ROWS, WIDTH, 2.0))
    func = T.megakernel([T.Task(product)("a", "b", "c", "s", "step"), two("x", "y")], step="step")
    with pytest.raises(tile_ir.KernelError) as error:
        run_pipeline(func, tile_ir.DEFAULT_TARGET, AUTOMATIC)
    assert error.value.slug == "task-flags"
