// y = gelu((x * weight[group]) * scale[group][column] * token[row]): int8 products on AICs, the rest on one or two AIVs each.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/03_fusion_compute/
// quant_group_matmul_high_performance: shares of 128 x 1024 dealt across the groups one after the other, in tiles of
// 128 x 256 whose sums go through `slots` places in GM; the AIVs take bands of 24 rows in turn. What its high-level calls
// issue (AscendDequant, BroadCast, FasterGelu) is written out. Weights come as column blocks [n/32][k][32].
#include "matmul_tile.h"

namespace quant_group {

constexpr uint32_t width = 256;  // of a tile
constexpr uint32_t share = 1024;  // columns of a share
constexpr uint32_t band = 24;
constexpr int32_t written = 0;
constexpr int32_t read = 1;

struct Arguments {
    GM_ADDR x;
    GM_ADDR weight;
    GM_ADDR scale;
    GM_ADDR token;
    GM_ADDR y;
    GM_ADDR workspace;
};

// `t` is of one group: its m rows, n and k.
struct Problem {
    MatmulTiling t;
    int32_t groups;
    int32_t slots;
    int32_t doubled;     // the AIVs' buffers
    int32_t bypass_l2;  // weights are read past L2
};

// Calls visit(group, row in the group, column) for every share of this block; a group goes on where the last ended.
template <class Visit>
__aicore__ inline void for_each_share(const Problem& p, uint32_t block, const Visit& visit)
{
    const uint32_t across = p.t.n / share;
    const uint32_t in_group = p.t.m / p.t.base_m * across;
    for (uint32_t i = block; i < in_group * p.groups; i += GetBlockNum()) {
        visit(i / in_group, i % in_group / across * p.t.base_m, i % in_group % across * share);
    }
}

__aicore__ inline uint64_t slot_offset(const Problem& p, uint32_t tile, uint32_t block)
{
    return (uint64_t(tile % p.slots) * GetBlockNum() + block) * p.t.base_m * width;
}

__aicore__ inline void on_aic(const Problem& p, const Arguments& given)
{
    const MatmulTiling& t = p.t;
    GlobalTensor<int8_t> gx;
    GlobalTensor<int8_t> gw;
    GlobalTensor<int32_t> gc;
    gx.SetGlobalBuffer((__gm__ int8_t*)given.x);
    gw.SetGlobalBuffer((__gm__ int8_t*)given.weight);
    gc.SetGlobalBuffer((__gm__ int32_t*)given.workspace);
    if (p.bypass_l2) {
        gw.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE);
    }
    MatmulTile<int8_t, int32_t, int32_t> tile(t);
    uint32_t i = 0;
    tile.begin();
    for_each_share(p, GetBlockIdx(), [&](uint32_t group, uint32_t row, uint32_t from) {
        for (uint32_t column = from; column < from + share; column += width) {
            if (i >= uint32_t(p.slots)) {
                CrossCoreWaitFlag(read);
            }
            tile.run(gx[uint64_t(group * t.m + row) * t.k], t.k, gw[(uint64_t(group) * t.n + column) * t.k], t.k,
                gc[slot_offset(p, i, GetBlockIdx())], width, t.base_m, width, t.k);
            CrossCoreSetFlag<2, PIPE_FIX>(written);
            ++i;
        }
    });
    tile.end();
    for (uint32_t left = 0; left < i && left < uint32_t(p.slots); ++left) {
        CrossCoreWaitFlag(read);
    }
}

class Vector {
public:
    __aicore__ inline Vector(const Problem& problem, const Arguments& given) : p(problem)
    {
        gc.SetGlobalBuffer((__gm__ int32_t*)given.workspace);
        gs.SetGlobalBuffer((__gm__ float*)given.scale);
        gt.SetGlobalBuffer((__gm__ float*)given.token);
        gy.SetGlobalBuffer((__gm__ half*)given.y);
        for (int32_t i = 0; i < 2; ++i) {
            SetFlag<HardEvent::V_MTE2>(i);
            SetFlag<HardEvent::V_MTE2>(2 + i);
            SetFlag<HardEvent::MTE3_V>(i);
        }
    }
    __aicore__ inline void run()
    {
        const uint32_t block = GetBlockIdx() / GetSubBlockNum();
        uint32_t i = 0;
        for_each_share(p, block, [&](uint32_t group, uint32_t row, uint32_t from) {
            uint32_t turn = 0;
            for (uint32_t column = from; column < from + share; column += width) {
                WaitFlag<HardEvent::V_MTE2>(2 + scale_id);
                DataCopy(scale[scale_id], gs[uint64_t(group) * p.t.n + column], width);
                SetFlag<HardEvent::MTE2_V>(2);
                WaitFlag<HardEvent::MTE2_V>(2);
                CrossCoreWaitFlag(written);
                for (uint32_t r = 0; r < uint32_t(p.t.base_m); r += band) {
                    if (++turn % GetSubBlockNum() == GetSubBlockIdx()) {
                        const uint32_t rows = p.t.base_m - r < band ? p.t.base_m - r : band;
                        band_of(gc[slot_offset(p, i, block) + r * width], group * p.t.m + row + r, rows, column);
                    }
                }
                SetFlag<HardEvent::V_MTE2>(2 + scale_id);
                scale_id ^= p.doubled;
                CrossCoreSetFlag<2, PIPE_MTE2>(read);
                ++i;
            }
        });
        for (int32_t id = 0; id < 2; ++id) {
            WaitFlag<HardEvent::V_MTE2>(id);
            WaitFlag<HardEvent::V_MTE2>(2 + id);
            WaitFlag<HardEvent::MTE3_V>(id);
        }
    }

private:
    __aicore__ inline void band_of(const GlobalTensor<int32_t>& sums, uint32_t row, uint32_t rows, uint32_t column)
    {
        const uint32_t count = rows * width;
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopyPad(in[id], sums, DataCopyExtParams(rows, width * 4, 0, 0, 0), DataCopyPadExtParams<int32_t>());
        DataCopyPad(token[id], gt[row], DataCopyExtParams(1, rows * 4, 0, 0, 0), DataCopyPadExtParams<float>());
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        // AscendDequant: the scale is copied, sums become float, each 64 columns are multiplied, the result is copied.
        Adds(scale_copy, scale[scale_id], 0.0f, width);
        PipeBarrier<PIPE_V>();
        Cast(work, in[id], RoundMode::CAST_NONE, count);
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < width; j += 64) {
            Mul(work[j], work[j], scale_copy[j], 64, rows, BinaryRepeatParams(1, 1, 1, 32, 32, 0));
        }
        PipeBarrier<PIPE_V>();
        Adds(dequantised, work, 0.0f, count);
        PipeBarrier<PIPE_V>();
        // BroadCast of the token's scale over its row.
        Brcb(blocks, token[id], (rows + 7) / 8, BrcbRepeatParams(1, 8));
        PipeBarrier<PIPE_V>();
        for (uint32_t j = 0; j < width; j += 64) {
            Copy(token_rows[j], blocks, 64, rows, CopyRepeatParams(1, 0, 32, 1));
        }
        SetFlag<HardEvent::V_MTE2>(id);
        PipeBarrier<PIPE_V>();
        Mul(scaled, dequantised, token_rows, count);
        PipeBarrier<PIPE_V>();
        // FasterGelu: x / (1 + exp(-1.702 x)).
        Muls(work, scaled, -1.702f, count);
        PipeBarrier<PIPE_V>();
        Exp(work, work, count);
        PipeBarrier<PIPE_V>();
        Adds(work, work, 1.0f, count);
        PipeBarrier<PIPE_V>();
        Div(scaled, scaled, work, count);
        PipeBarrier<PIPE_V>();
        WaitFlag<HardEvent::MTE3_V>(id);
        Cast(out[id], scaled, RoundMode::CAST_RINT, count);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopyPad(gy[uint64_t(row) * p.t.n + column], out[id], DataCopyExtParams(rows, width * 2, 0, (p.t.n - width) * 2, 0));
        SetFlag<HardEvent::MTE3_V>(id);
        id ^= p.doubled;
    }

    const Problem& p;
    GlobalTensor<int32_t> gc;
    GlobalTensor<float> gs;
    GlobalTensor<float> gt;
    GlobalTensor<half> gy;
    static constexpr uint32_t most = band * width;
    LocalTensor<int32_t> in[2] = {
        LocalTensor<int32_t>(TPosition::VECIN, 0, most), LocalTensor<int32_t>(TPosition::VECIN, 24576, most)};
    LocalTensor<half> out[2] = {
        LocalTensor<half>(TPosition::VECOUT, 49152, most), LocalTensor<half>(TPosition::VECOUT, 61440, most)};
    LocalTensor<float> scale[2] = {
        LocalTensor<float>(TPosition::VECIN, 73728, width), LocalTensor<float>(TPosition::VECIN, 74752, width)};
    LocalTensor<float> token[2] = {
        LocalTensor<float>(TPosition::VECIN, 75776, band), LocalTensor<float>(TPosition::VECIN, 76288, band)};
    LocalTensor<float> blocks{TPosition::VECCALC, 76800, band * 8};
    LocalTensor<float> scale_copy{TPosition::VECCALC, 77824, width};
    LocalTensor<float> dequantised{TPosition::VECCALC, 78848, most};
    LocalTensor<float> token_rows{TPosition::VECCALC, 103424, most};
    LocalTensor<float> scaled{TPosition::VECCALC, 128000, most};
    LocalTensor<float> work{TPosition::VECCALC, 152576, most};
    int32_t id = 0;
    int32_t scale_id = 0;
};

__aicore__ inline void run(const Arguments& given, GM_ADDR tiling, int32_t groups, int32_t slots, bool doubled, bool bypass_l2)
{
    InitSocState();
    const Problem p = {*(__gm__ MatmulTiling*)tiling, groups, slots, doubled, bypass_l2};
    if ASCEND_IS_AIC {
        on_aic(p, given);
    }
    if ASCEND_IS_AIV {
        Vector vector(p, given);
        vector.run();
    }
    PipeBarrier<PIPE_ALL>();
}

}  // namespace quant_group

extern "C" __global__ __aicore__ void quant_group_matmul_two_aivs(GM_ADDR x, GM_ADDR weight, GM_ADDR scale, GM_ADDR token,
    GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling, int32_t groups, int32_t slots, bool doubled, bool bypass_l2)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    quant_group::run({x, weight, scale, token, y, workspace}, tiling, groups, slots, doubled, bypass_l2);
}

extern "C" __global__ __aicore__ void quant_group_matmul_one_aiv(GM_ADDR x, GM_ADDR weight, GM_ADDR scale, GM_ADDR token,
    GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling, int32_t groups, int32_t slots, bool doubled, bool bypass_l2)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_1);
    quant_group::run({x, weight, scale, token, y, workspace}, tiling, groups, slots, doubled, bypass_l2);
}
