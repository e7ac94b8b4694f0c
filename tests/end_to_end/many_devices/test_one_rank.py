"""An example on one rank against its kernel for a single device: the same results, about as fast."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tile_frontend as T
import tile_runtime
from tile_ir import Buffer, Const, Expr, Func, Op, Stmt, Var
from tile_ir.ranks import RANK, RANKS, is_symmetric
from tile_ir.switches import override
from tile_ir.traversal import map_expressions, replace_buffers, replace_in, rewrite
from tile_runtime import Ranks

from .example_cases import EXAMPLES
from .rank_cases import ORDERED_CONFIGS, STEP, OfRank, OfRanks, RankCase, load, tensors, words

NUMBERS: dict[Expr, Const] = {RANK: Const(0), RANKS: Const(1)}
BETWEEN_RANKS = ("signal", "wait_signal", "quiet", "fence", "barrier")
# Sizes at which a launch has some work to do, for a kernel without ranks that is made of the example.
SIZES = {
    "neighbour": 2000, "gather": 50_000, "ring": 50_000, "exchange": 50_000, "exchange_rows": 2048,
    "scattered_sum": 50_000, "sum_at_once": 50_000, "sum_of_all": 40_000, "send_to_all": 50_000,
    "pipeline": 20_000, "pipeline_of_one": 20_000, "halo": 2048, "attention": 128,
    "causal_attention": 128,
}  # fmt: skip
# What takes ten microseconds takes up to so many more with its signals, waits and `quiet`.
ORDER_MICROSECONDS = 2
# A product takes at most so much longer.
PRODUCTS, PRODUCT_FACTOR = ("ag_gemm", "gemm_rs", "gemm_ar"), 1.05
TILE, ROWS = 128, 512
# Blocks that signal are started as they come, and so are those beside them.
AS_WRITTEN = {
    **ORDERED_CONFIGS,
    T.PassConfigKey.TL_ASCEND_PERSISTENT: False,
    T.PassConfigKey.TL_ASCEND_OVERLAP_LOOPS: False,
    T.PassConfigKey.TL_ASCEND_RETILE: False,
}


@T.jit(pass_configs=ORDERED_CONFIGS)
def product(m: int, n: int, k: int, depth: int, blocks: int) -> Func:
    """A product as it is written for one device."""
    across = T.ceildiv(n, TILE)
    tiles = T.ceildiv(m, TILE) * across

    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), "float16"),
        B: T.Tensor((k, n), "float16"),
        C: T.Tensor((m, n), "float16"),
    ) -> None:
        with T.Kernel(blocks) as cid:
            a = T.alloc_L1((TILE, depth), "float16")
            b = T.alloc_L1((depth, TILE), "float16")
            c = T.alloc_L0C((TILE, TILE), "float32")
            for t in T.serial(T.ceildiv(tiles - cid, blocks)):
                row = (cid + t * blocks) // across * TILE
                column = (cid + t * blocks) % across * TILE
                for s in T.serial(T.ceildiv(k, depth)):
                    T.copy(A[row, s * depth], a)
                    T.copy(B[s * depth, column], b)
                    T.gemm_v0(a, b, c, init=(s == 0))
                T.copy(c, C[row, column])

    return kernel


def on_one_device(func: Func) -> Func:
    """The kernel without ranks: plain tensors, and nothing that orders ranks."""

    def fixed(e: Expr) -> Expr:
        return replace_in(e, lambda part: NUMBERS.get(part) if isinstance(part, Var) else None)

    def plain(buffer: Buffer) -> Buffer:
        return replace(buffer, shape=(Const(1), *buffer.shape[1:]))

    def order(stmt: Stmt) -> Any:
        if isinstance(stmt, Op) and stmt.opdef.name == "sync_block" and stmt.loc.generated:
            return ()
        return () if isinstance(stmt, Op) and stmt.opdef.name in BETWEEN_RANKS else stmt

    new = {b: plain(b) for b in func.tensors if is_symmetric(b)}
    body = map_expressions(replace_buffers(rewrite(func.launch.body, order), new), fixed)
    params = tuple(new.get(p, p) for p in func.params)
    return replace(func, params=params, launch=replace(func.launch, body=body))


def by_one_device(case: RankCase, kernel: Any) -> tuple[list[Any], float]:
    """All arguments after a call without ranks, stacked by rank, and its modelled time."""
    given: list[Any] = []
    for argument in case.arguments:
        match argument:
            case OfRank(values=values):
                given.append(torch.from_numpy(values[0].copy()))
            case OfRanks(values=values):
                given.append(torch.from_numpy(values.copy()))
            case _:
                given.append(1 if argument is STEP else argument)
    with override(time=True):
        kernel(*given)
    found = [
        (value[None] if isinstance(argument, OfRank) else value).numpy()
        if isinstance(value, torch.Tensor) else value
        for argument, value in zip(case.arguments, given, strict=True)
    ]  # fmt: skip
    return found, kernel.timeline().microseconds


def by_one_rank(case: RankCase, kernel: Any) -> tuple[list[Any], float]:
    """The same of a launch on one rank."""
    with override(time=True), Ranks(1) as world:
        given = [tensors(world, a) for a in case.arguments]
        world.launch(kernel, *(1 if a is STEP else a for a in given))
        assert world.times is not None
        stacked = [
            a if isinstance(a, (int, float)) or a is STEP else np.stack([t.numpy() for t in a])
            for a in given
        ]
        return stacked, world.times.microseconds


@pytest.mark.parametrize("name", SIZES)
def test_one_rank_is_a_single_device(name: str, tmp_path: Path) -> None:
    """S-28. Left out is `moe`, whose words order the blocks of one rank as well."""
    case = EXAMPLES[name][0](1, SIZES[name])
    module = load(case.script, tmp_path)
    alone = tile_runtime.compile(on_one_device(case.func(module)), pass_configs=AS_WRITTEN)
    expected, least = by_one_device(case, alone)
    found, time = by_one_rank(case, case.kernel(module))
    for number in case.expected:
        np.testing.assert_array_equal(case.seen(found[number]), case.seen(expected[number]))
    assert least <= time <= least + max(0.05 * least, ORDER_MICROSECONDS)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_fused_product_of_one_rank_is_a_product(name: str, tmp_path: Path) -> None:
    """S-28."""
    case = large_product(EXAMPLES[name][0](1, ROWS))
    found, time = by_one_rank(case, case.kernel(load(case.script, tmp_path)))
    a, b = (
        torch.from_numpy(each.values.reshape(-1, each.values.shape[-1]))
        for each in case.arguments[:2]
    )
    c = torch.zeros(len(a), b.shape[1], dtype=torch.float16)
    kernel = product(*c.shape, len(b), case.parameters[6], case.parameters[-1])
    with override(time=True):
        kernel(a, b, c)
    ((number, _),) = case.expected.items()
    np.testing.assert_array_equal(found[number].reshape(c.shape), c.numpy())
    assert time <= PRODUCT_FACTOR * kernel.timeline().microseconds


def large_product(case: RankCase) -> RankCase:
    """The same with tiles as large as those of `product`, one after the other, so that the end of
    the last one is a small part of the time."""
    ranks, m, n, k, _, _, *rest, _ = case.parameters
    count = -(-m // TILE) * -(-n // TILE)
    arguments = tuple(
        words(1, count) if isinstance(a, OfRanks) and a.values.dtype == np.int32 else a
        for a in case.arguments
    )
    if case.script == "ag_gemm":  # its words are for pieces of rows, whatever the tiles
        arguments = case.arguments
    return replace(case, parameters=(ranks, m, n, k, TILE, TILE, *rest, 1), arguments=arguments)
