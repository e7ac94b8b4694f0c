"""Barriers of all ranks: alone in a kernel, and in branches that not all cores take."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tile_frontend as T
from tile_checkers import check_ranks
from tile_ir import DEFAULT_TARGET
from tile_ir.switches import override
from tile_passes import PassOptions, run_pipeline
from tile_runtime import Ranks, SimulationError, compile

from .rank_cases import ORDERED, ORDERED_CONFIGS, schedules

N, RANKS = 64, 3


def _kernel(where: str, works: bool = True) -> Any:
    @T.prim_func
    def kernel(x: T.SymmTensor((2, N), "float32"), y: T.Tensor((2, N), "float32")) -> None:
        with T.Kernel(2, threads=1) as cid, T.Scale("device") as r:
            if works:
                T.copy(x[cid, :], y[cid, :])
            if where == "everywhere":
                T.barrier()
            elif where == "rank":
                if r == 1:
                    T.barrier()
            elif where == "block":
                if cid == 1:
                    T.barrier()
            elif where == "both arms":
                if r == 1:
                    T.barrier()
                else:
                    T.barrier()
            elif where == "more in one arm":
                if r == 1:
                    T.barrier()
                    T.barrier()
                else:
                    T.barrier()
            elif where == "as often as the rank says":
                for _ in T.serial(r):
                    T.barrier()

    return kernel


def _launched(func: Any, seed: int = 0, delivery: str = "prompt") -> str | None:
    """What the simulator calls it, if anything."""
    compiled = compile(func, pass_configs=ORDERED_CONFIGS)
    with override(check="strict", delivery=delivery), Ranks(RANKS, seed=seed) as world:
        x = world.zeros((2, N), torch.float32)
        try:
            world.launch(compiled, x, [torch.zeros(2, N) for _ in range(RANKS)])
        except SimulationError as error:
            return error.slug
    return None


def _checked(func: Any) -> set[str]:
    final = run_pipeline(func, DEFAULT_TARGET, PassOptions(automatic=ORDERED))
    return {d.slug for d in check_ranks(final.func, [RANKS])}


IN_BRANCHES = ("rank", "block", "more in one arm", "as often as the rank says")


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("where", IN_BRANCHES)
def test_a_barrier_in_a_branch(where: str, works: bool) -> None:
    """S-17: also where the kernel does nothing else."""
    func = _kernel(where, works)
    assert _checked(func) & {"collective-mismatch", "barrier-in-branch"}
    assert {_launched(func, *each) for each in schedules(6)} == {"collective-mismatch"}


def test_a_barrier_in_both_arms() -> None:
    """S-17: it is a mistake of the text, though all meet."""
    func = _kernel("both arms")
    assert _checked(func) == {"barrier-in-branch"}
    assert _launched(func) is None


def test_a_kernel_may_only_meet() -> None:
    func = _kernel("everywhere", works=False)
    assert _checked(func) == set()
    assert _launched(func) is None
    assert "aclshmemx_barrier_all_vec();" in compile(func).get_kernel_source()


def test_a_kernel_may_only_wait() -> None:
    @T.prim_func
    def kernel(words: T.Signals(1)) -> None:
        with T.Kernel(1) as (cid, vid):
            T.wait_ge(words[0], 1)

    with Ranks(2) as world, pytest.raises(SimulationError) as found:
        world.launch(compile(kernel), world.signals(1))
    assert found.value.slug == "deadlock"
