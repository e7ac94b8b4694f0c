// gelu(A * B) with f16 inputs and an f32 result: the AIC writes a tile of C to GM, its two AIVs read half of it each.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/03_fusion_compute/matmul_gelu_high_performance
// (scenario 1). The sample has no flag back to the AIC, since its AIVs are always faster; ours lets the AIC run eight
// tiles ahead, because a cross-core flag must not be set more than 15 times unseen.
#include "gelu_compute.h"
#include "matmul_tile.h"

namespace matmul_gelu {

constexpr int32_t tile_written = 8;
constexpr int32_t tile_done = 9;
constexpr int32_t ahead = 8;

__aicore__ inline void on_aic(const MatmulTiling& t, GM_ADDR a, GM_ADDR b, const GlobalTensor<float>& c)
{
    GlobalTensor<half> ga;
    GlobalTensor<half> gb;
    ga.SetGlobalBuffer((__gm__ half*)a);
    gb.SetGlobalBuffer((__gm__ half*)b);
    MatmulTile<half, float, float> tile(t);
    int32_t unseen = 0;
    tile.begin();
    for_each_tile(t, GetBlockIdx(), GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        if (unseen == ahead) {
            CrossCoreWaitFlag(tile_done);
            --unseen;
        }
        tile.run(ga[uint64_t(row) * t.k], t.k, gb[offset_in_b(t, column)], pitch_of_b(t),
            c[uint64_t(row) * t.n + column], t.n, rows, columns, t.k);
        CrossCoreSetFlag<2, PIPE_FIX>(tile_written);
        ++unseen;
    });
    tile.end();
    for (; unseen > 0; --unseen) {
        CrossCoreWaitFlag(tile_done);
    }
}

__aicore__ inline void on_aiv(const MatmulTiling& t, const GlobalTensor<float>& c)
{
    const uint32_t most = t.base_m / 2 * t.base_n;
    LocalTensor<float> in(TPosition::VECCALC, 0, most);
    LocalTensor<float> out(TPosition::VECCALC, most * uint32_t(sizeof(float)), most);
    SetFlag<HardEvent::V_MTE2>(0);
    SetFlag<HardEvent::MTE3_V>(0);
    for_each_tile(t, GetBlockIdx() / 2, GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        CrossCoreWaitFlag(tile_written);
        const uint32_t half_rows = rows / 2;
        const uint32_t run = columns * sizeof(float);
        const uint32_t gap = (t.n - columns) * uint32_t(sizeof(float));
        const GlobalTensor<float> part = c[uint64_t(row + GetSubBlockIdx() * half_rows) * t.n + column];
        WaitFlag<HardEvent::V_MTE2>(0);
        DataCopyPad(in, part, DataCopyExtParams(half_rows, run, gap, 0, 0), DataCopyPadExtParams<float>());
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
        gelu_compute(out, in, half_rows * columns);
        SetFlag<HardEvent::V_MTE2>(0);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopyPad(part, out, DataCopyExtParams(half_rows, run, 0, gap, 0));
        SetFlag<HardEvent::MTE3_V>(0);
        CrossCoreSetFlag<2, PIPE_MTE3>(tile_done);
    });
    WaitFlag<HardEvent::V_MTE2>(0);
    WaitFlag<HardEvent::MTE3_V>(0);
}

}  // namespace matmul_gelu

extern "C" __global__ __aicore__ void matmul_gelu_f32(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    GlobalTensor<float> gc;
    gc.SetGlobalBuffer((__gm__ float*)c);
    if ASCEND_IS_AIC {
        matmul_gelu::on_aic(t, a, b, gc);
    }
    if ASCEND_IS_AIV {
        matmul_gelu::on_aiv(t, gc);
    }
    PipeBarrier<PIPE_ALL>();
}
