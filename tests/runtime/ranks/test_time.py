"""The modelled time of launches over several ranks, against the formulas of their algorithms."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

import tile_frontend as T
import tile_runtime.ranks.simulated as simulated
from tile_ir import CallError
from tile_ir.costs.links import TOPOLOGIES
from tile_ir.switches import override
from tile_runtime import Ranks
from tile_runtime.simulator.rank_times import RankTimes

CONFIGS = {
    T.PassConfigKey.TL_ASCEND_AUTO_SYNC: True,
    T.PassConfigKey.TL_ASCEND_AUTO_CV_SYNC: True,
}
BLOCKS = 8


@T.jit(pass_configs=CONFIGS)
def direct(ranks: int, n: int) -> T.PrimFunc:
    """Every block puts its part to each rank, and begins with another one than its neighbour."""
    part = n // BLOCKS

    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * BLOCKS),
    ) -> None:
        with T.Kernel(BLOCKS) as cid:
            mine = cid * part
            with T.Scale("device") as (r, num):
                for s in T.serial(num):
                    to = (r + s + cid) % num
                    T.put_signal(
                        x[mine : mine + part],
                        y[r, mine : mine + part],
                        words[r * BLOCKS + cid],
                        1,
                        to,
                    )
                for s in T.serial(num):
                    T.wait_ge(words[s * BLOCKS + cid], 1)

    return kernel


@T.jit(pass_configs=CONFIGS)
def ring(ranks: int, n: int) -> T.PrimFunc:
    """Every rank hands on to its right what came last from its left."""
    part = n // BLOCKS

    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * BLOCKS),
    ) -> None:
        with T.Kernel(BLOCKS) as cid:
            mine = cid * part
            with T.Scale("device") as (r, num):
                right = (r + 1) % num
                T.copy(x[mine : mine + part], y[r, mine : mine + part])
                for s in T.serial(num - 1):
                    last = (r + num - s) % num
                    T.put_signal(
                        y[last, mine : mine + part],
                        y[last, mine : mine + part],
                        words[last * BLOCKS + cid],
                        1,
                        right,
                    )
                    T.wait_ge(words[(r + num - 1 - s) % num * BLOCKS + cid], 1)

    return kernel


@T.jit(pass_configs=CONFIGS)
def by_link(ranks: int, n: int) -> T.PrimFunc:
    """Three blocks for each link, so that all links are busy from the first to the last byte."""
    part = n // 3
    own = part // (ranks - 1)

    @T.prim_func
    def kernel(
        x: T.Tensor((n,), "float32"),
        y: T.SymmTensor((ranks, n), "float32"),
        words: T.Signals(ranks * BLOCKS),
    ) -> None:
        with T.Kernel(3 * (ranks - 1)) as cid:
            p = cid // (ranks - 1)
            mine = p * part
            with T.Scale("device") as (r, num):
                to = (r + 1 + cid % (num - 1)) % num
                T.put_signal(
                    x[mine : mine + part], y[r, mine : mine + part], words[r * BLOCKS + p], 1, to
                )
                T.copy(x[cid * own : cid * own + own], y[r, cid * own : cid * own + own])
                for s in T.serial(num - 1):
                    T.wait_ge(words[(r + 1 + s) % num * BLOCKS + p], 1)

    return kernel


@T.jit(pass_configs=CONFIGS)
def to_first(ranks: int, n: int) -> T.PrimFunc:
    """All ranks put their slice to rank 0."""
    part = n // BLOCKS

    @T.prim_func
    def kernel(x: T.Tensor((n,), "float32"), y: T.SymmTensor((ranks, n), "float32")) -> None:
        with T.Kernel(BLOCKS) as cid:
            mine = cid * part
            with T.Scale("device") as (r, _num):
                if r > 0:
                    T.copy(x[mine : mine + part], y[r, mine : mine + part], dst_pe=0)
                    T.quiet()

    return kernel


def timed(make, ranks: int, n: int, topology: str = "a2", words: bool = True) -> RankTimes:
    kernel = make(ranks, n)
    with Ranks(ranks, topology=topology) as world, override(time=True, check="off"):
        x = [torch.randn(n) for _ in range(ranks)]
        y = world.zeros((ranks, n), torch.float32)
        more = [world.signals(ranks * BLOCKS)] if words else []
        world.launch(kernel, x, y, *more)
        receivers = range(ranks) if words else range(1)
        first = 0 if words else 1
        assert all(torch.equal(y[r][first:], torch.stack(x[first:])) for r in receivers)
        assert world.times is not None
        return world.times


def moved(times: RankTimes) -> dict[tuple[int, int], int]:
    return {pair: link.bytes for pair, link in times.links.items()}


def pairs(ranks: int) -> Sequence[tuple[int, int]]:
    return [(i, j) for i in range(ranks) for j in range(ranks) if i != j]


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_bytes_of_links_are_those_of_the_algorithm(ranks):
    n = 1 << 13
    slice_bytes = 4 * n
    assert moved(timed(direct, ranks, n)) == dict.fromkeys(pairs(ranks), slice_bytes)
    around = {(r, (r + 1) % ranks): (ranks - 1) * slice_bytes for r in range(ranks)}
    assert moved(timed(ring, ranks, n)) == around


def test_a_mesh_makes_direct_puts_faster_than_a_ring_and_a_ring_does_not():
    n = 3 * 7 * 99_840  # 8 MiB
    gain = {
        topology: timed(ring, 8, n, topology).microseconds
        / timed(by_link, 8, n, topology).microseconds
        for topology in ("a2", "ring")
    }
    assert 5 < gain["a2"] < 7
    assert gain["ring"] < 1


def test_seven_senders_share_a_way_in_but_not_links_of_their_own():
    n = 1 << 17
    times = {
        (topology, ranks): timed(to_first, ranks, n, topology, words=False)
        for topology in ("a2", "a3")
        for ranks in (2, 8)
    }

    def busy(topology: str, ranks: int) -> float:
        return times[topology, ranks].links[1, 0].busy_microseconds

    assert busy("a2", 8) == pytest.approx(busy("a2", 2), rel=0.02)
    assert busy("a3", 8) == pytest.approx(7 * busy("a3", 2), rel=0.1)


def test_a_link_moves_what_hixl_measured():
    n = 1 << 17
    link = timed(to_first, 2, n, words=False).links[1, 0]
    assert link.bytes / link.busy_microseconds / 1e3 == pytest.approx(20.28, rel=0.01)


def test_faster_links_never_slow_a_launch(monkeypatch):
    table = TOPOLOGIES["a2"]
    found = []
    for factor in (1, 2, 4, math.inf):
        faster = replace(
            table,
            link_write_bandwidth=table.link_write_bandwidth * factor,
            link_read_bandwidth=table.link_read_bandwidth * factor,
        )
        monkeypatch.setitem(simulated.TOPOLOGIES, "a2", faster)
        found.append(timed(ring, 4, 1 << 15))
    times = [each.microseconds for each in found]
    assert times == sorted(times, reverse=True)
    assert found[-1].exposed_microseconds < found[0].exposed_microseconds / 4
    assert found[0].microseconds_without_links == found[-1].microseconds_without_links


@T.jit(pass_configs=CONFIGS)
def doubled(n: int) -> T.PrimFunc:
    part = n // BLOCKS

    @T.prim_func
    def kernel(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32")) -> None:
        with T.Kernel(BLOCKS) as cid:
            mine = T.alloc_ub((part,), "float32")
            T.copy(x[cid * part], mine)
            for i in T.Parallel(part):
                mine[i] = mine[i] + mine[i]
            T.copy(mine, y[cid * part])

    return kernel


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_that_do_not_talk_take_the_time_of_one_device(ranks):
    n = 1 << 15
    kernel = doubled(n)
    with override(time=True):
        kernel(torch.randn(n), torch.zeros(n))
        alone = kernel.timeline()
        with Ranks(ranks) as world:
            y = [torch.zeros(n) for _ in range(ranks)]
            world.launch(kernel, [torch.randn(n) for _ in range(ranks)], y)
            times = world.times
    assert alone is not None
    if ranks == 1:
        assert kernel.timeline().microseconds == alone.microseconds
        return
    assert times is not None
    assert times.rank_microseconds == (alone.microseconds,) * ranks
    assert times.exposed_microseconds == 0
    assert times.links == {}
    for each in times.timelines:
        assert each.totals == alone.totals
        assert len(each.events) == len(alone.events)


def test_another_topology_is_an_error():
    with pytest.raises(CallError, match=r"topology='torus'.*a2, a3, ring, two-servers"):
        Ranks(2, topology="torus")
