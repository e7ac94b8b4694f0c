// C = A * B on AICs; what a core computes and how it is blocked comes with the tiling (matmul_tile.h).
#include "matmul_tile.h"

namespace matmul {

template <class T, class Acc, class O>
__aicore__ inline void all_tiles(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    GlobalTensor<T> ga;
    GlobalTensor<T> gb;
    GlobalTensor<O> gc;
    ga.SetGlobalBuffer((__gm__ T*)a);
    gb.SetGlobalBuffer((__gm__ T*)b);
    gc.SetGlobalBuffer((__gm__ O*)c);
    MatmulTile<T, Acc, O> tile(t);
    tile.begin();
    for_each_tile(t, GetBlockIdx(), GetBlockNum(), [&](uint32_t row, uint32_t column, uint32_t rows, uint32_t columns) {
        tile.run(ga[uint64_t(row) * t.k], t.k, gb[offset_in_b(t, column)], pitch_of_b(t),
            gc[uint64_t(row) * t.n + column], t.n, rows, columns, t.k);
    });
    tile.end();
    PipeBarrier<PIPE_ALL>();
}

}  // namespace matmul

extern "C" __global__ __aicore__ void matmul_f16_f16(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    matmul::all_tiles<half, float, half>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_f16_f32(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    matmul::all_tiles<half, float, float>(a, b, c, tiling);
}

extern "C" __global__ __aicore__ void matmul_f32_f32(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    matmul::all_tiles<float, float, float>(a, b, c, tiling);
}
