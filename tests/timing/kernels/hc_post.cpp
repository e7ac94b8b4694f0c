// y[j] = post[j] * x + sum over i of comb[i][j] * residual[i], for each token: four streams of d elements, bf16, on AIVs.
//
// Structure after cann-recipes-infer ops/ascendc/src/hc_post (hc_post_d_split.h): tokens are dealt to the cores, a token is
// computed in pieces of 2048 elements; x and the residuals share two buffers, sums are f32 in UB. Buffers lie in
// UB in the order in which it asks for them, which decides about conflicts of banks.
#include "kernel_operator.h"
using namespace AscendC;

namespace hc_post {

constexpr uint32_t streams = 4;
constexpr uint32_t piece = 2048;
constexpr uint32_t padded = 16;  // a row of comb in UB

class Tokens {
public:
    __aicore__ inline Tokens(GM_ADDR x, GM_ADDR residual, GM_ADDR post, GM_ADDR comb, GM_ADDR y, uint32_t elements) : d(elements)
    {
        gx.SetGlobalBuffer((__gm__ bfloat16_t*)x);
        gr.SetGlobalBuffer((__gm__ bfloat16_t*)residual);
        gp.SetGlobalBuffer((__gm__ bfloat16_t*)post);
        gc.SetGlobalBuffer((__gm__ bfloat16_t*)comb);
        gy.SetGlobalBuffer((__gm__ bfloat16_t*)y);
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::V_MTE2>(i);
            SetFlag<HardEvent::V_MTE2>(2 + i);
            SetFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void end()
    {
        for (int32_t i = 0; i < 2; ++i) {
            WaitFlag<HardEvent::V_MTE2>(i);
            WaitFlag<HardEvent::V_MTE2>(2 + i);
            WaitFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void run(uint32_t token)
    {
        const int32_t id = small;
        WaitFlag<HardEvent::V_MTE2>(2 + id);
        DataCopyPad(post[id], gp[token * streams], DataCopyExtParams(1, streams * 2, 0, 0, 0), DataCopyPadExtParams<bfloat16_t>());
        DataCopyPad(comb[id], gc[token * streams * streams], DataCopyExtParams(streams, streams * 2, 0, 0, 0),
            DataCopyPadExtParams<bfloat16_t>(true, 0, padded - streams, 0));
        SetFlag<HardEvent::MTE2_V>(2);
        WaitFlag<HardEvent::MTE2_V>(2);
        Cast(weights, post[id], RoundMode::CAST_NONE, streams);
        PipeBarrier<PIPE_V>();
        Brcb(post_blocks, weights, 1, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < streams; ++i) {
            Cast(comb_rows[i * 8], comb[id][i * padded], RoundMode::CAST_NONE, streams);
        }
        SetFlag<HardEvent::V_MTE2>(2 + id);
        small ^= 1;
        for (uint32_t at = 0; at < d; at += piece) {
            piece_of(token, at);
        }
    }

private:
    // Every row of `to` is the row `from` times an element, which fills a block of `by`.
    __aicore__ inline void times(const LocalTensor<float>& to, const LocalTensor<float>& from, const LocalTensor<float>& by)
    {
        for (uint32_t i = 0; i < streams; ++i) {
            Mul(to[i * piece], from, by[i * 8], 64, piece / 64, BinaryRepeatParams(1, 1, 0, 8, 8, 0));
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void piece_of(uint32_t token, uint32_t at)
    {
        const uint32_t gap = (d - piece) * 2;
        WaitFlag<HardEvent::V_MTE2>(in_id);
        DataCopyPad(in[in_id], gx[uint64_t(token) * d + at], DataCopyExtParams(1, piece * 2, 0, 0, 0), DataCopyPadExtParams<bfloat16_t>());
        SetFlag<HardEvent::MTE2_V>(in_id);
        WaitFlag<HardEvent::MTE2_V>(in_id);
        Cast(wide, in[in_id], RoundMode::CAST_NONE, piece);
        PipeBarrier<PIPE_V>();
        times(sum, wide, post_blocks);
        SetFlag<HardEvent::V_MTE2>(in_id);
        in_id ^= 1;

        WaitFlag<HardEvent::V_MTE2>(in_id);
        DataCopyPad(in[in_id], gr[uint64_t(token) * streams * d + at], DataCopyExtParams(streams, piece * 2, gap, 0, 0),
            DataCopyPadExtParams<bfloat16_t>());
        SetFlag<HardEvent::MTE2_V>(in_id);
        WaitFlag<HardEvent::MTE2_V>(in_id);
        for (uint32_t i = 0; i < streams; ++i) {
            Cast(wide[i * piece], in[in_id][i * piece], RoundMode::CAST_NONE, piece);
        }
        PipeBarrier<PIPE_V>();
        for (uint32_t i = 0; i < streams; ++i) {
            Brcb(comb_blocks, comb_rows[i * 8], 1, BrcbRepeatParams(1, 8));
            PipeBarrier<PIPE_V>();
            times(product, wide[i * piece], comb_blocks);
            for (uint32_t j = 0; j < streams; ++j) {
                Add(sum[j * piece], sum[j * piece], product[j * piece], 64, piece / 64, BinaryRepeatParams(1, 1, 1, 8, 8, 8));
            }
            PipeBarrier<PIPE_V>();
        }
        SetFlag<HardEvent::V_MTE2>(in_id);
        in_id ^= 1;

        WaitFlag<HardEvent::MTE3_V>(out_id);
        for (uint32_t i = 0; i < streams; ++i) {
            Cast(out[out_id][i * piece], sum[i * piece], RoundMode::CAST_RINT, piece);
        }
        PipeBarrier<PIPE_V>();
        SetFlag<HardEvent::V_MTE3>(out_id);
        WaitFlag<HardEvent::V_MTE3>(out_id);
        DataCopyPad(gy[uint64_t(token) * streams * d + at], out[out_id], DataCopyExtParams(streams, piece * 2, 0, gap, 0));
        SetFlag<HardEvent::MTE3_V>(out_id);
        out_id ^= 1;
    }

    uint32_t d;
    GlobalTensor<bfloat16_t> gx;
    GlobalTensor<bfloat16_t> gr;
    GlobalTensor<bfloat16_t> gp;
    GlobalTensor<bfloat16_t> gc;
    GlobalTensor<bfloat16_t> gy;
    static constexpr uint32_t all = streams * piece;
    LocalTensor<bfloat16_t> post[2] = {LocalTensor<bfloat16_t>(TPosition::VECIN, 0, streams), LocalTensor<bfloat16_t>(TPosition::VECIN, 32, streams)};
    LocalTensor<bfloat16_t> comb[2] = {
        LocalTensor<bfloat16_t>(TPosition::VECIN, 64, streams * padded), LocalTensor<bfloat16_t>(TPosition::VECIN, 192, streams * padded)};
    LocalTensor<bfloat16_t> out[2] = {
        LocalTensor<bfloat16_t>(TPosition::VECOUT, 320, all), LocalTensor<bfloat16_t>(TPosition::VECOUT, 16704, all)};
    LocalTensor<bfloat16_t> in[2] = {
        LocalTensor<bfloat16_t>(TPosition::VECIN, 33088, all), LocalTensor<bfloat16_t>(TPosition::VECIN, 49472, all)};
    LocalTensor<float> sum{TPosition::VECCALC, 65856, all};
    LocalTensor<float> wide{TPosition::VECCALC, 98624, all};
    LocalTensor<float> weights{TPosition::VECCALC, 131392, 8};
    LocalTensor<float> comb_rows{TPosition::VECCALC, 131424, streams * 8};
    LocalTensor<float> post_blocks{TPosition::VECCALC, 131552, 64};
    LocalTensor<float> comb_blocks{TPosition::VECCALC, 131808, 64};
    LocalTensor<float> product{TPosition::VECCALC, 132064, all};
    int32_t small = 0;
    int32_t in_id = 0;
    int32_t out_id = 0;
};

}  // namespace hc_post

// The first cores take one token more where they can not be dealt evenly.
extern "C" __global__ __aicore__ void hc_post_bf16(
    GM_ADDR x, GM_ADDR residual, GM_ADDR post, GM_ADDR comb, GM_ADDR y, int32_t tokens, int32_t d)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    hc_post::Tokens each(x, residual, post, comb, y, d);
    const uint32_t cores = GetBlockNum();
    const uint32_t me = GetBlockIdx();
    const uint32_t few = tokens / cores;
    const uint32_t more = tokens % cores;
    const uint32_t first = me * few + (me < more ? me : more);
    for (uint32_t token = first; token < first + few + (me < more ? 1 : 0); ++token) {
        each.run(token);
    }
    each.end();
    PipeBarrier<PIPE_ALL>();
}
