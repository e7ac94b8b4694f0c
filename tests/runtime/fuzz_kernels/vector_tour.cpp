// One of everything the vector core does, in all forms of saying which lanes; correct as it stands.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void vector_tour(GM_ADDR x, GM_ADDR z, uint32_t count, float factor)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    TPipe pipe;
    TBuf<TPosition::VECIN> input;
    TBuf<TPosition::VECCALC> work, bits, small;
    TBuf<TPosition::VECOUT> output;
    pipe.InitBuffer(input, 4096);
    pipe.InitBuffer(work, 4096);
    pipe.InitBuffer(bits, 512);
    pipe.InitBuffer(small, 1024);
    pipe.InitBuffer(output, 4096);
    GlobalTensor<float> x_gm, z_gm;
    x_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x), count * GetBlockNum());
    z_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z), count * GetBlockNum());
    LocalTensor<float> a = input.Get<float>();
    LocalTensor<float> b = work.Get<float>();
    LocalTensor<half> h = small.Get<half>();
    LocalTensor<uint8_t> mask = bits.Get<uint8_t>();
    LocalTensor<float> out = output.Get<float>();
    uint64_t pattern[2] = {0x5555555555555555, 0};

    DataCopy(a, x_gm[GetBlockIdx() * count], count);
    SetFlag<HardEvent::MTE2_V>(0);
    WaitFlag<HardEvent::MTE2_V>(0);
    Muls(b, a, factor, 64, count / 64, {1, 1, 8, 8});
    PipeBarrier<PIPE_V>();
    Exp(b, b, count);
    PipeBarrier<PIPE_V>();
    Add(b, b, a, pattern, 4, {1, 1, 1, 8, 8, 8});
    PipeBarrier<PIPE_V>();
    Cast(h, b, RoundMode::CAST_RINT, 64, 8, {1, 1, 4, 8});
    PipeBarrier<PIPE_V>();
    Abs(h, h, 512);
    PipeBarrier<PIPE_V>();
    Cast(b, h, RoundMode::CAST_NONE, 512);
    PipeBarrier<PIPE_V>();
    Compare(mask, a, b, CMPMODE::LT, 512);
    PipeBarrier<PIPE_V>();
    Select(out, mask, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 512);
    PipeBarrier<PIPE_V>();
    WholeReduceSum(b, out, 64, 8, 1, 1, 8);
    PipeBarrier<PIPE_V>();
    BlockReduceMax(b[64], out, 8, 64, 1, 1, 8);
    PipeBarrier<PIPE_V>();
    Brcb(b[128], b, 1, {1, 8});
    PipeBarrier<PIPE_V>();
    Duplicate(b[256], static_cast<float>(2), 64, 2, 1, 8);
    PipeBarrier<PIPE_V>();
    Copy(b[384], b[256], 64, 2, {1, 1, 8, 8});
    PipeBarrier<PIPE_V>();
    SetMaskCount();
    SetVectorMask<float, MaskMode::COUNTER>(100);
    Max<float, false>(b, b, out, MASK_PLACEHOLDER, 1, {1, 1, 1, 8, 8, 8});
    SetMaskNorm();
    ResetMask();
    PipeBarrier<PIPE_V>();
    Div(out, out, b, 64, 2, {1, 1, 1, 8, 8, 8});
    PipeBarrier<PIPE_V>();
    Axpy(out, b, factor, count);
    SetFlag<HardEvent::V_S>(1);
    WaitFlag<HardEvent::V_S>(1);
    const float found = out.GetValue(3);
    out.SetValue(4, found + b.GetValue(5));
    AscendC::printf("block %d has %f\n", static_cast<int>(GetBlockIdx()), found);
    DumpTensor(out, 7, 8);
    SetFlag<HardEvent::S_MTE3>(1);
    WaitFlag<HardEvent::S_MTE3>(1);
    SetAtomicAdd<float>();
    DataCopyPad(z_gm[GetBlockIdx() * count], out, {2, 100, 0, 28, 0});
    SetAtomicNone();
    PipeBarrier<PIPE_MTE3>();
    DataCopy(z_gm[GetBlockIdx() * count + 64], out[64], {4, 8, 6, 4});
}
