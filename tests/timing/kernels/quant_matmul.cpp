// D = (A * B) * scale[column] * token[row]: int8 product on the AIC, dequantisation to f16 on its two AIVs.
//
// Structure after catlass examples/12_quant_matmul: tiles of 128 x 256 dealt with a swizzle, int32 tiles through a
// workspace of two stages a core, the epilogue in bands of 32 rows, its UB buffers doubled. Left out: the K order
// rotated per core (enableShuffleK). All sizes are multiples of the tile.
#include "matmul_tile.h"

namespace quant_matmul {

constexpr uint32_t stages = 2;
constexpr uint32_t width = 256;
constexpr uint32_t band = 32;
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

// The UB of an AIV: two bands of input and output, and what both share.
struct Buffers {
    LocalTensor<int32_t> in[2] = {LocalTensor<int32_t>(TPosition::VECIN, 0, band * width),
        LocalTensor<int32_t>(TPosition::VECIN, 32768, band * width)};
    LocalTensor<half> out[2] = {LocalTensor<half>(TPosition::VECOUT, 65536, band * width),
        LocalTensor<half>(TPosition::VECOUT, 81920, band * width)};
    LocalTensor<half> scale[2] = {
        LocalTensor<half>(TPosition::VECIN, 98304, width), LocalTensor<half>(TPosition::VECIN, 98816, width)};
    LocalTensor<half> token[2] = {
        LocalTensor<half>(TPosition::VECIN, 99328, band), LocalTensor<half>(TPosition::VECIN, 99392, band)};
    LocalTensor<float> value{TPosition::VECCALC, 102400, band * width};
    LocalTensor<float> scale_value{TPosition::VECCALC, 135168, width};
    LocalTensor<float> token_value{TPosition::VECCALC, 136192, band};
    LocalTensor<float> token_blocks{TPosition::VECCALC, 136320, band * 8};
};

__aicore__ inline void dequantise(const Buffers& ub, int32_t id)
{
    Cast(ub.value, ub.in[id], RoundMode::CAST_RINT, band * width);
    Cast(ub.scale_value, ub.scale[id], RoundMode::CAST_NONE, width);
    Cast(ub.token_value, ub.token[id], RoundMode::CAST_NONE, band);
    PipeBarrier<PIPE_V>();
    for (uint32_t i = 0; i < width; i += 64) {
        Mul(ub.value[i], ub.value[i], ub.scale_value[i], 64, band, BinaryRepeatParams(1, 1, 1, 32, 32, 0));
    }
    Brcb(ub.token_blocks, ub.token_value, band / 8, BrcbRepeatParams(1, 8));
    PipeBarrier<PIPE_V>();
    for (uint32_t i = 0; i < width; i += 64) {
        Mul(ub.value[i], ub.value[i], ub.token_blocks, 64, band, BinaryRepeatParams(1, 1, 0, 32, 32, 1));
    }
    PipeBarrier<PIPE_V>();
    Cast(ub.out[id], ub.value, RoundMode::CAST_RINT, band * width);
    PipeBarrier<PIPE_V>();
}

__aicore__ inline void on_aiv(const MatmulTiling& t, const Arguments& given)
{
    GlobalTensor<int32_t> gc;
    GlobalTensor<half> gs;
    GlobalTensor<half> gt;
    GlobalTensor<half> gd;
    gc.SetGlobalBuffer((__gm__ int32_t*)given.workspace);
    gs.SetGlobalBuffer((__gm__ half*)given.scale);
    gt.SetGlobalBuffer((__gm__ half*)given.token);
    gd.SetGlobalBuffer((__gm__ half*)given.d);
    Buffers ub;
    for (int32_t id = 0; id < 2; ++id) {
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    uint32_t i = 0;
    int32_t id = 0;
    const uint32_t block = GetBlockIdx() / GetSubBlockNum();
    for_each_tile(t, block, GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t) {
        const uint32_t stage = i % stages;
        CrossCoreWaitFlag(written + stage);
        for (uint32_t r = GetSubBlockIdx() * band; r < rows; r += GetSubBlockNum() * band) {
            WaitFlag<HardEvent::V_MTE2>(id);
            DataCopy(ub.in[id], gc[stage_offset(t, stage, block) + r * width], band * width);
            DataCopy(ub.scale[id], gs[column], width);
            DataCopy(ub.token[id], gt[row + r], band);
            SetFlag<HardEvent::MTE2_V>(id);
            WaitFlag<HardEvent::MTE2_V>(id);
            WaitFlag<HardEvent::MTE3_V>(id);
            dequantise(ub, id);
            SetFlag<HardEvent::V_MTE2>(id);
            SetFlag<HardEvent::V_MTE3>(id);
            WaitFlag<HardEvent::V_MTE3>(id);
            DataCopy(gd[uint64_t(row + r) * t.n + column], ub.out[id],
                DataCopyParams(band, width / 16, 0, (t.n - width) / 16));
            SetFlag<HardEvent::MTE3_V>(id);
            id ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(read + stage);
        ++i;
    });
    for (int32_t last = 0; last < 2; ++last) {
        WaitFlag<HardEvent::V_MTE2>(last);
        WaitFlag<HardEvent::MTE3_V>(last);
    }
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
