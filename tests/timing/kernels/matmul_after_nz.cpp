// C = A * B with a B [k][n] of odd n: AIVs rewrite B as column blocks in GM, then AICs multiply (matmul_tile.h).
//
// Structure after asc-devkit docs/zh/guide/.../Matmul性能调优案例/AIV核上的ND2NZ格式转换.md: tiles of base_k x base_n
// dealt to the AIVs, each loaded with padding, its rows scattered by a Copy each, and stored; then all AIVs meet and tell
// the AICs. Left open by the page, and chosen here: one buffer of each kind, so that the steps of an AIV do not overlap.
#include "matmul_tile.h"

namespace matmul_after_nz {

constexpr int32_t all_aivs = 0;
constexpr int32_t b_ready = 1;

__aicore__ inline void to_column_blocks(const MatmulTiling& t, GM_ADDR b, GM_ADDR nz)
{
    GlobalTensor<half> from;
    GlobalTensor<half> to;
    from.SetGlobalBuffer((__gm__ half*)b);
    to.SetGlobalBuffer((__gm__ half*)nz);
    const uint32_t elements = t.base_k * t.base_n;
    const LocalTensor<half> in(TPosition::VECIN, 0, elements);
    const LocalTensor<half> out(TPosition::VECOUT, elements * 2, elements);
    const uint32_t across = (t.n + t.base_n - 1) / t.base_n;
    SetFlag<HardEvent::MTE3_MTE2>(0);
    for (uint32_t i = GetBlockIdx(); i < t.k / t.base_k * across; i += GetBlockNum() * GetSubBlockNum()) {
        const uint32_t row = i / across * t.base_k;
        const uint32_t column = i % across * t.base_n;
        const uint32_t width = t.n - column < t.base_n ? t.n - column : t.base_n;
        const uint32_t padded = (width + 15) / 16 * 16;
        WaitFlag<HardEvent::MTE3_MTE2>(0);
        DataCopyPad(in, from[uint64_t(row) * t.n + column], DataCopyExtParams(t.base_k, width * 2, (t.n - width) * 2, 0, 0),
            DataCopyPadExtParams<half>(true, 0, padded - width, half(0)));
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        for (uint32_t r = 0; r < uint32_t(t.base_k); ++r) {
            for (uint32_t c = 0; c < padded; c += 128) {
                Copy(out[c * t.base_k + r * 16], in[r * padded + c], padded - c < 128 ? padded - c : 128, 1,
                    CopyRepeatParams(t.base_k, 1, 0, 0));
            }
        }
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to[uint64_t(column) * t.k + row * 16], out, DataCopyParams(padded / 16, t.base_k, 0, t.k - t.base_k));
        SetFlag<HardEvent::MTE3_MTE2>(0);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(0);
}

}  // namespace matmul_after_nz

extern "C" __global__ __aicore__ void matmul_after_nz_f16(GM_ADDR a, GM_ADDR b, GM_ADDR nz, GM_ADDR c, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    using namespace matmul_after_nz;
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    if ASCEND_IS_AIV {
        to_column_blocks(t, b, nz);
        CrossCoreSetFlag<0, PIPE_MTE3>(all_aivs);
        CrossCoreWaitFlag(all_aivs);
        CrossCoreSetFlag<2, PIPE_MTE3>(b_ready);
    }
    if ASCEND_IS_AIC {
        CrossCoreWaitFlag(b_ready);
        multiply_tiles<half, float, half>(t, a, nz, c);
    }
    PipeBarrier<PIPE_ALL>();
}
