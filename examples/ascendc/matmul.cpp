// c[m, n] = a[m, k] * b[k, n], half in and float out, on the cube cores only.
//
// m, n and k are multiples of 128, 128 and 64. Blocks take output tiles in turn.
#include "matmul_tile.h"

extern "C" __global__ __aicore__ void matmul(GM_ADDR a, GM_ADDR b, GM_ADDR c, MatmulShape shape)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    constexpr uint32_t tile_m = 128, tile_n = 128, tile_k = 64;
    AscendC::GlobalTensor<half> a_gm, b_gm;
    AscendC::GlobalTensor<float> c_gm;
    a_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
    b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    c_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(c));
    if ASCEND_IS_AIC {
        AscendC::TPipe pipe;
        MatmulTile<tile_m, tile_n, tile_k> tile(pipe);
        const uint32_t columns = shape.n / tile_n;
        for (uint32_t i = AscendC::GetBlockIdx(); i < shape.m / tile_m * columns; i += AscendC::GetBlockNum()) {
            const uint32_t row = i / columns * tile_m;
            const uint32_t column = i % columns * tile_n;
            tile.multiply(a_gm, b_gm, shape, row, column);
            tile.store(c_gm[row * shape.n + column], shape.n);
        }
        tile.finish();
    }
}
