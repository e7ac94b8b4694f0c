// Sums of f32 vectors in UB by different instruction mixes.
//
// Structure after asc-devkit docs/zh/guide/.../SIMD算子性能优化/矢量计算/选择低延迟指令-优化归约操作性能.md and
// examples/01_simd_cpp_api/03_basic_api/01_memory_vector_compute/reduce: counter mode, one instruction a step.
#include "kernel_operator.h"
using namespace AscendC;

namespace reduce_sum {

__aicore__ inline void whole(const LocalTensor<float>& dst, const LocalTensor<float>& src, int32_t count)
{
    SetVectorMask<float, MaskMode::COUNTER>(0, count);
    WholeReduceSum<float, false>(dst, src, MASK_PLACEHOLDER, 1, 1, 1, 8);
    PipeBarrier<PIPE_V>();
}
__aicore__ inline void blocks(const LocalTensor<float>& dst, const LocalTensor<float>& src, int32_t count)
{
    SetVectorMask<float, MaskMode::COUNTER>(0, count);
    BlockReduceSum<float, false>(dst, src, 1, MASK_PLACEHOLDER, 1, 1, 8);
    PipeBarrier<PIPE_V>();
}

}  // namespace reduce_sum

// The sum of 256 elements, `times` times; steps 0: two WholeReduceSum, 1: three BlockReduceSum, 2: one of each.
extern "C" __global__ __aicore__ void sum_256(GM_ADDR x, GM_ADDR z, int32_t times, int32_t steps)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    using namespace reduce_sum;
    constexpr int32_t n = 256;
    GlobalTensor<float> gx;
    GlobalTensor<float> gz;
    gx.SetGlobalBuffer((__gm__ float*)x, n);
    gz.SetGlobalBuffer((__gm__ float*)z, 8);
    LocalTensor<float> in(TPosition::VECIN, 0, n);
    LocalTensor<float> part(TPosition::VECCALC, 4096, n);
    LocalTensor<float> out(TPosition::VECOUT, 8192, 8);
    DataCopy(in, gx, n);
    Duplicate(out, 0.0f, 8);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    PipeBarrier<PIPE_V>();
    for (int32_t i = 0; i < times; ++i) {
        SetMaskCount();
        if (steps == 0) {
            whole(part, in, n);
            whole(out, part, n / 64);
        } else if (steps == 1) {
            blocks(part, in, n);
            blocks(part, part, n / 8);
            blocks(out, part, n / 64);
        } else {
            blocks(part, in, n);
            whole(out, part, n / 8);
        }
        SetMaskNorm();
    }
    ResetMask();
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(gz, out, 8);
    PipeBarrier<PIPE_ALL>();
}

// The sum of a long vector: WholeReduceSum until one element is left, or halving it with Add down to 64 elements first.
extern "C" __global__ __aicore__ void sum_long(GM_ADDR x, GM_ADDR z, int32_t n, bool halve)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    GlobalTensor<float> gx;
    GlobalTensor<float> gz;
    gx.SetGlobalBuffer((__gm__ float*)x, n);
    gz.SetGlobalBuffer((__gm__ float*)z, 8);
    LocalTensor<float> in(TPosition::VECIN, 0, (n + 7) / 8 * 8);
    LocalTensor<float> work[2] = {
        LocalTensor<float>(TPosition::VECOUT, 131072, 4096), LocalTensor<float>(TPosition::VECOUT, 147456, 4096)};
    DataCopy(in, gx, n);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    SetMaskCount();
    LocalTensor<float> src = in;
    int32_t left = n;
    while (halve && left > 64) {
        const int32_t half_length = (left + 15) / 16 * 8;
        SetVectorMask<float, MaskMode::COUNTER>(0, left - half_length);
        // Elements between the two halves stay where they are: the halves are whole blocks, the first the longer.
        Add<float, false>(src, src, src[half_length], MASK_PLACEHOLDER, 1, BinaryRepeatParams());
        PipeBarrier<PIPE_V>();
        left = half_length;
    }
    for (int32_t step = 0; left > 1; ++step) {
        reduce_sum::whole(work[step & 1], src, left);
        left = (left + 63) / 64;
        src = work[step & 1];
    }
    ResetMask();
    SetMaskNorm();
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopyPad(gz, src, DataCopyExtParams(1, sizeof(float), 0, 0, 0));  // the rest of its block was never written
    PipeBarrier<PIPE_ALL>();
}
