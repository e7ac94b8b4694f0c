// Reads a matrix from GM into L1 tile by tile with ND2NZ, and does nothing with it; the AIC twin of gm_to_ub.cpp.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/04_memory_access/data_copy (data_copy_l1.h).
#include "kernel_operator.h"
using namespace AscendC;

namespace gm_to_l1 {

class Reader {
public:
    __aicore__ inline Reader(GM_ADDR src, uint32_t rows, uint32_t columns, uint32_t tile_rows, uint32_t tile_columns)
        : n(columns),
          tile_m(tile_rows),
          tile_n(tile_columns),
          l1(TPosition::A1, 0, (tile_rows + 15) / 16 * 16 * ((tile_columns + 15) / 16 * 16))
    {
        global.SetGlobalBuffer((__gm__ half*)src, uint64_t(rows) * columns);
    }
    __aicore__ inline void bypass_l2() { global.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE); }
    __aicore__ inline void sweep(uint32_t row, uint32_t count, uint32_t begin, uint32_t end)
    {
        for (uint32_t i = row; i < row + count; i += tile_m) {
            for (uint32_t j = begin; j < end; j += tile_n) {
                const uint32_t width = j + tile_n > end ? end - j : tile_n;
                DataCopy(l1, global[uint64_t(i) * n + j],
                    Nd2NzParams(1, tile_m, width, 0, n, (tile_m + 15) / 16 * 16, 1, 0));
            }
        }
    }
    // The last tile as it lies in L1, for tests.
    __aicore__ inline void keep_last(GM_ADDR out)
    {
        GlobalTensor<half> kept;
        kept.SetGlobalBuffer((__gm__ half*)out + uint64_t(GetBlockIdx()) * tile_m * tile_n, tile_m * tile_n);
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(kept, l1, tile_m * tile_n);
    }

private:
    uint32_t n;
    uint32_t tile_m;
    uint32_t tile_n;
    LocalTensor<half> l1;
    GlobalTensor<half> global;
};

}  // namespace gm_to_l1

// Scenarios 1 to 3 (parts = repeats = 1), 4 (repeats = 4) and 5 (parts = repeats = 4).
extern "C" __global__ __aicore__ void read_to_l1(GM_ADDR src, GM_ADDR out, int32_t rows, int32_t columns, int32_t tile_m,
    int32_t tile_n, int32_t parts, int32_t repeats, bool keep)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    gm_to_l1::Reader reader(src, rows, columns, tile_m, tile_n);
    const uint32_t mine = rows / GetBlockNum();
    const uint32_t part = columns / parts;
    for (int32_t p = 0; p < parts; ++p) {
        for (int32_t r = 0; r < repeats; ++r) {
            reader.sweep(GetBlockIdx() * mine, mine, p * part, p + 1 == parts ? columns : (p + 1) * part);
        }
    }
    if (keep) {
        reader.keep_last(out);
    }
    PipeBarrier<PIPE_ALL>();
}

// Scenarios 6 and 7.
extern "C" __global__ __aicore__ void read_whole_to_l1(
    GM_ADDR src, GM_ADDR out, int32_t rows, int32_t columns, int32_t tile_m, int32_t tile_n, bool staggered, bool keep)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    InitSocState();
    gm_to_l1::Reader reader(src, rows, columns, tile_m, tile_n);
    reader.bypass_l2();
    const uint32_t cores = GetBlockNum();
    const uint32_t block_rows = rows / cores;
    for (uint32_t b = 0; b < cores; ++b) {
        const uint32_t block = staggered ? (b + GetBlockIdx()) % cores : b;
        reader.sweep(block * block_rows, block_rows, 0, columns);
    }
    if (keep) {
        reader.keep_last(out);
    }
    PipeBarrier<PIPE_ALL>();
}
