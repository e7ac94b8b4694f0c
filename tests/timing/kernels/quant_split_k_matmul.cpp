// D = (A * B) * scale[column] * token[row] with the depth dealt to the cores: int8 partial sums of AICs in GM, added up
// and dequantised by the AIVs.
//
// Structure after catlass examples/52_quant_multi_core_splitk_matmul_tla (its plan B): a tile of 128 x 256 for each slice
// of the depth, then all AIVs add the slices of the same elements, then the AIVs of a tile's core dequantise it. n is 256,
// m and the depth of a slice are multiples of the tile.
#include "dequantise.h"
#include "matmul_tile.h"

namespace quant_split_k {

constexpr int32_t products_done = 0;
constexpr int32_t all_aivs = 1;

struct Arguments {
    GM_ADDR a;
    GM_ADDR b;
    GM_ADDR scale;
    GM_ADDR token;
    GM_ADDR d;
    GM_ADDR partial;
    GM_ADDR reduced;
};

// Chunks of the depth are dealt evenly, the first slices get one more.
__aicore__ inline uint32_t first_chunk(uint32_t slice, uint32_t slices, uint32_t chunks)
{
    const uint32_t more = chunks % slices;
    return slice * (chunks / slices) + (slice < more ? slice : more);
}

__aicore__ inline void on_aic(const MatmulTiling& t, const Arguments& given, uint32_t slices)
{
    GlobalTensor<int8_t> ga;
    GlobalTensor<int8_t> gb;
    GlobalTensor<int32_t> gc;
    ga.SetGlobalBuffer((__gm__ int8_t*)given.a);
    gb.SetGlobalBuffer((__gm__ int8_t*)given.b);
    gc.SetGlobalBuffer((__gm__ int32_t*)given.partial);
    MatmulTile<int8_t, int32_t, int32_t> tile(t);
    const uint32_t m_tiles = t.m / t.base_m;
    const uint32_t chunk = t.base_k * t.step_kb;
    tile.begin();
    for (uint32_t i = GetBlockIdx(); i < m_tiles * slices; i += GetBlockNum()) {
        const uint32_t row = i % m_tiles * t.base_m;
        const uint32_t slice = i / m_tiles;
        const uint32_t begin = first_chunk(slice, slices, t.k / chunk) * chunk;
        const uint32_t end = first_chunk(slice + 1, slices, t.k / chunk) * chunk;
        tile.run(ga[uint64_t(row) * t.k + begin], t.k, gb[begin], t.k, gc[(uint64_t(slice) * t.m + row) * t.n], t.n,
            t.base_m, t.n, end - begin);
    }
    tile.end();
    CrossCoreSetFlag<2, PIPE_FIX>(products_done);
}

// Adds the slices up, a run of elements for each AIV.
__aicore__ inline void reduce(const GlobalTensor<int32_t>& to, const GlobalTensor<int32_t>& from, uint32_t elements, uint32_t slices)
{
    const uint32_t aivs = GetBlockNum() * GetSubBlockNum();
    const uint32_t most = 49152 / slices / 64 * 64;
    const uint32_t even = (elements / aivs + 63) / 64 * 64;
    const uint32_t run = even < most ? even : most;
    const LocalTensor<int32_t> x(TPosition::VECCALC, 0, slices * run);
    SetFlag<HardEvent::MTE3_MTE2>(0);
    for (uint32_t at = GetBlockIdx() * run; at < elements; at += aivs * run) {
        const uint32_t count = elements - at < run ? elements - at : run;
        WaitFlag<HardEvent::MTE3_MTE2>(0);
        DataCopyPad(x, from[at], DataCopyExtParams(slices, count * 4, (elements - count) * 4, 0, 0), DataCopyPadExtParams<int32_t>());
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        for (uint32_t slice = 1; slice < slices; ++slice) {
            Add(x, x, x[slice * count], count);
            PipeBarrier<PIPE_V>();
        }
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopyPad(to[at], x, DataCopyExtParams(1, count * 4, 0, 0, 0));
        SetFlag<HardEvent::MTE3_MTE2>(0);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(0);
}

__aicore__ inline void on_aiv(const MatmulTiling& t, const Arguments& given, uint32_t slices)
{
    GlobalTensor<int32_t> partial;
    GlobalTensor<int32_t> reduced;
    partial.SetGlobalBuffer((__gm__ int32_t*)given.partial);
    reduced.SetGlobalBuffer((__gm__ int32_t*)given.reduced);
    CrossCoreWaitFlag(products_done);
    CrossCoreSetFlag<0, PIPE_MTE2>(all_aivs);
    CrossCoreWaitFlag(all_aivs);
    reduce(reduced, partial, t.m * t.n, slices);
    PipeBarrier<PIPE_ALL>();
    CrossCoreSetFlag<0, PIPE_MTE2>(all_aivs);
    CrossCoreWaitFlag(all_aivs);
    dequantise::Bands bands(given.scale, given.token, given.d, t.n);
    for (uint32_t tile = GetBlockIdx() / GetSubBlockNum(); tile < uint32_t(t.m / t.base_m); tile += GetBlockNum()) {
        for (uint32_t r = GetSubBlockIdx() * dequantise::band; r < uint32_t(t.base_m); r += GetSubBlockNum() * dequantise::band) {
            const uint32_t row = tile * t.base_m + r;
            bands.run(reduced[uint64_t(row) * t.n], row, 0);
        }
    }
    bands.end();
}

}  // namespace quant_split_k

extern "C" __global__ __aicore__ void quant_split_k_matmul_i8(GM_ADDR a, GM_ADDR b, GM_ADDR scale, GM_ADDR token, GM_ADDR d,
    GM_ADDR partial, GM_ADDR reduced, GM_ADDR tiling, int32_t slices)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    const quant_split_k::Arguments given = {a, b, scale, token, d, partial, reduced};
    if ASCEND_IS_AIC {
        quant_split_k::on_aic(t, given, slices);
    }
    if ASCEND_IS_AIV {
        quant_split_k::on_aiv(t, given, slices);
    }
    PipeBarrier<PIPE_ALL>();
}
