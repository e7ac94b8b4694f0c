// The same f32 Add many times over, its three operands at chosen UB addresses.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/04_memory_access/bank_conflict_ub: 4096
// elements in 64 repeats, 1000 times. The sample has nothing between the Adds, but is compiled with the vendor's
// automatic synchronisation, which puts a barrier between two that write one tile. Its eight scenarios are addresses and
// strides.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void repeated_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t times, int32_t src0,
    int32_t src1, int32_t dst, int32_t src0_block_stride, int32_t src0_repeat_stride)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    constexpr uint32_t elements = 4096;
    GlobalTensor<float> gx;
    GlobalTensor<float> gy;
    GlobalTensor<float> gz;
    gx.SetGlobalBuffer((__gm__ float*)x, elements);
    gy.SetGlobalBuffer((__gm__ float*)y, elements);
    gz.SetGlobalBuffer((__gm__ float*)z, elements);
    LocalTensor<float> a(TPosition::VECCALC, src0, elements);
    LocalTensor<float> b(TPosition::VECCALC, src1, elements);
    LocalTensor<float> c(TPosition::VECCALC, dst, elements);
    DataCopy(a, gx, elements);
    DataCopy(b, gy, elements);
    PipeBarrier<PIPE_ALL>();
    for (int32_t i = 0; i < times; ++i) {
        Add(c, a, b, 64, elements / 64, BinaryRepeatParams(1, src0_block_stride, 1, 8, src0_repeat_stride, 8));
        PipeBarrier<PIPE_V>();
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, c, elements);
    PipeBarrier<PIPE_ALL>();
}
