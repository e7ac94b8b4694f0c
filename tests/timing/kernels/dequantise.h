// int32 sums to f16 on an AIV: times a scale for each column and one for each row, in bands of 32 rows of 256 columns.
//
// Structure after catlass' EpilogueAtlasA2PerTokenDequant: what a band needs is loaded with it, all buffers are doubled.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace dequantise {

constexpr uint32_t width = 256;
constexpr uint32_t band = 32;

class Bands {
public:
    __aicore__ inline Bands(GM_ADDR scale, GM_ADDR token, GM_ADDR d, uint32_t columns) : n(columns)
    {
        gs.SetGlobalBuffer((__gm__ half*)scale);
        gt.SetGlobalBuffer((__gm__ half*)token);
        gd.SetGlobalBuffer((__gm__ half*)d);
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::V_MTE2>(i);
            SetFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void end()
    {
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::V_MTE2>(i);
            WaitFlag<HardEvent::MTE3_V>(i);
        }
    }
    // The band at (row, column) of D, whose sums lie at `sums` without gaps.
    __aicore__ inline void run(const GlobalTensor<int32_t>& sums, uint32_t row, uint32_t column)
    {
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopy(in[id], sums, band * width);
        DataCopy(scale[id], gs[column], width);
        DataCopy(token[id], gt[row], band);
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
        compute();
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(gd[uint64_t(row) * n + column], out[id], DataCopyParams(band, width / 16, 0, (n - width) / 16));
        SetFlag<HardEvent::MTE3_V>(id);
        id ^= 1;
    }

private:
    __aicore__ inline void compute()
    {
        Cast(value, in[id], RoundMode::CAST_RINT, band * width);
        Cast(scale_value, scale[id], RoundMode::CAST_NONE, width);
        Cast(token_value, token[id], RoundMode::CAST_NONE, band);
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < width; i += 64) {
            Mul(value[i], value[i], scale_value[i], 64, band, BinaryRepeatParams(1, 1, 1, 32, 32, 0));
        }
        Brcb(token_blocks, token_value, band / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < width; i += 64) {
            Mul(value[i], value[i], token_blocks, 64, band, BinaryRepeatParams(1, 1, 0, 32, 32, 1));
        }
        PipeBarrier<PIPE_V>();
        Cast(out[id], value, RoundMode::CAST_RINT, band * width);
        PipeBarrier<PIPE_V>();
    }

    uint32_t n;
    GlobalTensor<half> gs;
    GlobalTensor<half> gt;
    GlobalTensor<half> gd;
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
    int32_t id = 0;
};

}  // namespace dequantise
