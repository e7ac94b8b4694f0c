"""Messages between ranks say who did what, where, and what to write instead, in the words of the
kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_ir import KernelError
from tile_runtime import Ranks, SimulationError

N = 64
CONFIGS = {T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True}


@T.jit(pass_configs=CONFIGS)
def waiting() -> T.PrimFunc:
    """Every rank waits before it signals."""

    @T.prim_func
    def kernel(words: T.Signals(2)) -> None:
        with T.Kernel(1, threads=1) as cid, T.Scale("device") as (r, num):
            T.wait_ge(words[1], 1)
            T.signal(words[1], 1, (r + 1) % num)

    return kernel


@T.jit(pass_configs=CONFIGS)
def meeting(everyone: bool) -> T.PrimFunc:
    """Ranks that only meet, or of which one does."""

    @T.prim_func
    def kernel(words: T.Signals(1)) -> None:
        with T.Kernel(1, threads=1) as cid, T.Scale("device") as (r, num):
            if everyone or r == 0:
                T.barrier()

    return kernel


@T.jit(pass_configs=CONFIGS)
def putting(ahead: int, around: bool = False) -> T.PrimFunc:
    """Every rank puts to one further on, or around to the first."""

    @T.prim_func
    def kernel(x: T.Tensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1, threads=1) as cid, T.Scale("device") as (r, num):
            T.put(x, y, (r + ahead) % num if around else r + ahead)
            T.quiet()

    return kernel


def told(launch: Callable[[Ranks], Any], kind: type[KernelError] | type[SimulationError]) -> str:
    """What a launch over two ranks raises."""
    with Ranks(2) as world, pytest.raises(kind) as raised:
        launch(world)
    return str(raised.value)


def rows(world: Ranks) -> Any:
    return world.zeros(N, torch.float32)


def test_a_deadlock_names_words_as_the_kernel_does() -> None:
    text = told(lambda world: world.launch(waiting(), world.signals(2)), SimulationError)
    assert "rank 0, block 0 aiv0 waits for words[1] of rank 0 >= 1 (T.wait_ge at " in text
    assert "which is 0 (no rank has signalled it)" in text
    assert "let a rank send its signal (T.signal) before it waits for that of another one" in text


def test_ranks_that_do_nothing_but_meet_meet() -> None:
    with Ranks(2) as world:
        world.launch(meeting(True), world.signals(1))
    text = told(lambda world: world.launch(meeting(False), world.signals(1)), SimulationError)
    assert "error[collective-mismatch]" in text and "rank 1 ended after 0" in text
    assert "let all cores of all ranks come to every barrier equally often" in text


def test_a_rank_that_is_not_there() -> None:
    text = told(
        lambda world: world.launch(putting(1), torch.zeros(N), rows(world)), SimulationError
    )
    assert "error[peer-range]: the rank is 2, but must be 0..1" in text
    assert "take the rank modulo T.num_ranks()" in text


def test_memory_that_other_ranks_do_not_reach() -> None:
    text = told(
        lambda world: world.launch(
            putting(1, True), torch.zeros(N), [torch.zeros(N), torch.zeros(N)]
        ),
        SimulationError,
    )
    assert "error[not-symmetric]: the address lies in GM buffer 'y' of rank 0" in text
    assert "pass a symmetric tensor, which every rank has: world.empty, zeros or of" in text


CALLS: dict[str, tuple[Callable[[Ranks], Any], str, str]] = {
    "a list too short": (
        lambda world: world.launch(putting(0), [torch.zeros(N)], rows(world)),
        "`x` is a list of 1, but there are 2 ranks",
        "give a list of 2, one for each rank, or one tensor for all",
    ),
    "a wrong tensor of one rank": (
        lambda world: world.launch(putting(0), [torch.zeros(N), torch.zeros(9)], rows(world)),
        "dimension 0 of argument 1 `x` is 9, expected 64",
        "this is what rank 1 gets",
    ),
    "a tensor of others": (
        lambda world: world.launch(putting(0), torch.zeros(N), rows(Ranks(3))),
        "`y` is a symmetric tensor of 3 other ranks",
        "world.empty, zeros, of",
    ),
    "values of others": (
        lambda world: world.of(torch.zeros(3, N)),
        "Ranks.of: dimension 0 is 3, but there are 2 ranks",
        "torch.stack([...])",
    ),
    "one tensor for all": (
        lambda world: world.launch(putting(0), torch.zeros(N), [torch.zeros(N)] * 2),
        "is written by all ranks, and is one tensor",
        "give each rank its own",
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_does_not_fit(call: str) -> None:
    launch, message, hint = CALLS[call]
    text = told(launch, KernelError)
    assert message in text and hint in text
