// The first half of hc_pre.cpp: x times fn^T and each token's sum of squares, the depth dealt to the cores.
#pragma once

#include "kernel_operator.h"
using namespace AscendC;

namespace hc_pre {

constexpr uint32_t streams = 4;
constexpr uint32_t columns = 24;  // of the product: pre, post, and comb with its 4 x 4
constexpr uint32_t pitch = 128;   // of a token's product in GM
constexpr uint32_t turn = 1024;   // elements of the depth an AIV converts at once
constexpr uint32_t bunch = 16;    // tokens, likewise
constexpr uint32_t slice = 32;    // of the depth in L0
constexpr int32_t converted = 8;
constexpr int32_t taken = 9;
constexpr int32_t all_aics = 0;
constexpr int32_t products_done = 1;

struct Problem {
    GM_ADDR x;
    GM_ADDR fn;
    GM_ADDR scale;
    GM_ADDR base;
    GM_ADDR y;
    GM_ADDR post;
    GM_ADDR comb;
    GM_ADDR wide_x;    // [core][2][tokens][turn], f32
    GM_ADDR products;  // [part][tokens][pitch]
    GM_ADDR squares;   // [part][tokens][16]: a row of x x^T of its 16 tokens
    uint32_t tokens;   // a multiple of 16, at most 256
    uint32_t d;
    uint32_t depth;  // of a core's part
    uint32_t parts;
};

__aicore__ inline uint32_t part_depth(const Problem& p, uint32_t part)
{
    const uint32_t left = streams * p.d - part * p.depth;
    return left < p.depth ? left : p.depth;
}

// An AIV: half of the tokens from bf16 to f32, through GM.
__aicore__ inline void convert(const Problem& p)
{
    const uint32_t part = GetBlockIdx() / 2;
    if (part >= p.parts) {
        return;
    }
    GlobalTensor<bfloat16_t> gx;
    GlobalTensor<float> wide;
    gx.SetGlobalBuffer((__gm__ bfloat16_t*)p.x);
    wide.SetGlobalBuffer((__gm__ float*)p.wide_x + uint64_t(part) * 2 * p.tokens * turn);
    const uint32_t k = streams * p.d;
    const uint32_t mine = p.tokens / 2;
    const uint32_t depth = part_depth(p, part);
    for (int32_t i = 0; i < 2; ++i) {
        SetFlag<HardEvent::V_MTE2>(i);
        SetFlag<HardEvent::MTE3_V>(i);
    }
    int32_t id = 0;
    uint32_t round = 0;
    for (uint32_t at = 0; at < depth; at += turn) {
        const uint32_t width = depth - at < turn ? depth - at : turn;
        CrossCoreWaitFlag(taken);
        for (uint32_t first = 0; first < mine; first += bunch) {
            const uint32_t token = GetSubBlockIdx() * mine + first;
            const uint32_t count = mine - first < bunch ? mine - first : bunch;
            const LocalTensor<bfloat16_t> in(TPosition::VECIN, id * bunch * turn * 2, bunch * turn);
            const LocalTensor<float> out(TPosition::VECOUT, 65536 + id * bunch * turn * 4, bunch * turn);
            WaitFlag<HardEvent::V_MTE2>(id);
            DataCopyPad(in, gx[uint64_t(token) * k + part * p.depth + at], DataCopyExtParams(count, width * 2, (k - width) * 2, 0, 0),
                DataCopyPadExtParams<bfloat16_t>());
            SetFlag<HardEvent::MTE2_V>(id);
            WaitFlag<HardEvent::MTE2_V>(id);
            WaitFlag<HardEvent::MTE3_V>(id);
            for (uint32_t i = 0; i < count; ++i) {
                Cast(out[i * width], in[i * width], RoundMode::CAST_NONE, width);
            }
            PipeBarrier<PIPE_V>();
            SetFlag<HardEvent::V_MTE2>(id);
            SetFlag<HardEvent::V_MTE3>(id);
            WaitFlag<HardEvent::V_MTE3>(id);
            DataCopyPad(wide[(uint64_t(round % 2) * p.tokens + token) * turn], out, DataCopyExtParams(count, width * 4, 0, (turn - width) * 4, 0));
            SetFlag<HardEvent::MTE3_V>(id);
            id ^= 1;
        }
        CrossCoreSetFlag<2, PIPE_MTE3>(converted);
        ++round;
    }
    for (int32_t i = 0; i < 2; ++i) {
        WaitFlag<HardEvent::V_MTE2>(i);
        WaitFlag<HardEvent::MTE3_V>(i);
        CrossCoreWaitFlag(taken);
    }
}

// An AIC: both products of its part of the depth, in slices of 32; L1 and L0 doubled.
class Cube {
public:
    __aicore__ inline explicit Cube(const Problem& problem) : p(problem), part(GetBlockIdx())
    {
        fn.SetGlobalBuffer((__gm__ float*)p.fn + part * p.depth);
        wide.SetGlobalBuffer((__gm__ float*)p.wide_x + uint64_t(part) * 2 * p.tokens * turn);
        products.SetGlobalBuffer((__gm__ float*)p.products + uint64_t(part) * p.tokens * pitch);
        squares.SetGlobalBuffer((__gm__ float*)p.squares + uint64_t(part) * p.tokens * 16);
        const uint32_t fits = 32768 / p.tokens < 1024 ? 32768 / p.tokens : 1024;
        chunk = fits / 128 * 128;
    }
    __aicore__ inline void run()
    {
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::MTE1_MTE2>(i);
            SetFlag<HardEvent::MTE1_MTE2>(2 + i);
            SetFlag<HardEvent::M_MTE1>(i);
            SetFlag<HardEvent::M_MTE1>(2 + i);
            CrossCoreSetFlag<2, PIPE_FIX>(taken);
        }
        const uint32_t depth = part_depth(p, part);
        uint32_t round = 0;
        for (uint32_t at = 0; at < depth; at += turn) {
            const uint32_t width = depth - at < turn ? depth - at : turn;
            WaitFlag<HardEvent::MTE1_MTE2>(2 + round % 2);
            DataCopy(b1[round % 2], fn[at], Nd2NzParams(1, columns, width, 0, streams * p.d, 32, 1, 0));
            CrossCoreWaitFlag(converted);
            for (uint32_t first = 0; first < width; first += chunk) {
                const uint32_t some = width - first < chunk ? width - first : chunk;
                WaitFlag<HardEvent::MTE1_MTE2>(l1);
                DataCopy(a1[l1], wide[uint64_t(round % 2) * p.tokens * turn + first], Nd2NzParams(1, p.tokens, some, 0, turn, p.tokens, 1, 0));
                SetFlag<HardEvent::MTE2_MTE1>(l1);
                WaitFlag<HardEvent::MTE2_MTE1>(l1);
                for (uint32_t k = 0; k < some; k += slice) {
                    multiply(k, b1[round % 2][(first + k) * 32], at + first + k == 0);
                }
                SetFlag<HardEvent::MTE1_MTE2>(l1);
                l1 ^= 1;
            }
            SetFlag<HardEvent::MTE1_MTE2>(2 + round % 2);
            if (at + turn >= depth) {
                store();
            }
            CrossCoreSetFlag<2, PIPE_FIX>(taken);
            ++round;
        }
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::MTE1_MTE2>(i);
            WaitFlag<HardEvent::MTE1_MTE2>(2 + i);
            WaitFlag<HardEvent::M_MTE1>(i);
            WaitFlag<HardEvent::M_MTE1>(2 + i);
        }
    }

private:
    __aicore__ inline void to_multiply(int32_t id)
    {
        SetFlag<HardEvent::MTE1_M>(id);
        WaitFlag<HardEvent::MTE1_M>(id);
    }
    // Tokens in fractals of 16 x 8, those of 16 tokens together.
    template <class L0>
    __aicore__ inline void load_tokens(const L0& to, uint32_t k)
    {
        LoadData2DParams along;
        along.repeatTimes = slice / 8;
        along.srcStride = p.tokens / 16;
        for (uint32_t i = 0; i < p.tokens / 16; ++i) {
            LoadData(to[i * 16 * slice], a1[l1][k * p.tokens + i * 128], along);
        }
    }
    __aicore__ inline void multiply(uint32_t k, const LocalTensor<float>& b, bool first)
    {
        WaitFlag<HardEvent::M_MTE1>(l0a);
        load_tokens(a2[l0a], k);
        WaitFlag<HardEvent::M_MTE1>(2 + l0b);
        load_tokens(b2[l0b], k);
        to_multiply(0);
        MmadParams square;
        square.m = 16;
        square.n = 16;
        square.k = slice;
        square.cmatrixInitVal = first;
        for (uint32_t i = 0; i < p.tokens / 16; ++i) {
            Mmad(c_squares[i * 256], a2[l0a][i * 16 * slice], b2[l0b][i * 16 * slice], square);
        }
        SetFlag<HardEvent::M_MTE1>(2 + l0b);
        l0b ^= 1;
        WaitFlag<HardEvent::M_MTE1>(2 + l0b);
        LoadData2DParams whole;
        whole.repeatTimes = 2 * slice / 8;
        whole.srcStride = 1;
        LoadData(b2[l0b], b, whole);
        to_multiply(1);
        SetHF32Mode(true);
        MmadParams product;
        product.m = p.tokens;
        product.n = columns;
        product.k = slice;
        product.cmatrixInitVal = first;
        Mmad(c_products, a2[l0a], b2[l0b], product);
        SetHF32Mode(false);
        SetFlag<HardEvent::M_MTE1>(2 + l0b);
        l0b ^= 1;
        SetFlag<HardEvent::M_MTE1>(l0a);
        l0a ^= 1;
    }
    __aicore__ inline void store()
    {
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        FixpipeParamsV220 out;
        out.nSize = 16;
        out.mSize = p.tokens;
        out.srcStride = p.tokens;
        out.dstStride = 16;
        Fixpipe<float, float>(squares, c_squares, out);
        out.nSize = columns;
        out.dstStride = pitch;
        Fixpipe<float, float>(products, c_products, out);
    }

    const Problem p;
    uint32_t part;
    uint32_t chunk;
    GlobalTensor<float> fn;
    GlobalTensor<float> wide;
    GlobalTensor<float> products;
    GlobalTensor<float> squares;
    LocalTensor<float> a1[2] = {LocalTensor<float>(TPosition::A1, 0, 32768), LocalTensor<float>(TPosition::A1, 131072, 32768)};
    LocalTensor<float> b1[2] = {LocalTensor<float>(TPosition::B1, 262144, 32768), LocalTensor<float>(TPosition::B1, 393216, 32768)};
    LocalTensor<float> a2[2] = {LocalTensor<float>(TPosition::A2, 0, 8192), LocalTensor<float>(TPosition::A2, 32768, 8192)};
    LocalTensor<float> b2[2] = {LocalTensor<float>(TPosition::B2, 0, 8192), LocalTensor<float>(TPosition::B2, 32768, 8192)};
    LocalTensor<float> c_squares{TPosition::CO1, 0, 4096};
    LocalTensor<float> c_products{TPosition::CO1, 16384, 8192};
    int32_t l1 = 0;
    int32_t l0a = 0;
    int32_t l0b = 0;
};

}  // namespace hc_pre
