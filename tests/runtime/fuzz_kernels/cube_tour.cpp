// Loads, products and stores of the cube core that the samples do not use; correct as it stands.
#include "kernel_operator.h"

using namespace AscendC;

constexpr FixpipeConfig ROWS = {CO2Layout::ROW_MAJOR, false};

extern "C" __global__ __aicore__ void cube_tour(GM_ADDR a, GM_ADDR b, GM_ADDR c)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint32_t m = 48, n = 32, k = 64;
    TPipe pipe;
    TBuf<TPosition::A1> a_l1_buffer, b_l1_buffer, c_l1_buffer;
    TBuf<TPosition::A2> a_l0_buffer;
    TBuf<TPosition::B2> b_l0_buffer;
    TBuf<TPosition::CO1> c_l0_buffer;
    pipe.InitBuffer(a_l1_buffer, m * k * 2);
    pipe.InitBuffer(b_l1_buffer, n * k * 2);
    pipe.InitBuffer(c_l1_buffer, m * n * 2);
    pipe.InitBuffer(a_l0_buffer, m * k * 2);
    pipe.InitBuffer(b_l0_buffer, n * k * 2);
    pipe.InitBuffer(c_l0_buffer, m * n * 4);
    GlobalTensor<half> a_gm, b_gm, c_gm;
    a_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
    b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    c_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(c));
    LocalTensor<half> a_l1 = a_l1_buffer.Get<half>();
    LocalTensor<half> b_l1 = b_l1_buffer.Get<half>();
    LocalTensor<half> c_l1 = c_l1_buffer.Get<half>();
    LocalTensor<half> a_l0 = a_l0_buffer.Get<half>();
    LocalTensor<half> b_l0 = b_l0_buffer.Get<half>();
    LocalTensor<float> c_l0 = c_l0_buffer.Get<float>();

    InitConstValue(a_l1, {1, m * k * 2 / 32, 0, static_cast<half>(0)});
    PipeBarrier<PIPE_MTE2>();
    DataCopy(a_l1, a_gm, Nd2NzParams(1, m, k, 0, k, m, 1, 0));
    DataCopy(b_l1, b_gm, Nd2NzParams(1, k, n, 0, n, k, 1, 0));
    SetFlag<HardEvent::MTE2_MTE1>(0);
    WaitFlag<HardEvent::MTE2_MTE1>(0);
    const uint8_t pads[4] = {0, 0, 0, 0};
    // From the second half of the boundary on, around its end.
    constexpr uint32_t boundary = 4096;
    SetLoadDataBoundary(boundary);
    LoadData(a_l0, a_l1[boundary / 4], LoadData3DParamsV2<half>(pads, 1, m, k, k, m, 0, 0, 1, 1, 1, 1, 1, 1, false, false, 0));
    SetLoadDataBoundary(0);
    PipeBarrier<PIPE_MTE1>();
    LoadData(a_l0, a_l1, LoadData3DParamsV2<half>(pads, 1, m, k, k, m, 0, 0, 1, 1, 1, 1, 1, 1, false, false, 0));
    LoadData(b_l0, b_l1, LoadData3DParamsV2<half>(pads, 1, k, n, n, k, 0, 0, 1, 1, 1, 1, 1, 1, true, false, 0));
    SetFlag<HardEvent::MTE1_M>(1);
    WaitFlag<HardEvent::MTE1_M>(1);
    MmadParams first(m, n, k, 0, false, true);
    Mmad(c_l0, a_l0, b_l0, first);
    PipeBarrier<PIPE_M>();
    MmadParams again(m, n, k / 2, 0, false, false);
    Mmad(c_l0, a_l0, b_l0, again);
    SetFlag<HardEvent::M_FIX>(2);
    WaitFlag<HardEvent::M_FIX>(2);
    FixpipeParamsV220 store(n, m, m, n, true);
    store.quantPre = QuantMode_t::F322F16;
    Fixpipe<half, float, ROWS>(c_gm[GetBlockIdx() * m * n], c_l0, store);
    FixpipeParamsV220 keep(n, m, m, m, false);
    keep.quantPre = QuantMode_t::F322F16;
    Fixpipe<half, float, CFG_NZ>(c_l1, c_l0, keep);
    SetFlag<HardEvent::FIX_MTE3>(0);
    WaitFlag<HardEvent::FIX_MTE3>(0);
    DataCopy(c_gm[(GetBlockNum() + GetBlockIdx()) * m * n], c_l1, m * n);
}
