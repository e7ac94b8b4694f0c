// An AIV of flash_attention.cpp: the softmax of Q K^T and the rescaled sum of P V.
#pragma once

#include "flash_attention_fifos.h"

namespace flash_attention {

// An AIV: 64 rows of the block, softmax in two slices of 32.
class Vector {
public:
    __aicore__ inline Vector(GM_ADDR o, GM_ADDR workspace) : fifos(workspace, GetBlockIdx() / 2)
    {
        go.SetGlobalBuffer(
            (__gm__ float*)o + (uint64_t(GetBlockIdx() / 2) * rows + GetSubBlockIdx() * sub_rows) * head);
    }
    __aicore__ inline void run(uint32_t tiles)
    {
        for (int32_t id = 0; id < 2; ++id) {
            SetFlag<HardEvent::V_MTE2>(id);
            SetFlag<HardEvent::MTE3_V>(id);
        }
        for (uint32_t i = 0; i < preload && i < tiles; ++i) {
            softmax(i);
        }
        for (uint32_t i = 0; i < tiles; ++i) {
            if (i + preload < tiles) {
                softmax(i + preload);
            }
            accumulate(i, tiles);
        }
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::V_MTE2>(id);
            WaitFlag<HardEvent::MTE3_V>(id);
        }
        drain(tiles, p_read);
    }

private:
    // dst[row] = op over the 256 columns of src, spread over one block a row in `blocks`.
    template <bool maximum>
    __aicore__ inline void reduce_rows(const LocalTensor<float>& dst, const LocalTensor<float>& src)
    {
        const BinaryRepeatParams fold(1, 1, 1, 16, 32, 32);
        const BinaryRepeatParams again(1, 1, 1, 16, 16, 16);
        for (uint32_t j = 0; j < 128; j += 64) {
            if constexpr (maximum) {
                Max(folded[j], src[j], src[128 + j], 64, slice_rows, fold);
            } else {
                Add(folded[j], src[j], src[128 + j], 64, slice_rows, fold);
            }
        }
        PipeBarrier<PIPE_V>();
        if constexpr (maximum) {
            Max(folded, folded, folded[64], 64, slice_rows, again);
            PipeBarrier<PIPE_V>();
            WholeReduceMax(dst, folded, 64, slice_rows, 1, 1, 16, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            Add(folded, folded, folded[64], 64, slice_rows, again);
            PipeBarrier<PIPE_V>();
            WholeReduceSum(dst, folded, 64, slice_rows, 1, 1, 16);
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void softmax(uint32_t i)
    {
        CrossCoreWaitFlag(qk_written);
        wait_place(i, p_read);
        for (uint32_t slice = 0; slice < 2; ++slice) {
            const uint32_t first = slice * slice_rows;
            const uint64_t place = uint64_t(i % depth * rows + GetSubBlockIdx() * sub_rows + first) * keys;
            const LocalTensor<float> x = in[buffer];
            WaitFlag<HardEvent::V_MTE2>(buffer);
            DataCopy(x, fifos.qk[place], slice_rows * keys);
            SetFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE2_V>(buffer);
            WaitFlag<HardEvent::MTE3_V>(buffer);
            exponentials(x, first, i == 0, factor[i % (preload + 1)][first]);
            Cast(p[buffer], x, RoundMode::CAST_ROUND, slice_rows * keys);
            SetFlag<HardEvent::V_MTE2>(buffer);
            SetFlag<HardEvent::V_MTE3>(buffer);
            WaitFlag<HardEvent::V_MTE3>(buffer);
            DataCopy(fifos.p[place], p[buffer], slice_rows * keys);
            SetFlag<HardEvent::MTE3_V>(buffer);
            buffer ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_MTE2>(qk_read);
        CrossCoreSetFlag<2, PIPE_MTE3>(p_written);
    }
    // x = exp(scale (x - maximum)), with the running maximum and sum; `rescale` = exp(scale (old maximum - new)).
    __aicore__ inline void exponentials(
        const LocalTensor<float>& x, uint32_t first, bool initial, const LocalTensor<float>& rescale)
    {
        const LocalTensor<float> top = maximum[first];
        const LocalTensor<float> total = sum[first];
        reduce_rows<true>(local, x);
        if (!initial) {
            Max(local, local, top, slice_rows);
            PipeBarrier<PIPE_V>();
            Sub(rescale, top, local, slice_rows);
            PipeBarrier<PIPE_V>();
            Muls(rescale, rescale, scale, slice_rows);
            PipeBarrier<PIPE_V>();
            Exp(rescale, rescale, slice_rows);
        }
        Adds(top, local, 0.0f, slice_rows);
        Brcb(blocks, local, slice_rows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < keys; j += 64) {
            Sub(x[j], x[j], blocks, 64, slice_rows, BinaryRepeatParams(1, 1, 0, 32, 32, 1));
        }
        PipeBarrier<PIPE_V>();
        Muls(x, x, scale, slice_rows * keys);
        PipeBarrier<PIPE_V>();
        Exp(x, x, slice_rows * keys);
        PipeBarrier<PIPE_V>();
        reduce_rows<false>(local, x);
        if (initial) {
            Adds(total, local, 0.0f, slice_rows);
        } else {
            Mul(total, total, rescale, slice_rows);
            PipeBarrier<PIPE_V>();
            Add(total, total, local, slice_rows);
        }
        PipeBarrier<PIPE_V>();
    }
    // Every row of `to` times (or divided by) its element of `by`.
    template <bool divide>
    __aicore__ inline void scale_rows(const LocalTensor<float>& to, const LocalTensor<float>& by)
    {
        Brcb(blocks, by, sub_rows / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < head; j += 64) {
            const BinaryRepeatParams each_row(1, 1, 0, 16, 16, 1);
            if constexpr (divide) {
                Div(to[j], to[j], blocks, 64, sub_rows, each_row);
            } else {
                Mul(to[j], to[j], blocks, 64, sub_rows, each_row);
            }
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void accumulate(uint32_t i, uint32_t tiles)
    {
        CrossCoreWaitFlag(pv_written);
        const LocalTensor<float> x = in[buffer];
        WaitFlag<HardEvent::V_MTE2>(buffer);
        DataCopy(x, fifos.pv[uint64_t(i % depth * rows + GetSubBlockIdx() * sub_rows) * head], sub_rows * head);
        CrossCoreSetFlag<2, PIPE_MTE2>(pv_read);
        SetFlag<HardEvent::MTE2_V>(buffer);
        WaitFlag<HardEvent::MTE2_V>(buffer);
        if (i == 0) {
            Adds(result, x, 0.0f, sub_rows * head);
        } else {
            scale_rows<false>(result, factor[i % (preload + 1)]);
            Add(result, result, x, sub_rows * head);
        }
        PipeBarrier<PIPE_V>();
        SetFlag<HardEvent::V_MTE2>(buffer);
        buffer ^= 1;
        if (i + 1 == tiles) {
            scale_rows<true>(result, sum);
            SetFlag<HardEvent::V_MTE3>(2);
            WaitFlag<HardEvent::V_MTE3>(2);
            DataCopy(go, result, sub_rows * head);
        }
    }

    Fifos fifos;
    GlobalTensor<float> go;
    LocalTensor<float> in[2] = {LocalTensor<float>(TPosition::VECIN, 0, 8192),
        LocalTensor<float>(TPosition::VECIN, 32768, 8192)};
    LocalTensor<half> p[2] = {
        LocalTensor<half>(TPosition::VECOUT, 65536, 8192), LocalTensor<half>(TPosition::VECOUT, 81920, 8192)};
    LocalTensor<float> result{TPosition::VECOUT, 98304, sub_rows * head};
    LocalTensor<float> folded{TPosition::VECCALC, 131072, slice_rows * 128};
    LocalTensor<float> blocks{TPosition::VECCALC, 147456, sub_rows * 8};
    LocalTensor<float> local{TPosition::VECCALC, 149504, slice_rows};
    LocalTensor<float> maximum{TPosition::VECCALC, 149760, sub_rows};
    LocalTensor<float> sum{TPosition::VECCALC, 150016, sub_rows};
    LocalTensor<float> factor[preload + 1] = {LocalTensor<float>(TPosition::VECCALC, 150272, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 150528, sub_rows), LocalTensor<float>(TPosition::VECCALC, 150784, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 151040, sub_rows),
        LocalTensor<float>(TPosition::VECCALC, 151296, sub_rows)};
    int32_t buffer = 0;
};

}  // namespace flash_attention
