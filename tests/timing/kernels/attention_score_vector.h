// An AIV of attention_score.cpp: the softmax of a step in pieces of 8 rows, then the sum up to the step before.
#pragma once

#include "attention_score.h"

namespace attention_score {

class Vector {
public:
    __aicore__ inline Vector(GM_ADDR o, GM_ADDR workspace) : gm(workspace, GetBlockIdx() / 2)
    {
        go.SetGlobalBuffer((__gm__ half*)o + (uint64_t(GetBlockIdx() / 2) * rows + GetSubBlockIdx() * my_rows) * head);
    }
    __aicore__ inline void run(uint32_t steps)
    {
        for (uint32_t i = 0; i <= steps; ++i) {
            if (i < steps) {
                CrossCoreWaitFlag(scores_written + i % 2);
                softmax(i);
                SetFlag<HardEvent::MTE3_MTE2>(1);
                CrossCoreSetFlag<2, PIPE_MTE3>(weights_written + i % 2);
            }
            if (i > 0) {
                CrossCoreWaitFlag(products_written + (i - 1) % 2);
            }
            if (i < steps) {
                WaitFlag<HardEvent::MTE3_MTE2>(1);
            }
            if (i > 0) {
                accumulate(i - 1, steps);
            }
        }
    }

private:
    static constexpr uint32_t piece = 8;         // rows of a softmax
    static constexpr uint32_t part = 64;         // rows of an accumulation
    static constexpr uint32_t all = piece * keys;

    static __aicore__ inline void done() { PipeBarrier<PIPE_V>(); }
    // to[row] of the eight rows of x: [8][1024] to [8][128], [8][16], [8][8] and [8].
    template <bool maximum>
    __aicore__ inline void reduce(const LocalTensor<float>& to)
    {
        const BinaryRepeatParams halves(1, 2, 2, 8, 16, 16);
        if constexpr (maximum) {
            BlockReduceMax(work, x, 128, 64, 1, 1, 8);
            done();
            BlockReduceMax(work, work, 16, 64, 1, 1, 8);
            done();
            Max(work[128], work, work[8], 64, 1, halves);
            done();
            BlockReduceMax(to, work[128], 1, 64, 1, 1, 8);
        } else {
            BlockReduceSum(work, x, 128, 64, 1, 1, 8);
            done();
            BlockReduceSum(work, work, 16, 64, 1, 1, 8);
            done();
            Add(work[128], work, work[8], 64, 1, halves);
            done();
            BlockReduceSum(to, work[128], 1, 64, 1, 1, 8);
        }
        done();
    }
    // The library's SoftmaxFlashV2 on eight rows: x to exp(x - maximum), with what is kept of each row, a block each.
    __aicore__ inline void exponentials(bool first, const LocalTensor<float>& top, const LocalTensor<float>& total, const LocalTensor<float>& factor)
    {
        reduce<true>(small);
        Brcb(work, small, 1, BrcbRepeatParams(1, 8));
        done();
        if (first) {
            Copy(top, work, 64, 1, CopyRepeatParams(1, 1, 8, 8));
        } else {
            Copy(small, top, 64, 1, CopyRepeatParams(1, 1, 8, 8));
            done();
            Max(top, small, work, 64, 1, BinaryRepeatParams());
        }
        done();
        for (uint32_t j = 0; j < keys; j += 64) {
            Sub(x[j], x[j], top, 64, piece, BinaryRepeatParams(1, 1, 0, 128, 128, 1));
        }
        if (!first) {
            Sub(small, small, top, 64, 1, BinaryRepeatParams());
            done();
            Exp(factor, small, 64, 1, UnaryRepeatParams());
        }
        done();
        Exp(x, x, all);
        done();
        reduce<false>(small);
        Brcb(work, small, 1, BrcbRepeatParams(1, 8));
        done();
        if (first) {
            Copy(total, work, 64, 1, CopyRepeatParams(1, 1, 8, 8));
        } else {
            Mul(total, factor, total, 64, 1, BinaryRepeatParams());
            done();
            Add(total, total, work, 64, 1, BinaryRepeatParams());
        }
    }
    __aicore__ inline void softmax(uint32_t step)
    {
        const uint32_t mine = GetSubBlockIdx() * my_rows;
        for (uint32_t r = 0; r < my_rows; r += piece) {
            if (r == 0) {
                SetFlag<HardEvent::V_MTE2>(0);
            }
            WaitFlag<HardEvent::V_MTE2>(0);
            DataCopy(in, gm.scores[(uint64_t(step % 2) * rows + mine + r) * keys], all);
            pass<HardEvent::MTE2_V>(0);
            done();
            Muls(x, in, scale, all);
            if (r + piece < my_rows) {
                SetFlag<HardEvent::V_MTE2>(0);
            }
            done();
            exponentials(step == 0, tops[r * 8], totals[r * 8], factors[(step % 2 * my_rows + r) * 8]);
            if (r > 0) {
                WaitFlag<HardEvent::MTE3_V>(0);
            }
            done();
            Cast(narrow, x, RoundMode::CAST_ROUND, all);
            pass<HardEvent::V_MTE3>(0);
            done();
            // Column blocks nine rows apart, so that their banks differ.
            for (uint32_t j = 0; j < keys; j += 128) {
                Copy(blocks[j / 16 * 9 * 16], narrow[j], 128, piece, CopyRepeatParams(9, 1, 1, 64));
            }
            pass<HardEvent::V_MTE3>(0);
            DataCopy(gm.weights[uint64_t(step % 2) * keys * rows + (mine + r) * 16], blocks, DataCopyParams(keys / 16, piece, 1, rows - piece));
            if (r + piece < my_rows) {
                SetFlag<HardEvent::MTE3_V>(0);
            }
        }
    }
    // Each row of `to` times, or divided by, the element that fills its block.
    template <bool divide>
    __aicore__ inline void by_rows(const LocalTensor<float>& to, const LocalTensor<float>& by)
    {
        done();
        for (uint32_t j = 0; j < head; j += 64) {
            const BinaryRepeatParams each_row(1, 1, 0, 16, 16, 1);
            if constexpr (divide) {
                Div(to[j], to[j], by, 64, part, each_row);
            } else {
                Mul(to[j], to[j], by, 64, part, each_row);
            }
        }
        done();
    }
    __aicore__ inline void accumulate(uint32_t step, uint32_t steps)
    {
        const uint32_t mine = GetSubBlockIdx() * my_rows;
        for (uint32_t r = 0; r < my_rows; r += part) {
            pass<HardEvent::MTE3_MTE2>(0);
            pass<HardEvent::V_MTE2>(1);
            DataCopy(in, gm.products[uint64_t(step % 2) * rows * head + (mine + r) * 16], DataCopyParams(head / 16, part * 2, (rows - part) * 2, 0));
            pass<HardEvent::MTE2_V>(1);
            for (uint32_t j = 0; j < head / 16; ++j) {
                Copy(work[j * 16], in[j * part * 16], 16, part, CopyRepeatParams(1, 1, 16, 2));
            }
            done();
            if (step > 0) {
                pass<HardEvent::MTE3_MTE2>(0);
                DataCopy(sum, gm.sums[(mine + r) * head], part * head);
            }
            pass<HardEvent::MTE2_V>(1);
            if (step == 0) {
                Adds(sum, work, 0.0f, part * head);
            } else {
                by_rows<false>(sum, factors[(step % 2 * my_rows + r) * 8]);
                Add(sum, sum, work, part * head);
            }
            if (step + 1 == steps) {
                by_rows<true>(sum, totals[r * 8]);
                Cast(narrow, sum, RoundMode::CAST_ROUND, part * head);
                pass<HardEvent::V_MTE3>(0);
                DataCopy(go[r * head], narrow, part * head);
            } else {
                pass<HardEvent::V_MTE3>(0);
                DataCopy(gm.sums[(mine + r) * head], sum, part * head);
            }
            pass<HardEvent::MTE3_V>(1);
        }
    }

    Gm gm;
    GlobalTensor<half> go;
    LocalTensor<float> in{TPosition::VECIN, 0, all};
    LocalTensor<float> x{TPosition::VECCALC, 32768, all};
    LocalTensor<float> work{TPosition::VECCALC, 65536, all};
    LocalTensor<half> narrow{TPosition::VECOUT, 98304, all};
    LocalTensor<half> blocks{TPosition::VECOUT, 114688, keys * 9};
    LocalTensor<float> sum{TPosition::VECOUT, 114688, part * head};
    LocalTensor<float> tops{TPosition::VECCALC, 147456, my_rows * 8};
    LocalTensor<float> totals{TPosition::VECCALC, 151552, my_rows * 8};
    LocalTensor<float> factors{TPosition::VECCALC, 155648, 2 * my_rows * 8};
    LocalTensor<float> small{TPosition::VECCALC, 163840, 64};
};

}  // namespace attention_score
