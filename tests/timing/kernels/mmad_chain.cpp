// A chain of Mmads that accumulate on one tile of L0C, with nothing between them but the Mmads.
//
// The measurement of asc-devkit docs/zh/api/.../Mmad计算关键特性说明/UnitFlag.md: m x n x 512 in 8 Mmads. The operands
// stay in L0 (every Mmad of the chain reads the same), since only PIPE_M is measured.
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void mmad_chain(GM_ADDR a, GM_ADDR b, GM_ADDR c, int32_t m, int32_t n, int32_t times)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    constexpr uint32_t k = 64;
    GlobalTensor<half> ga;
    GlobalTensor<half> gb;
    GlobalTensor<float> gc;
    ga.SetGlobalBuffer((__gm__ half*)a, m * k);
    gb.SetGlobalBuffer((__gm__ half*)b, n * k);
    gc.SetGlobalBuffer((__gm__ float*)c, m * n);
    LocalTensor<half> a1(TPosition::A1, 0, m * k);
    LocalTensor<half> b1(TPosition::B1, 65536, n * k);
    LocalTensor<half> a2(TPosition::A2, 0, m * k);
    LocalTensor<half> b2(TPosition::B2, 0, n * k);
    LocalTensor<float> c0(TPosition::CO1, 0, m * n);
    DataCopy(a1, ga, Nd2NzParams(1, m, k, 0, k, m, 1, 0));
    DataCopy(b1, gb, Nd2NzParams(1, n, k, 0, k, n, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    LoadData3DParamsV2<half> from;
    from.l1H = 1;
    from.l1W = m;
    from.channelSize = k;
    from.kExtension = k;
    from.mExtension = m;
    LoadData(a2, a1, from);
    LoadData2DParams whole;
    whole.repeatTimes = n * k / 256;
    whole.srcStride = 1;
    LoadData(b2, b1, whole);
    SetFlag<HardEvent::MTE1_M>(0);
    WaitFlag<HardEvent::MTE1_M>(0);
    MmadParams p;
    p.m = m;
    p.n = n;
    p.k = k;
    for (int32_t i = 0; i < times; ++i) {
        p.cmatrixInitVal = i == 0;
        Mmad(c0, a2, b2, p);
    }
    SetFlag<HardEvent::M_FIX>(0);
    WaitFlag<HardEvent::M_FIX>(0);
    FixpipeParamsV220 out;
    out.nSize = n;
    out.mSize = m;
    out.srcStride = m;
    out.dstStride = n;
    Fixpipe(gc, c0, out);
    PipeBarrier<PIPE_ALL>();
}
