// A row-major f16 matrix to NZ on AIVs: strided load, one vector Copy that scatters blocks, strided store.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/04_memory_access/bank_conflict_nd2nz:
// tiles of 144 x 128, the cores as 6 row shares x 8 column shares, two buffers. `column_pitch` is the distance of
// column blocks in UB, in 32 B: 144 puts the 8 blocks of a row in one bank group (scenario 1), 145 does not (2).
#include "kernel_operator.h"
using namespace AscendC;

namespace nd_to_nz {

constexpr uint32_t c0 = 16;
constexpr uint32_t tile_m = 144;
constexpr uint32_t tile_n = 128;
constexpr uint32_t nd_bytes = tile_m * tile_n * sizeof(half);

}  // namespace nd_to_nz

extern "C" __global__ __aicore__ void nd_to_nz_in_ub(GM_ADDR x, GM_ADDR z, int32_t rows, int32_t columns,
    int32_t row_shares, int32_t column_shares, int32_t column_pitch)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    using namespace nd_to_nz;
    InitSocState();
    const uint32_t m = rows;
    const uint32_t n = columns;
    const uint32_t pitch = column_pitch;
    const uint32_t nz_elements = pitch * (tile_n / c0) * c0;
    GlobalTensor<half> from;
    GlobalTensor<half> to;
    from.SetGlobalBuffer((__gm__ half*)x, uint64_t(m) * n);
    to.SetGlobalBuffer((__gm__ half*)z, uint64_t(m) * n);
    LocalTensor<half> nd[2] = {LocalTensor<half>(TPosition::VECIN, 0, tile_m * tile_n),
        LocalTensor<half>(TPosition::VECIN, nd_bytes, tile_m * tile_n)};
    LocalTensor<half> nz[2] = {LocalTensor<half>(TPosition::VECOUT, 2 * nd_bytes, nz_elements),
        LocalTensor<half>(TPosition::VECOUT, 2 * nd_bytes + nz_elements * uint32_t(sizeof(half)), nz_elements)};

    const uint32_t row_tiles = (m + tile_m - 1) / tile_m;
    const uint32_t column_tiles = n / tile_n / column_shares;
    const uint32_t row_share = GetBlockIdx() / column_shares;
    const uint32_t more = row_tiles % row_shares;
    const uint32_t first = row_share * (row_tiles / row_shares) + (row_share < more ? row_share : more);
    const uint32_t count = row_tiles / row_shares + (row_share < more ? 1 : 0);

    for (int32_t id = 0; id < 2; ++id) {
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::MTE3_V>(id);
    }
    for (uint32_t i = 0; i < count * column_tiles; ++i) {
        const int32_t id = i & 1;
        const uint32_t row = (first + i / column_tiles) * tile_m;
        const uint32_t column = (GetBlockIdx() % column_shares * column_tiles + i % column_tiles) * tile_n;
        const uint32_t height = m - row < tile_m ? m - row : tile_m;
        WaitFlag<HardEvent::V_MTE2>(id);
        DataCopy(nd[id], from[uint64_t(row) * n + column], DataCopyParams(height, tile_n / c0, (n - tile_n) / c0, 0));
        SetFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE2_V>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
        Copy(nz[id], nd[id], tile_n, height, CopyRepeatParams(pitch, 1, 1, tile_n / c0));
        SetFlag<HardEvent::V_MTE2>(id);
        SetFlag<HardEvent::V_MTE3>(id);
        WaitFlag<HardEvent::V_MTE3>(id);
        DataCopy(to[(uint64_t(column) / c0 * m + row) * c0], nz[id],
            DataCopyParams(tile_n / c0, height, pitch - height, m - height));
        SetFlag<HardEvent::MTE3_V>(id);
    }
    for (int32_t id = 0; id < 2; ++id) {
        WaitFlag<HardEvent::V_MTE2>(id);
        WaitFlag<HardEvent::MTE3_V>(id);
    }
    PipeBarrier<PIPE_ALL>();
}
