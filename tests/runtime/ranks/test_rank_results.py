"""The result of a launch over ranks: findings by rank, overlap, and bytes from rank to rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sending_kernels import N, launch, sending, timed

from tile_ir.switches import override
from tile_runtime import Ranks, SimulationError
from tile_runtime.ranks.result import RankRun
from tile_runtime.simulator.rank_overlap import rank_overlap
from tile_runtime.simulator.rank_times import RankTimes
from tile_runtime.simulator.timeline import EVENT, KINDS, PIPES

END = 30


def test_one_rank_has_a_result() -> None:
    times = timed(1)
    assert times.ranks == 1 and len(times.timelines) == 1
    assert times.rank_microseconds == (times.microseconds,)
    assert times.microseconds_without_links == times.microseconds and times.links == {}
    assert times.overlap is None and times.bytes_between == ((0,),)
    assert "no bytes between ranks" in times.headline()
    (only,) = times.timelines
    assert only.totals == {**times.whole.totals, **only.totals}
    assert len(only.events) == len(times.whole.events)


def test_without_a_clock_the_result_has_the_findings() -> None:
    with Ranks(2) as world:
        launch(world, sending())
        assert type(world.result) is RankRun
        assert world.result.findings == ((), ())
        assert repr(world.result) == "<2 ranks, no findings>"


def test_an_error_is_among_the_findings_of_its_rank() -> None:
    with Ranks(3) as world:
        with pytest.raises(SimulationError) as raised:
            launch(world, sending(waits=False))
        assert world.result is not None
        findings = world.result.findings
        text = str(world.result)
    assert findings[raised.value.fault.rank][0] == raised.value.diagnostic
    assert sum(map(len, findings)) == 1 + len(raised.value.others)
    assert f"rank {raised.value.fault.rank}: " in text and "sending_kernels.py:" in text


def test_bytes_between_ranks() -> None:
    size = 4 * N
    times = timed(3)
    assert times.bytes_between == ((0, size, 0), (0, 0, size), (size, 0, 0))
    assert {pair: link.bytes for pair, link in times.links.items()} == {
        (r, (r + 1) % 3): size for r in range(3)
    }
    # On a ring they go on over the rank in between.
    times = timed(4, hops=2, topology="ring")
    assert [row.index(size) for row in times.bytes_between] == [2, 3, 0, 1]
    assert {pair: link.bytes for pair, link in times.links.items() if link.bytes} == {
        (r, (r + 1) % 4): 2 * size for r in range(4)
    }


def test_what_a_launch_says() -> None:
    times = timed(2)
    assert times.overlap is not None and 0 < times.overlap < 1
    assert times.rank_overlap == pytest.approx([times.overlap] * 2, rel=0.2)
    assert times.links[0, 1].share_of_peak == pytest.approx(1, abs=0.01)
    assert all(0 < waits < times.microseconds for waits in times.rank_wait_microseconds)
    text = str(times)
    assert text.startswith("2 ranks, no findings; modelled ")
    assert f"{times.overlap:.0%} of the communication is hidden" in text
    assert "0 -> 1  16384        1" in text
    assert repr(times) == f"<{times.headline()}>"


def test_a_rank_by_itself_is_as_large_as_one_device() -> None:
    with override(time=True, check="off"), Ranks(2) as world:
        launch(world, sending())
        times = world.result
    assert isinstance(times, RankTimes)
    for each in times.timelines:
        assert each.cube_cores * 2 == times.whole.cube_cores
        assert set(each.events["block"]) == {0, 1}
        assert each.hbm_bandwidth * 2 == times.whole.hbm_bandwidth


# A rank of two, what it does from when until when, and to or from which rank.
WORKS = st.tuples(
    st.integers(0, 1),
    st.sampled_from(["V", "M", "MTE1", "MTE2", "MTE3"]),
    st.integers(0, END - 1),
    st.integers(0, 8),
    st.sampled_from([None, 0, 1]),
)


@given(st.lists(WORKS, max_size=12))
def test_overlap_is_that_of_single_cycles(works: list[tuple[Any, ...]]) -> None:
    events = np.zeros(len(works), EVENT)
    computes, communicates = np.zeros((2, 2, END + 8), bool)
    for event, (rank, pipe, begin, length, peer) in zip(events, works, strict=True):
        transfer = pipe in ("MTE2", "MTE3")
        event["block"], event["pipe"], event["kind"] = 3 * rank, PIPES.index(pipe), 0
        event["begin"], event["end"], event["complete"] = begin, begin, begin + length
        event["peer"] = 1 + peer if transfer and peer is not None else 0
        during = slice(begin, begin + length)
        computes[rank, during] |= pipe in ("V", "M")
        communicates[:, during] |= transfer and peer == 1 - rank
    assert KINDS[0] == "work"
    for rank in range(2):
        found = rank_overlap(events, 3, rank)
        both = int((computes[rank] & communicates[rank]).sum())
        assert found.computing == computes[rank].sum()
        assert found.communicating == communicates[rank].sum()
        assert found.both == both
        assert found.part == (both / found.communicating if found.communicating else None)
