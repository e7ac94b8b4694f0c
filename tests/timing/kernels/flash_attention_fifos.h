// What both kinds of cores of flash_attention.cpp share: sizes, the FIFOs in GM and the flags that guard them.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace flash_attention {

constexpr uint32_t head = 128;
constexpr uint32_t rows = 128;       // of Q in a block
constexpr uint32_t keys = 256;       // in a tile
constexpr uint32_t sub_keys = 128;   // in one matrix product
constexpr uint32_t preload = 4;      // tiles QK and softmax are ahead
constexpr uint32_t depth = 8;        // of a FIFO, in tiles
constexpr uint32_t sub_rows = 64;    // of an AIV
constexpr uint32_t slice_rows = 32;  // softmax works on
constexpr float scale = 0.08838834764831845f;

constexpr int32_t qk_written = 0;
constexpr int32_t qk_read = 1;
constexpr int32_t p_written = 2;
constexpr int32_t p_read = 3;
constexpr int32_t pv_written = 4;
constexpr int32_t pv_read = 5;

// GM workspace of a block: FIFOs of QK (f32), P (f16) and PV (f32).
constexpr uint64_t qk_bytes = uint64_t(depth) * rows * keys * sizeof(float);
constexpr uint64_t p_bytes = uint64_t(depth) * rows * keys * sizeof(half);
constexpr uint64_t pv_bytes = uint64_t(depth) * rows * head * sizeof(float);

struct Fifos {
    __aicore__ inline explicit Fifos(GM_ADDR workspace, uint32_t block)
    {
        const GM_ADDR base = workspace + block * (qk_bytes + p_bytes + pv_bytes);
        qk.SetGlobalBuffer((__gm__ float*)base);
        p.SetGlobalBuffer((__gm__ half*)(base + qk_bytes));
        pv.SetGlobalBuffer((__gm__ float*)(base + qk_bytes + p_bytes));
    }
    GlobalTensor<float> qk;
    GlobalTensor<half> p;
    GlobalTensor<float> pv;
};

// Waits for a free place before tile i is written, if the FIFO has been filled once.
__aicore__ inline void wait_place(uint32_t i, int32_t flag)
{
    if (i >= depth) {
        CrossCoreWaitFlag(flag);
    }
}
// What a producer has not waited for when all tiles are written.
__aicore__ inline void drain(uint32_t tiles, int32_t flag)
{
    for (uint32_t i = 0; i < (tiles < depth ? tiles : depth); ++i) {
        CrossCoreWaitFlag(flag);
    }
}

}  // namespace flash_attention
