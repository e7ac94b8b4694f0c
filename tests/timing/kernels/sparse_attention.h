// What both kernels of sparse latent attention share: sizes, GM, flags between the cores, and where a chosen position lies.
//
// 128 heads see the same keys, which are the values too (512), with 64 more for their rotated part; positions are chosen by
// an index each and lie in pages of 128.
#pragma once

#include "library_calls.h"
#include "serial_gemm.h"

namespace sparse_attention {

using T = bfloat16_t;

constexpr uint32_t chosen = 2048;
constexpr uint32_t page = 128;
constexpr uint32_t dim = 512;
constexpr uint32_t rope = 64;
constexpr uint32_t entry = dim + rope;
constexpr float scale = 0.5f;

constexpr int32_t keys_gathered = 0;
constexpr int32_t scores_written = 1;
constexpr int32_t weights_written = 2;
constexpr int32_t products_written = 3;

struct Arguments {
    GM_ADDR q;
    GM_ADDR kv;
    GM_ADDR indices;
    GM_ADDR o;
    GM_ADDR pages;
    GM_ADDR workspace;
    int32_t length;  // of the sequence: positions from there on are masked
};

// GM of a block that works on m heads and n positions at a time.
template <uint32_t m, uint32_t n>
struct Gm {
    __aicore__ inline Gm(const Arguments& given, uint32_t block)
    {
        const uint64_t bytes = uint64_t(n) * entry * 2 + m * n * 6 + m * dim * 4;
        const GM_ADDR base = given.workspace + block * bytes;
        q.SetGlobalBuffer((__gm__ T*)given.q + block * m * entry);
        o.SetGlobalBuffer((__gm__ T*)given.o + block * m * dim);
        kv.SetGlobalBuffer((__gm__ T*)given.kv);
        indices.SetGlobalBuffer((__gm__ int32_t*)given.indices);
        pages.SetGlobalBuffer((__gm__ int32_t*)given.pages);
        keys.SetGlobalBuffer((__gm__ T*)base);
        key_ropes.SetGlobalBuffer((__gm__ T*)base + n * dim);
        weights.SetGlobalBuffer((__gm__ T*)base + n * entry);
        scores.SetGlobalBuffer((__gm__ float*)(base + n * entry * 2 + m * n * 2));
        products.SetGlobalBuffer((__gm__ float*)(base + n * entry * 2 + m * n * 6));
    }
    // Where the entry of a position starts in kv; the page is read from GM.
    __aicore__ inline uint64_t place(int32_t position) const
    {
        return (uint64_t(pages.GetValue(position / page)) * page + position % page) * entry;
    }
    GlobalTensor<T> q;
    GlobalTensor<T> kv;
    GlobalTensor<int32_t> indices;
    GlobalTensor<T> o;
    GlobalTensor<int32_t> pages;
    GlobalTensor<T> keys;
    GlobalTensor<T> key_ropes;
    GlobalTensor<T> weights;
    GlobalTensor<float> scores;
    GlobalTensor<float> products;
};

template <HardEvent event>
__aicore__ inline void pass(int32_t id)
{
    SetFlag<event>(id);
    WaitFlag<event>(id);
}

// As many blocks as cores are started; those beyond the `used` that have heads do nothing.
template <class Cube, class Vector>
__aicore__ inline void run(const Arguments& given, int32_t used)
{
    InitSocState();
    if ASCEND_IS_AIC {
        if (GetBlockIdx() < used) {
            Cube cube(given);
            cube.run();
        }
    }
    if ASCEND_IS_AIV {
        if (GetBlockIdx() / 2 < used) {
            Vector vector(given);
            vector.run();
        }
    }
    PipeBarrier<PIPE_ALL>();
}

}  // namespace sparse_attention
