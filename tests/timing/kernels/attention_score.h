// What both kinds of cores of attention_score.cpp share: sizes, flags, and the GM of a block.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace attention_score {

constexpr uint32_t head = 128;
constexpr uint32_t rows = 256;   // of Q in a task: 128 for each AIV
constexpr uint32_t keys = 1024;  // in a step
constexpr uint32_t my_rows = rows / 2;
constexpr uint32_t base = 128;  // side of a product
constexpr float scale = 0.08838834764831845f;

// Flags of a step, for two in flight each.
constexpr int32_t scores_written = 0;
constexpr int32_t weights_written = 2;
constexpr int32_t products_written = 4;

// Two of everything, one for odd steps; `sums` of a task lies row by row, products in column blocks of 16.
struct Gm {
    __aicore__ inline Gm(GM_ADDR workspace, uint32_t block)
    {
        const uint64_t bytes = 2 * (rows * keys * 6 + rows * head * 4) + rows * head * 4;
        const GM_ADDR at = workspace + block * bytes;
        scores.SetGlobalBuffer((__gm__ float*)at);
        weights.SetGlobalBuffer((__gm__ half*)(at + 2 * rows * keys * 4));
        products.SetGlobalBuffer((__gm__ float*)(at + 2 * rows * keys * 6));
        sums.SetGlobalBuffer((__gm__ float*)(at + 2 * (rows * keys * 6 + rows * head * 4)));
    }
    GlobalTensor<float> scores;
    GlobalTensor<half> weights;
    GlobalTensor<float> products;
    GlobalTensor<float> sums;
};

template <HardEvent event>
__aicore__ inline void pass(int32_t id)
{
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

}  // namespace attention_score
