// d[m, n] = relu(a[m, k] * b[k, n]) in half: the cube core multiplies, its two vector cores finish a half each.
//
// The product passes through a workspace in GM of 64 x 64 floats per block. Cross-core flag 0 says that it is
// written, flag 1 that it is read and may be overwritten. m, n and k are multiples of 64.
#include "matmul_tile.h"

namespace {

constexpr uint32_t tile_side = 64;
constexpr uint32_t tile_elements = tile_side * tile_side;
constexpr int32_t written = 0;
constexpr int32_t read = 1;

// Where tile i stands in the result.
__aicore__ inline uint32_t tile_start(uint32_t i, const MatmulShape& shape)
{
    const uint32_t columns = shape.n / tile_side;
    return i / columns * tile_side * shape.n + i % columns * tile_side;
}

__aicore__ inline void multiply_tiles(const AscendC::GlobalTensor<half>& a, const AscendC::GlobalTensor<half>& b,
    const AscendC::GlobalTensor<float>& workspace, const MatmulShape& shape)
{
    const uint32_t block = AscendC::GetBlockIdx();
    const uint32_t columns = shape.n / tile_side;
    const uint32_t tiles = shape.m / tile_side * columns;
    AscendC::TPipe pipe;
    MatmulTile<tile_side, tile_side, tile_side> tile(pipe);
    bool in_use = false;
    for (uint32_t i = block; i < tiles; i += AscendC::GetBlockNum()) {
        tile.multiply(a, b, shape, i / columns * tile_side, i % columns * tile_side);
        if (in_use) {
            AscendC::CrossCoreWaitFlag(read);
        }
        tile.store(workspace[block * tile_elements], tile_side);
        AscendC::CrossCoreSetFlag<2, PIPE_FIX>(written);
        in_use = true;
    }
    if (in_use) {
        AscendC::CrossCoreWaitFlag(read);
    }
    tile.finish();
}

__aicore__ inline void finish_tiles(const AscendC::GlobalTensor<float>& workspace,
    const AscendC::GlobalTensor<half>& d, const MatmulShape& shape)
{
    constexpr uint32_t rows = tile_side / 2;
    constexpr uint32_t count = rows * tile_side;
    const uint32_t block = AscendC::GetBlockIdx() / AscendC::GetSubBlockNum();
    const uint32_t first_row = AscendC::GetSubBlockIdx() * rows;
    const uint32_t tiles = shape.m / tile_side * (shape.n / tile_side);
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> product_buffer, result_buffer;
    pipe.InitBuffer(product_buffer, count * sizeof(float));
    pipe.InitBuffer(result_buffer, count * sizeof(half));
    const AscendC::LocalTensor<float> product = product_buffer.Get<float>();
    const AscendC::LocalTensor<half> result = result_buffer.Get<half>();
    AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(0);
    AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(0);
    for (uint32_t i = block; i < tiles; i += AscendC::GetBlockNum()) {
        AscendC::CrossCoreWaitFlag(written);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(0);
        AscendC::DataCopy(product, workspace[block * tile_elements + first_row * tile_side], count);
        AscendC::CrossCoreSetFlag<2, PIPE_MTE2>(read);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
        AscendC::Relu(product, product, count);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(0);
        AscendC::Cast(result, product, AscendC::RoundMode::CAST_RINT, count);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE2>(0);
        AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0);
        AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
        AscendC::DataCopyParams rows_out;
        rows_out.blockCount = rows;
        rows_out.blockLen = tile_side * sizeof(half) / 32;
        rows_out.srcStride = 0;
        rows_out.dstStride = (shape.n - tile_side) * sizeof(half) / 32;
        AscendC::DataCopy(d[tile_start(i, shape) + first_row * shape.n], result, rows_out);
        AscendC::SetFlag<AscendC::HardEvent::MTE3_V>(0);
    }
    AscendC::WaitFlag<AscendC::HardEvent::V_MTE2>(0);
    AscendC::WaitFlag<AscendC::HardEvent::MTE3_V>(0);
}

}  // namespace

extern "C" __global__ __aicore__ void matmul_relu(
    GM_ADDR a, GM_ADDR b, GM_ADDR d, GM_ADDR workspace, MatmulShape shape)
{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
    AscendC::GlobalTensor<half> a_gm, b_gm, d_gm;
    AscendC::GlobalTensor<float> workspace_gm;
    a_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(a));
    b_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(b));
    d_gm.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(d));
    workspace_gm.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(workspace));
    if ASCEND_IS_AIC {
        multiply_tiles(a_gm, b_gm, workspace_gm, shape);
    }
    if ASCEND_IS_AIV {
        finish_tiles(workspace_gm, d_gm, shape);
    }
}
