// gelu(x) = x / (1 + exp(-1.595769 (x + 0.044715 x^3))) on f32, two buffers.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/02_reg_compute/gelu_high_performance
// (scenario 0): eight vector operations on one tile of two rows, a barrier between each two.
#include "gelu_compute.h"

extern "C" __global__ __aicore__ void gelu(
    GM_ADDR x, GM_ADDR y, int32_t rows, int32_t columns, int32_t share_m, int32_t share_n)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    constexpr uint32_t tile_rows = 2;
    const uint32_t n = columns;
    const uint32_t width = share_n;
    const uint32_t tile = tile_rows * width;
    const uint32_t m_shares = (rows + share_m - 1) / share_m;
    const uint32_t first = GetBlockIdx() % m_shares * share_m;
    const uint32_t mine = rows - first < uint32_t(share_m) ? rows - first : share_m;
    const uint64_t origin = uint64_t(first) * n + GetBlockIdx() / m_shares * width;
    GlobalTensor<float> from;
    GlobalTensor<float> to;
    from.SetGlobalBuffer((__gm__ float*)x + origin);
    to.SetGlobalBuffer((__gm__ float*)y + origin);
    const uint32_t bytes = tile * sizeof(float);
    LocalTensor<float> in[2] = {
        LocalTensor<float>(TPosition::VECCALC, 0, tile), LocalTensor<float>(TPosition::VECCALC, bytes, tile)};
    LocalTensor<float> out[2] = {LocalTensor<float>(TPosition::VECCALC, 2 * bytes, tile),
        LocalTensor<float>(TPosition::VECCALC, 3 * bytes, tile)};

    for (int32_t id = 0; id < 2; ++id) {
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    for (uint32_t row = 0; row < mine; row += tile_rows) {
        const int32_t id = row / tile_rows & 1;
        const uint32_t height = mine - row < tile_rows ? mine - row : tile_rows;
        const uint32_t run = width * sizeof(float);
        const uint32_t gap = (n - width) * sizeof(float);
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopyPad(in[id], from[uint64_t(row) * n], DataCopyExtParams(height, run, gap, 0, 0),
            DataCopyPadExtParams<float>());
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
        gelu_compute(out[id], in[id], height * width);
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopyPad(to[uint64_t(row) * n], out[id], DataCopyExtParams(height, run, 0, gap, 0));
        SetFlag<HardEvent::MTE3_V>(id);
    }
    for (int32_t id = 0; id < 2; ++id) {
        WaitFlag<HardEvent::V_MTE2>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
    }
    PipeBarrier<PIPE_ALL>();
}
