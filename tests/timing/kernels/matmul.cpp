// C = A * B on AICs; what a core computes and how it is blocked comes with the tiling (matmul_tile.h).
#include "matmul_tile.h"

namespace matmul {

template <class T, class Acc, class O>
__aicore__ inline void all_tiles(GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR tiling)
{
    InitSocState();
    const MatmulTiling t = *(__gm__ MatmulTiling*)tiling;
    multiply_tiles<T, Acc, O>(t, a, b, c);
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
