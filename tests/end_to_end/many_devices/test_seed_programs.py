"""What the systems that this one follows print of many devices, as they print it, and sums that
ranks add up at one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
from tile_ir import CallError, KernelError
from tile_ir.switches import override
from tile_runtime import Ranks, SimulationError, compile

from .rank_cases import ORDERED_CONFIGS, load, schedules

N = 77


def test_the_copy_to_the_neighbour(tmp_path: Path) -> None:
    """S-1: in its own way of writing two names, by as many devices as the reader has."""
    script = load("neighbour_copy", tmp_path, ("as (r, num):", "as r, num:"))
    kernel = script.neighbour_copy(N)
    for ranks in range(1, 9):
        x = torch.randn(ranks, N)
        with override(check="strict"), Ranks(ranks, seed=ranks) as world:
            y = [torch.zeros(N) for _ in range(ranks)]
            world.launch(kernel, world.of(x), world.zeros(N, torch.float32), y)
        assert torch.equal(torch.stack(y), torch.roll(x, 1, 0))


def _added(quiet: bool, fetched: bool = False) -> Any:
    @T.prim_func
    def kernel(
        x: T.Tensor((N,), "float32"), total: T.SymmTensor((N,), "float32"), word: T.Signals(1)
    ) -> None:
        with T.Kernel(1, threads=1) as cid, T.Scale("device") as (r, num):
            t = T.alloc_shared((N,), "float32")
            T.copy(x, t)
            T.atomic_add(total, t, dst_pe=0)
            if quiet:
                T.quiet()
            T.signal(word[0], 1, 0, op="add")
            if fetched:
                before = T.atom_add(word[0], 1)
                T.copy(x[before], t)
            if r == 0:
                T.wait_ge(word[0], num)
                T.copy(total, t)

    return kernel


def test_ranks_add_at_one_of_them() -> None:
    x = np.random.default_rng(0).integers(-8, 9, (3, N)).astype(np.float32)
    for quiet, slug in ((True, None), (False, "unquiet-signal")):
        compiled = compile(_added(quiet), pass_configs=ORDERED_CONFIGS)
        for seed, delivery in schedules(6):
            with override(check="strict", delivery=delivery), Ranks(3, seed=seed) as world:
                total = world.zeros(N, torch.float32)
                try:
                    world.launch(compiled, list(torch.from_numpy(x)), total, world.signals(1))
                except SimulationError as error:
                    assert error.slug == slug
                else:
                    assert slug is None
                    np.testing.assert_array_equal(total[0].numpy(), x.sum(0))


def test_no_addition_tells_what_was_there() -> None:
    """S-7."""
    with pytest.raises(KernelError) as found:
        _added(quiet=True, fetched=True)
    assert found.value.slug == "atomic-no-fetch"
    assert found.value.loc is not None and "T.wait_ge" in str(found.value.hint)


def _reached(step: int) -> Any:
    @T.prim_func
    def kernel(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1, threads=1):
            T.put(x, y, T.rank() + step)
            T.barrier()

    return kernel


@pytest.mark.parametrize(("step", "rank"), [(1, 2), (-1, 0)])
def test_a_rank_that_is_not_there(step: int, rank: int) -> None:
    """S-7: at its line, by name."""
    compiled = compile(_reached(step), pass_configs=ORDERED_CONFIGS)
    with Ranks(3) as world, pytest.raises(SimulationError) as found:
        world.launch(compiled, world.zeros(N, torch.float32), world.zeros(N, torch.float32))
    assert found.value.slug == "peer-range" and f"rank {rank}" in str(found.value)
    assert found.value.loc is not None and found.value.loc.line > 0


def _rows_sent(named: bool) -> Any:
    """Both vector cores of a block put half of the rows each, and one signal tells of both."""

    @T.prim_func
    def one_name(
        x: T.SymmTensor((8, N), "float32"), y: T.SymmTensor((8, N), "float32"), w: T.Signals(1)
    ) -> None:
        with T.Kernel(1) as cid, T.Scale("device") as (r, num):
            T.put_signal(x, y, w[0], 1, (r + 1) % num, op="add")
            T.wait_eq(w[0], 1)

    @T.prim_func
    def no_name(
        x: T.SymmTensor((8, N), "float32"), y: T.SymmTensor((8, N), "float32"), w: T.Signals(1)
    ) -> None:
        with T.Kernel(1), T.Scale("device"):
            T.put_signal(x, y, w[0], 1, (T.rank() + 1) % T.num_ranks(), op="add")
            T.wait_eq(w[0], 1)

    return one_name if named else no_name


@pytest.mark.parametrize("named", [True, False])
def test_a_launch_without_names_is_text_of_the_whole_block(named: bool) -> None:
    values = torch.randn(3, 8, N)
    compiled = compile(_rows_sent(named), pass_configs=ORDERED_CONFIGS)
    for seed, delivery in schedules(4):
        with override(check="strict", delivery=delivery), Ranks(3, seed=seed) as world:
            y = world.zeros((8, N), torch.float32)
            world.launch(compiled, world.of(values), y, world.signals(1))
            found = torch.stack([*y])
        assert torch.equal(found, values.roll(1, 0))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_number_of_ranks_that_the_launch_has_not(count: int) -> None:
    """Not an assertion of the kernel's, which has none; at the line of T.Scale."""

    @T.prim_func
    def kernel(x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32")) -> None:
        with T.Kernel(1), T.Scale("device", 2) as (r, num):
            T.put(x, y, (r + 1) % num)
            T.barrier()

    compiled = compile(kernel, pass_configs=ORDERED_CONFIGS)
    with override(check="strict"), Ranks(count) as world:
        given = [world.zeros(N, torch.float32) for _ in range(2)]
        if count == 2:
            world.launch(compiled, *given)
            return
        with pytest.raises(SimulationError) as found:
            world.launch(compiled, *given)
    line = next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1)
                if 'T.Scale("device", 2)' in text)  # fmt: skip
    assert found.value.slug == "scale-size" and found.value.loc is not None
    assert found.value.loc.line == line and 'T.Scale("device", 2)' in found.value.message


def test_arguments_that_are_missing_or_none() -> None:
    compiled = compile(_reached(0), pass_configs=ORDERED_CONFIGS)
    with Ranks(2) as world:
        x = world.zeros(N, torch.float32)
        for given in ((x,), (x, None), (x, x, x)):
            with pytest.raises(CallError) as found:
                world.launch(compiled, *given)
            assert found.value.slug.startswith("call-") and found.value.message


@pytest.mark.parametrize("count", [0, 40, N, N + 1])
def test_a_number_of_elements_that_the_call_decides(count: int) -> None:
    """As many as it says, and never more than there are."""

    @T.prim_func
    def kernel(
        x: T.SymmTensor((N,), "float32"), y: T.SymmTensor((N,), "float32"), n: T.int32
    ) -> None:
        with T.Kernel(1, threads=1):
            T.putmem(T.address_of(y[0]), T.address_of(x[0]), n * 4, (T.rank() + 1) % 2)
            T.barrier()

    values = torch.randn(2, N)
    compiled = compile(kernel, pass_configs=ORDERED_CONFIGS)
    with override(check="strict"), Ranks(2) as world:
        y = world.zeros(N, torch.float32)
        if count > N:
            with pytest.raises(SimulationError, match="more elements of x than there are") as found:
                world.launch(compiled, world.of(values), y, count)
            assert found.value.slug == "copy-extent"
            return
        world.launch(compiled, world.of(values), y, count)
        for rank in range(2):
            assert torch.equal(y[rank][:count], values[1 - rank][:count])
            assert not y[rank][count:].any()
