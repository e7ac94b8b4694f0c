// D = (A * B) * scale[column] * token[row]: int8 product on the AIC, dequantisation to f16 on its two AIVs.
//
// Structure after catlass examples/12_quant_matmul: tiles of 128 x 256 dealt with a swizzle, int32 tiles through a
// workspace of two stages a core, the K order rotated per core, the epilogue in bands of 32 rows, its UB buffers doubled;
// and, with keep_a, after examples/44_quant_matmul_full_loadA_tla. All sizes are multiples of the tile.
#include "dequantise.h"
#include "matmul_tile.h"

namespace quant_matmul {

constexpr uint32_t stages = 2;
using dequantise::band;
using dequantise::width;
// Flag ids: tile of stage s written, and read.
constexpr int32_t written = 0;
constexpr int32_t read = 2;

struct Arguments {
    GM_ADDR a;
    GM_ADDR b;
    GM_ADDR scale;
    GM_ADDR token;
    GM_ADDR d;
    GM_ADDR workspace;
};

__aicore__ inline uint64_t stage_offset(const MatmulTiling& t, uint32_t stage, uint32_t block)
{
    return uint64_t(stage * GetBlockNum() + block) * t.base_m * width;
}

__aicore__ inline void on_aic(const MatmulTiling& t, const Arguments& given)
{
    GlobalTensor<int8_t> ga;
    GlobalTensor<int8_t> gb;
    GlobalTensor<int32_t> gc;
    ga.SetGlobalBuffer((__gm__ int8_t*)given.a);
    gb.SetGlobalBuffer((__gm__ int8_t*)given.b);
    gc.SetGlobalBuffer((__gm__ int32_t*)given.workspace);
    MatmulTile<int8_t, int32_t, int32_t> tile(t);
    uint32_t i = 0;
    tile.begin();
    for_each_tile(t, GetBlockIdx(), GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        const uint32_t stage = i % stages;
        if (i >= stages) {
            CrossCoreWaitFlag(read + stage);
        }
        tile.run(ga[uint64_t(row) * t.k], t.k, gb[offset_in_b(t, column)], pitch_of_b(t),
            gc[stage_offset(t, stage, GetBlockIdx())], width, rows, columns, t.k);
        CrossCoreSetFlag<2, PIPE_FIX>(written + stage);
        ++i;
    });
    tile.end();
    for (uint32_t left = i < stages ? i : stages; left > 0; --left) {
        CrossCoreWaitFlag(read + (i - left) % stages);
    }
}

__aicore__ inline void on_aiv(const MatmulTiling& t, const Arguments& given)
{
    GlobalTensor<int32_t> gc;
    gc.SetGlobalBuffer((__gm__ int32_t*)given.workspace);
    dequantise::Bands bands(given.scale, given.token, given.d, t.n);
    uint32_t i = 0;
    const uint32_t block = GetBlockIdx() / GetSubBlockNum();
    for_each_tile(t, block, GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t) {
        const uint32_t stage = i % stages;
        CrossCoreWaitFlag(written + stage);
        for (uint32_t r = GetSubBlockIdx() * band; r < rows; r += GetSubBlockNum() * band) {
            bands.run(gc[stage_offset(t, stage, block) + r * width], row + r, column);
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(read + stage);
        ++i;
    });
    bands.end();
}

}  // namespace quant_matmul

extern "C" __global__ __aicore__ void quant_matmul_i8(
    GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR token, GM_ADDR d, GM_ADDR workspace, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    const quant_matmul::Arguments given = {a, b, scale, token, d, workspace};
    if ASCEND_IS_AIC {
        quant_matmul::on_aic(t, given);
    }
    if ASCEND_IS_AIV {
        quant_matmul::on_aiv(t, given);
    }
    PipeBarrier<PIPE_ALL>();
}
