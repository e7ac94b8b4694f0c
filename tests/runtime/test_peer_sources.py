"""Sources as others write them, unchanged. Tile compilers: the device's mark spelled out, pattern reductions,
arrays of temporaries, pieces of the high-level vector API in templates of their own; and samples
with their host code."""

from __future__ import annotations

import numpy as np

from tile_runtime import simulate
from tile_runtime.source_kernels.cxx_text import with_device_words

SOURCE = """
#include "kernel_operator.h"
#define DEVICE __forceinline__ [aicore]

namespace peer {
using namespace AscendC;

template <typename T, uint32_t M, uint32_t N>
DEVICE void row_sums(LocalTensor<T> const &dst, LocalTensor<T> const &src, LocalTensor<uint8_t> const &tmp)
{
    uint32_t shape[] = {M, N};
    T before[M];
    for (uint32_t i = 0; i < M; ++i) {
        before[i] = dst.GetValue(i);
    }
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
    AscendC::ReduceSum<T, AscendC::Pattern::Reduce::AR>(dst, src, tmp, shape, true);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t i = 0; i < M; ++i) {
        dst.SetValue(i, static_cast<T>(dst.GetValue(i) + before[i]));
    }
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
DEVICE void spread(const LocalTensor<T> &dst, const LocalTensor<T> &src, LocalTensor<uint8_t> &tmp,
    const uint32_t to[dim], const uint32_t from[dim])
{
    AscendC::Broadcast<T, dim, axis, isReuseSource>(dst, src, to, from, tmp);
}
}  // namespace peer

extern "C" __global__ [aicore] void gate(GM_ADDR X_handle, GM_ADDR Y_handle)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    AscendC::TPipe pipe;
    AscendC::GlobalTensor<float> X, Y;
    X.SetGlobalBuffer((__gm__ float *)X_handle);
    Y.SetGlobalBuffer((__gm__ float *)Y_handle);
    AscendC::TBuf<AscendC::TPosition::VECCALC> ub;
    pipe.InitBuffer(ub, 65536);
    auto x = ub.GetWithOffset<float>(8 * 100, 0);
    auto wide = ub.GetWithOffset<float>(8 * 104, 4096);
    auto sums = ub.GetWithOffset<float>(8, 12288);
    auto y = ub.GetWithOffset<float>(8 * 104, 16384);
    auto tmp = ub.GetWithOffset<uint8_t>(32768, 24576);
    uint32_t to[] = {8, 104}, from[] = {8, 1};
    AscendC::Duplicate<float>(sums, 1.0f, 8);
    AscendC::Duplicate<float>(wide, 0.0f, 8 * 104);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(0);
    AscendC::DataCopy(wide, X, 8 * 104);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
    AscendC::SetFlag<AscendC::HardEvent::V_S>(1);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(1);
    peer::row_sums<float, 8, 100>(sums, wide, tmp);
    peer::spread<float, 2, 1>(y, sums, tmp, to, from);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::Sigmoid(wide, y, tmp, 8 * 104);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::ClampMax<float>(y, wide, tmp, 0.75f, 8 * 104);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::DataCopy(Y, y, 8 * 104);
}
"""


def test_a_source_of_a_peer_runs_as_it_is() -> None:
    x = np.random.default_rng(1).uniform(-0.1, 0.1, (8, 104)).astype(np.float32)
    y = np.zeros_like(x)
    result = simulate(SOURCE, "gate", 1, [x, y], check="strict")
    assert not result.errors, [str(e) for e in result.errors]
    sums = 1 + x[:, :100].sum(axis=1, dtype=np.float64)
    want = np.minimum(1 / (1 + np.exp(-sums)), 0.75)
    np.testing.assert_allclose(y, np.repeat(want[:, None], 104, axis=1), rtol=1e-5)


SAMPLE = """
#include "acl/acl.h"
#include "kernel_operator.h"
#include "tiling/tiling_api.h"

namespace optiling {
BEGIN_TILING_DATA_DEF(StepTiling)
TILING_DATA_FIELD_DEF(uint32_t, count);
TILING_DATA_FIELD_DEF(float, step);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(Step, StepTiling)
}  // namespace optiling

void ComputeTiling(const AscendC::TensorShape &shape, optiling::StepTiling &tiling)
{
    tiling.set_count(shape.GetDim(0));
}

struct StepTiling {
    uint32_t count{0};
    float step{0};
};

__global__ __vector__ void count_up(__gm__ uint8_t *x, __gm__ uint8_t *given)
{
    AscendC::TPipe pipe;
    StepTiling tiling;
    auto words = reinterpret_cast<__gm__ uint32_t *>(given);
    for (uint32_t i = 0; i < sizeof(StepTiling) / 4; ++i) {
        *(reinterpret_cast<uint32_t *>(&tiling) + i) = *(words + i);
    }
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> out;
    pipe.InitBuffer(out, 1, tiling.count * sizeof(float));
    AscendC::GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float *)x);
    auto y = out.AllocTensor<float>();
    AscendC::Arange<float>(y, 3.0f, tiling.step, tiling.count);
    out.EnQue(y);
    y = out.DeQue<float>();
    AscendC::DataCopy(to, y, tiling.count);
    out.FreeTensor(y);
}

int32_t main(int32_t argc, char *argv[])
{
    count_up<<<1, nullptr, nullptr>>>(nullptr, nullptr);
    return 0;
}
"""


def test_a_sample_with_the_tilings_of_its_host_code() -> None:
    x = np.zeros(128, np.float32)
    tiling = np.array([(128, 0.5)], dtype=[("count", "u4"), ("step", "f4")])
    result = simulate(SAMPLE, "count_up", 1, [x, tiling.view(np.uint8)], check="strict")
    assert not result.errors, [str(e) for e in result.errors]
    np.testing.assert_array_equal(x, 3 + 0.5 * np.arange(128, dtype=np.float32))


def test_the_mark_of_device_functions() -> None:
    text = (
        '#define A [aicore] // [aicore]\n[ aicore ] int f();\nauto s = "[aicore]"; /* [aicore] */\n'
        "char c = '\"'; __aicore__ int g();\n"
    )
    assert with_device_words(text) == (
        '#define A __aicore__ // [aicore]\n__aicore__ int f();\nauto s = "[aicore]"; /* [aicore] */\n'
        "char c = '\"'; __aicore__ int g();\n"
    )
