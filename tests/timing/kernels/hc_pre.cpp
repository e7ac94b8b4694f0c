// What four residual streams of a token are mixed with, and their mixture, for a few tokens: x [tokens][4][d] bf16.
// m = (x fn^T) / rms(x); pre = sigmoid(m), post = 2 sigmoid(m), comb = 4 x 4 made doubly stochastic; y = sum of pre[i] x[i].
//
// Structure after cann-recipes-infer ops/ascendc/src/hc_pre (hc_pre_m_k_split_core.h, for the A3, few tokens): the depth is
// dealt to the AICs (hc_pre_products.h), all cores meet, then the tokens are dealt to the AIVs, one at a time, with 20 rounds
// of normalising rows and columns. Every step of the vector pipe is followed by a barrier, as there. Left out: unit flags.
#include "hc_pre_products.h"

namespace hc_pre {

constexpr float epsilon = 1e-6f;
constexpr uint32_t rounds = 20;
constexpr uint32_t square = 32;  // 4 x 4, each row in a block

class Tokens {
public:
    __aicore__ inline explicit Tokens(const Problem& problem) : p(problem)
    {
        gx.SetGlobalBuffer((__gm__ bfloat16_t*)p.x);
        gy.SetGlobalBuffer((__gm__ bfloat16_t*)p.y);
        scale.SetGlobalBuffer((__gm__ float*)p.scale);
        base.SetGlobalBuffer((__gm__ float*)p.base);
        gpost.SetGlobalBuffer((__gm__ float*)p.post);
        gcomb.SetGlobalBuffer((__gm__ float*)p.comb);
        products.SetGlobalBuffer((__gm__ float*)p.products);
        squares.SetGlobalBuffer((__gm__ float*)p.squares);
    }
    __aicore__ inline void run()
    {
        const uint32_t aivs = GetBlockNum() * 2;
        const uint32_t each = (p.tokens + aivs - 1) / aivs;
        const uint32_t first = GetBlockIdx() * each;
        if (first >= p.tokens) {
            return;
        }
        for (uint32_t i = 0; i < 16; ++i) {
            Duplicate(patterns[i * 8], 1u << i, 8);
        }
        PipeBarrier<PIPE_V>();
        load(base_pre, base, 1, streams, 0);
        load(base_post, base[streams], 1, streams, 0);
        load(base_comb, base[2 * streams], streams, streams, 0);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        for (uint32_t token = first; token < first + each && token < p.tokens; ++token) {
            pre(token);
            mixture(token);
            post(token);
            comb(token);
        }
    }

private:
    static __aicore__ inline void done() { PipeBarrier<PIPE_V>(); }
    // Runs of floats, `gap` of them between two in GM, each to a block of its own.
    __aicore__ inline void load(const LocalTensor<float>& to, const GlobalTensor<float>& from, uint32_t runs, uint32_t count, uint32_t gap)
    {
        DataCopyPad(to, from, DataCopyExtParams(runs, count * 4, gap * 4, 0, 0), DataCopyPadExtParams<float>());
    }
    // What was loaded can be used; what is loaded next may be overwritten, since all before is done.
    __aicore__ inline void loaded()
    {
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
    }
    __aicore__ inline void may_load()
    {
        SetFlag<HardEvent::V_MTE2>(0);
        WaitFlag<HardEvent::V_MTE2>(0);
    }
    // to = the sum of `parts` vectors that follow each other, one by one.
    __aicore__ inline void add_up(const LocalTensor<float>& to, const LocalTensor<float>& from, uint32_t parts, uint32_t count)
    {
        DataCopy(to, from, (count + 7) / 8 * 8);
        done();
        for (uint32_t i = 1; i < parts; ++i) {
            Add(to, to, from[i * ((count + 7) / 8 * 8)], count);
            done();
        }
    }
    __aicore__ inline void sigmoid(const LocalTensor<float>& x)
    {
        Duplicate(one, 1.0f, 8);
        Muls(x, x, -1.0f, 8);
        done();
        Exp(x, x, 8);
        done();
        Adds(x, x, 1.0f, 8);
        done();
        Div(x, one, x, 8);
        done();
    }
    // x = x / rms * scale + of; `inverse` fills a block.
    __aicore__ inline void scaled(const LocalTensor<float>& x, uint32_t count, float by, const LocalTensor<float>& of)
    {
        done();
        if (count <= 8) {
            Mul(x, x, inverse, count);
        } else {
            Mul(x, x, inverse, count, 1, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
        }
        done();
        Muls(x, x, by, count);
        done();
        Add(x, x, of, count);
        done();
    }
    __aicore__ inline void pre(uint32_t token)
    {
        may_load();
        load(parts_of_square, squares[token * 16], p.parts, 16, (p.tokens - 1) * 16);
        loaded();
        add_up(sum, parts_of_square, p.parts, 16);
        uint64_t kept = 0;
        GatherMask(root, sum, patterns[token % 16 * 8], true, 16, GatherMaskParams(1, 1, 8, 8), kept);
        done();
        Muls(root, root, 1.0f / (streams * p.d), 1);
        done();
        Adds(root, root, epsilon, 1);
        done();
        Sqrt(root, root, 1);
        Duplicate(one, 1.0f, 1);
        done();
        Div(root, one, root, 1);
        may_load();
        const uint32_t gap = p.tokens * pitch - streams;
        load(parts_of_mix, products[token * pitch], p.parts, streams, gap);
        load(parts_of_mix[p.parts * 8], products[token * pitch + streams], p.parts, streams, gap);
        loaded();
        add_up(mix, parts_of_mix, p.parts, 8);
        add_up(mix[8], parts_of_mix[p.parts * 8], p.parts, 8);
        Brcb(inverse, root, 1, BrcbRepeatParams(1, 8));
        scaled(mix, 8, scale.GetValue(0), base_pre);
        sigmoid(mix);
        Adds(mix, mix, epsilon, 8);
        done();
    }
    __aicore__ inline void mixture(uint32_t token)
    {
        may_load();
        DataCopyPad(x, gx[uint64_t(token) * streams * p.d], DataCopyExtParams(streams, p.d * 2, 0, 0, 0), DataCopyPadExtParams<bfloat16_t>());
        loaded();
        for (uint32_t i = 0; i < streams; ++i) {
            Cast(wide[i * p.d], x[i * p.d], RoundMode::CAST_NONE, p.d);
        }
        done();
        Brcb(spread, mix, 1, BrcbRepeatParams(1, 8));
        done();
        for (uint32_t i = 0; i < streams; ++i) {
            Mul(wide[i * p.d], wide[i * p.d], spread[i * 8], 64, p.d / 64, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
        }
        done();
        add_up(y_wide, wide, streams, p.d);
        SetFlag<HardEvent::MTE3_V>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
        Cast(y, y_wide, RoundMode::CAST_RINT, p.d);
        store([&]() { DataCopyPad(gy[uint64_t(token) * p.d], y, DataCopyExtParams(1, p.d * 2, 0, 0, 0)); });
    }
    __aicore__ inline void post(uint32_t token)
    {
        scaled(mix[8], 8, scale.GetValue(1), base_post);
        sigmoid(mix[8]);
        Muls(mix[8], mix[8], 2.0f, 8);
        store([&]() { DataCopyPad(gpost[token * streams], mix[8], DataCopyExtParams(1, streams * 4, 0, 0, 0)); });
    }
    __aicore__ inline void comb(uint32_t token)
    {
        may_load();
        for (uint32_t i = 0; i < p.parts; ++i) {
            load(parts_of_mix[i * square], products[(uint64_t(i) * p.tokens + token) * pitch + 2 * streams], streams, streams, 0);
        }
        loaded();
        add_up(m, parts_of_mix, p.parts, square);
        scaled(m, square, scale.GetValue(2), base_comb);
        WholeReduceMax(sum, m, streams, streams, 1, 1, 1, ReduceOrder::ORDER_ONLY_VALUE);
        done();
        Brcb(spread, sum, 1, BrcbRepeatParams(1, 8));
        done();
        Sub(m, m, spread, square);
        done();
        Exp(m, m, square);
        done();
        by_rows(0.0f);
        Adds(m, m, epsilon, square);
        done();
        by_columns();
        for (uint32_t i = 1; i < rounds; ++i) {
            by_rows(epsilon);
            by_columns();
        }
        store([&]() { DataCopyPad(gcomb[token * streams * streams], m, DataCopyExtParams(streams, streams * 4, 0, 0, 0)); });
    }
    __aicore__ inline void by_rows(float more)
    {
        WholeReduceSum(sum, m, streams, streams, 1, 1, 1);
        done();
        if (more > 0) {
            Adds(sum, sum, more, streams);
            done();
        }
        Brcb(spread, sum, 1, BrcbRepeatParams(1, 8));
        done();
        Div(m, m, spread, square);
        done();
    }
    __aicore__ inline void by_columns()
    {
        add_up(sum, m, streams, streams);
        Adds(sum, sum, epsilon, streams);
        done();
        Div(m, m, sum, streams, streams, BinaryRepeatParams(1, 1, 1, 1, 1, 0));
        done();
    }
    template <class Copy>
    __aicore__ inline void store(const Copy& copy)
    {
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        copy();
        SetFlag<HardEvent::MTE3_V>(1);
        WaitFlag<HardEvent::MTE3_V>(1);
    }

    const Problem p;
    GlobalTensor<bfloat16_t> gx;
    GlobalTensor<bfloat16_t> gy;
    GlobalTensor<float> scale;
    GlobalTensor<float> base;
    GlobalTensor<float> gpost;
    GlobalTensor<float> gcomb;
    GlobalTensor<float> products;
    GlobalTensor<float> squares;
    LocalTensor<bfloat16_t> x{TPosition::VECIN, 0, 16384};
    LocalTensor<bfloat16_t> y{TPosition::VECOUT, 32768, 4096};
    LocalTensor<float> wide{TPosition::VECCALC, 40960, 16384};
    LocalTensor<float> y_wide{TPosition::VECCALC, 106496, 4096};
    LocalTensor<float> parts_of_square{TPosition::VECIN, 122880, 24 * 16};
    LocalTensor<float> parts_of_mix{TPosition::VECIN, 124416, 24 * square};
    LocalTensor<uint32_t> patterns{TPosition::VECCALC, 127488, 128};
    LocalTensor<float> sum{TPosition::VECCALC, 128000, 16};
    LocalTensor<float> root{TPosition::VECCALC, 128064, 8};
    LocalTensor<float> one{TPosition::VECCALC, 128096, 8};
    LocalTensor<float> inverse{TPosition::VECCALC, 128128, 64};
    LocalTensor<float> mix{TPosition::VECCALC, 128384, 16};
    LocalTensor<float> spread{TPosition::VECCALC, 128448, 64};
    LocalTensor<float> m{TPosition::VECCALC, 128704, square};
    LocalTensor<float> base_pre{TPosition::VECIN, 128832, 8};
    LocalTensor<float> base_post{TPosition::VECIN, 128864, 8};
    LocalTensor<float> base_comb{TPosition::VECIN, 128896, square};
};

}  // namespace hc_pre

extern "C" __global__ __aicore__ void hc_pre_bf16(GM_ADDR x, GM_ADDR fn, GM_ADDR scale, GM_ADDR base, GM_ADDR y, GM_ADDR post, GM_ADDR comb,
    GM_ADDR wide_x, GM_ADDR products, GM_ADDR squares, int32_t tokens, int32_t d, int32_t depth, int32_t parts)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    using namespace hc_pre;
    const Problem p = {x, fn, scale, base, y, post, comb, wide_x, products, squares, uint32_t(tokens), uint32_t(d), uint32_t(depth), uint32_t(parts)};
    if ASCEND_IS_AIC {
        if (GetBlockIdx() < parts) {
            Cube cube(p);
            cube.run();
        }
        CrossCoreSetFlag<0, PIPE_FIX>(all_aics);
        CrossCoreWaitFlag(all_aics);
        CrossCoreSetFlag<2, PIPE_FIX>(products_done);
    }
    if ASCEND_IS_AIV {
        convert(p);
        CrossCoreWaitFlag(products_done);
        Tokens each(p);
        each.run();
    }
    PipeBarrier<PIPE_ALL>();
}
