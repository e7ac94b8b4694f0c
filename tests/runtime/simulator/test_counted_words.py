"""Words of GM that several cores count up by atomic additions, and wait for."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_set import KernelSet, SimulatorError

DEVICE, STRICT = 1, 2
I32 = np.int32

KERNELS = KernelSet(
    """
constexpr uint32_t N = 64;
// Every block moves a tile; then it counts one up, and waits for so many.
struct Counting {
    TPipe pipe;
    TBuf<TPosition::VECCALC> data, one;
    LocalTensor<int32_t> tile, ones;
    GlobalTensor<int32_t> gx, gy, gw;
    __aicore__ inline Counting(GM_ADDR x, GM_ADDR y, GM_ADDR w)
    {
        pipe.InitBuffer(data, N * sizeof(int32_t));
        pipe.InitBuffer(one, 32);
        tile = data.Get<int32_t>();
        ones = one.Get<int32_t>();
        gx.SetGlobalBuffer((__gm__ int32_t*)x);
        gy.SetGlobalBuffer((__gm__ int32_t*)y);
        gw.SetGlobalBuffer((__gm__ int32_t*)w);
        Duplicate(ones, 1, 8);
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline void Move(GlobalTensor<int32_t> from, GlobalTensor<int32_t> to)
    {
        DataCopy(tile, from, N);
        PipeBarrier<PIPE_ALL>();
        Adds(tile, tile, 1, N);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, tile, N);
    }
    __aicore__ inline void Count()
    {
        SetAtomicAdd<int32_t>();
        DataCopyPad(gw, ones, DataCopyExtParams(1, 4, 0, 0, 0));
        SetAtomicNone();
    }
    __aicore__ inline int32_t Seen()
    {
        DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(gw);
        return gw.GetValue(0);
    }
};
"""
)
ROUNDS = """
int32_t me = GetBlockIdx(), all = GetBlockNum();
Counting c(x, y, w);
for (int32_t round = 0; round < 3; ++round) {
    c.Move(round == 0 ? c.gx[me * N] : c.gy[((round - 1) * all + (me + 1) % all) * N],
        c.gy[(round * all + me) * N]);
    BEFORE
    c.Count();
    PipeBarrier<PIPE_ALL>();
    while (c.Seen() < ENOUGH) {}
}"""
PARAMETERS = "GM_ADDR x, GM_ADDR y, GM_ADDR w"
BARRIER = "PipeBarrier<PIPE_ALL>();"
for _name, _before, _enough in (
    ("all", BARRIER, "all * (round + 1)"),
    ("early", "", "all * (round + 1)"),
    ("too_few", BARRIER, "all * (round + 1) - 1"),
):
    _body = ROUNDS.replace("BEFORE", _before).replace("ENOUGH", _enough)
    KERNELS.add(_name, PARAMETERS, _body, "KERNEL_TYPE_MIX_AIV_1_0")
# Cores of a block meet, and one of them counts for all.
KERNELS.add(
    "together",
    PARAMETERS,
    """
if ASCEND_IS_AIC { return; }
int32_t me = GetBlockIdx(), all = 2 * GetBlockNum();
Counting c(x, y, w);
for (int32_t round = 0; round < 3; ++round) {
    c.Move(round == 0 ? c.gx[me * N] : c.gy[((round - 1) * all + (me + 1) % all) * N],
        c.gy[(round * all + me) * N]);
    PipeBarrier<PIPE_ALL>();
    CrossCoreSetFlag<1, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
    if (GetSubBlockIdx() == 0) { c.Count(); }
    PipeBarrier<PIPE_ALL>();
    CrossCoreSetFlag<1, PIPE_MTE3>(3);
    CrossCoreWaitFlag(3);
    while (c.Seen() < GetBlockNum() * (round + 1)) {}
}""",
    "KERNEL_TYPE_MIX_AIC_1_2",
)


def given(blocks: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.arange(blocks * 64, dtype=I32).reshape(blocks, 64)
    return x, np.zeros((3 * blocks, 64), I32), np.zeros(16, I32)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("check", [0, DEVICE, STRICT])
@pytest.mark.parametrize("blocks", [2, 5])
def test_who_counts_last_waits_for_the_others_too(blocks: int, check: int, seed: int) -> None:
    """A core that sees the sum knows what all have done, also if the last addition is its own."""
    for threads in (1, 2):
        x, y, w = given(blocks)
        KERNELS.run("all", x, y, w, blocks=blocks, checks=check, seed=seed, threads=threads)
        found = y.reshape(3, blocks, 64)
        for round_, tile in enumerate(found):
            np.testing.assert_array_equal(tile, np.roll(x, -round_, 0) + round_ + 1)


@pytest.mark.parametrize("seed", range(8))
def test_one_core_counts_for_its_block(seed: int) -> None:
    x, y, w = given(6)
    KERNELS.run("together", x, y, w, blocks=3, checks=STRICT, seed=seed)
    for round_, tile in enumerate(y.reshape(3, 6, 64)):
        np.testing.assert_array_equal(tile, np.roll(x, -round_, 0) + round_ + 1)


@pytest.mark.parametrize("name", ["early", "too_few"])
def test_counting_too_early_or_waiting_for_too_few_is_a_race(name: str) -> None:
    faults = []
    for seed in range(8):
        try:
            KERNELS.run(name, *given(3), blocks=3, checks=DEVICE, seed=seed)
        except SimulatorError as fault:
            faults.append(str(fault))
    assert faults and all("race" in f for f in faults), faults
