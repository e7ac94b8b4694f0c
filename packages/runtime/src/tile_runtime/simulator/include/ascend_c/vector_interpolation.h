// BilinearInterpolation, which A2 and A3 compose of other instructions: gather blocks, spread weights, multiply, add.
#pragma once

#include "sync.h"
#include "vector_binary.h"
#include "vector_fill.h"
#include "vector_gather.h"
#include "vector_mask.h"
#include "vector_scalar.h"

namespace tile_simulator {

// `Mask` is uint64_t (lanes) or uint64_t* (bits). The steps are those of the device header
// (dav_c220/kernel_operator_vec_bilinearinterpolation_impl.h).
template <class T, class Mask>
inline void interpolate(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
    const AscendC::LocalTensor<uint32_t>& offsets, const AscendC::LocalTensor<T>& src1, Mask mask, int32_t horizontal,
    bool weight_per_block, uint32_t dst_block_stride, uint32_t row_elements, int32_t vertical,
    const AscendC::LocalTensor<uint8_t>& temporary, Where at)
{
    static_assert(std::is_same_v<T, half>, "BilinearInterpolation: half only");
    constexpr uint32_t per_repeat = AscendC::ONE_REPEAT_BYTE_SIZE / sizeof(T);
    const AscendC::LocalTensor<T> blocks = temporary.template ReinterpretCast<T>();
    const int32_t repeats = horizontal * vertical;
    const AscendC::LocalTensor<T> weights = blocks[static_cast<uint32_t>(repeats) * per_repeat];
    const Use use = {"BilinearInterpolation", at};
    AscendC::Gatherb(blocks.template ReinterpretCast<uint16_t>(), src0.template ReinterpretCast<uint16_t>(), offsets,
        repeats, {}, at);
    AscendC::Brcb(weights, src1, static_cast<int32_t>(src1.GetSize() / 8), {}, at);
    pipe_barrier(PIPE_V, use);
    AscendC::BinaryRepeatParams product;
    if (!weight_per_block) {
        product.src0BlkStride = 0;
        product.src0RepStride = 1;
    }
    AscendC::SetMaskCount();
    AscendC::SetVectorMask<T, AscendC::MaskMode::COUNTER>(0, static_cast<uint64_t>(repeats) * per_repeat);
    AscendC::Mul<T, false>(blocks, weights, blocks, AscendC::MASK_PLACEHOLDER, repeats, product, at);
    AscendC::SetMaskNorm();
    AscendC::ResetMask();
    pipe_barrier(PIPE_V, use);
    AscendC::BinaryRepeatParams sum;
    sum.dstRepStride = sum.src1RepStride = 0;
    for (int32_t row = 0; row < vertical && horizontal > 1; ++row) {
        const AscendC::LocalTensor<T> first = blocks[static_cast<uint32_t>(row * horizontal) * per_repeat];
        AscendC::Add(first, first[per_repeat], first, mask, horizontal - 1, sum, at);
    }
    pipe_barrier(PIPE_V, use);
    const uint32_t row_blocks = row_elements * static_cast<uint32_t>(sizeof(T)) / AscendC::ONE_BLK_SIZE;
    AscendC::Adds(dst, blocks, T(0), mask, vertical,
        {dst_block_stride, 1, row_blocks, static_cast<uint32_t>(horizontal) * 8}, at);
}

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
    const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1, uint64_t mask, int32_t hRepeat,
    bool repeatMode, uint32_t dstBlkStride, uint32_t vROffset, int32_t vRepeat,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    tile_simulator::interpolate(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode, dstBlkStride, vROffset, vRepeat,
        sharedTmpBuffer, at);
}
template <class T>
inline void BilinearInterpolation(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
    const LocalTensor<uint32_t>& src0Offset, const LocalTensor<T>& src1, uint64_t mask[], int32_t hRepeat,
    bool repeatMode, uint32_t dstBlkStride, uint32_t vROffset, int32_t vRepeat,
    const LocalTensor<uint8_t>& sharedTmpBuffer, Where at = Where::here())
{
    tile_simulator::interpolate(dst, src0, src0Offset, src1, mask, hRepeat, repeatMode, dstBlkStride, vROffset, vRepeat,
        sharedTmpBuffer, at);
}

}  // namespace AscendC
