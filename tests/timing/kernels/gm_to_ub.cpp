// Reads a matrix from GM into UB tile by tile, and does nothing with it: once, repeatedly, or all of it on every core.
//
// Structure after asc-devkit examples/01_simd_cpp_api/05_best_practices/04_memory_access/data_copy (data_copy_ub.h).
// As there, every tile lands in the same buffer and no load waits for another. `keep` is ours: with it the last tile
// of a core is written to `out`, so that a test can see what was read.
#include "kernel_operator.h"
using namespace AscendC;

namespace gm_to_ub {

class Reader {
public:
    __aicore__ inline Reader(GM_ADDR src, uint32_t rows, uint32_t columns, uint32_t tile_rows, uint32_t tile_columns)
        : n(columns), tile_m(tile_rows), tile_n(tile_columns), ub(TPosition::VECIN, 0, tile_rows * tile_columns)
    {
        global.SetGlobalBuffer((__gm__ half*)src, uint64_t(rows) * columns);
    }
    __aicore__ inline void bypass_l2() { global.SetL2CacheHint(CacheMode::CACHE_MODE_DISABLE); }
    __aicore__ inline void read(uint32_t row, uint32_t column, uint32_t end)
    {
        const uint32_t width = column + tile_n > end ? end - column : tile_n;
        DataCopyExtParams shape(tile_m, width * uint32_t(sizeof(half)), (n - width) * uint32_t(sizeof(half)), 0, 0);
        DataCopyPadExtParams<half> no_padding;
        DataCopyPad(ub, global[uint64_t(row) * n + column], shape, no_padding);
    }
    // Rows [row, row + count) of columns [begin, end).
    __aicore__ inline void sweep(uint32_t row, uint32_t count, uint32_t begin, uint32_t end)
    {
        for (uint32_t i = row; i < row + count; i += tile_m) {
            for (uint32_t j = begin; j < end; j += tile_n) {
                read(i, j, end);
            }
        }
    }
    __aicore__ inline void keep_last(GM_ADDR out)
    {
        GlobalTensor<half> kept;
        kept.SetGlobalBuffer((__gm__ half*)out + uint64_t(GetBlockIdx()) * tile_m * tile_n, tile_m * tile_n);
        SetFlag<HardEvent::MTE2_MTE3>(0);
        WaitFlag<HardEvent::MTE2_MTE3>(0);
        DataCopy(kept, ub, tile_m * tile_n);
    }

private:
    uint32_t n;
    uint32_t tile_m;
    uint32_t tile_n;
    LocalTensor<half> ub;
    GlobalTensor<half> global;
};

}  // namespace gm_to_ub

// Scenarios 1 to 4 (parts = repeats = 1), 5 (repeats = 4) and 6 (parts = repeats = 4): a core reads its rows, the
// columns in `parts` parts one after the other, every part `repeats` times.
extern "C" __global__ __aicore__ void read_to_ub(GM_ADDR src, GM_ADDR out, int32_t rows, int32_t columns, int32_t tile_m,
    int32_t tile_n, int32_t parts, int32_t repeats, bool keep)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    gm_to_ub::Reader reader(src, rows, columns, tile_m, tile_n);
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

// Scenarios 7 and 8: every core reads the whole matrix past L2, in the same order or starting at a row block of its own.
extern "C" __global__ __aicore__ void read_whole_to_ub(
    GM_ADDR src, GM_ADDR out, int32_t rows, int32_t columns, int32_t tile_m, int32_t tile_n, bool staggered, bool keep)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    InitSocState();
    gm_to_ub::Reader reader(src, rows, columns, tile_m, tile_n);
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
