// Gather (elements by byte offset), Gatherb (32 B blocks by byte offset) and GatherMask (elements by bit), on UB.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace AscendC {

// Strides of Gatherb, in 32 B; a block stride of 0 counts as 1.
struct GatherRepeatParams {
    GatherRepeatParams() = default;
    GatherRepeatParams(uint32_t dst_block, uint32_t dst_repeat) : dstRepStride(dst_repeat), dstBlkStride(dst_block) {}

    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint32_t dstRepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t dstBlkStride = DEFAULT_BLK_STRIDE;
    uint32_t src0BlkStride = DEFAULT_BLK_STRIDE;
    uint32_t src1BlkStride = DEFAULT_BLK_STRIDE;
    uint32_t src0RepStride = DEFAULT_REPEAT_STRIDE;
    uint32_t src1RepStride = DEFAULT_REPEAT_STRIDE;
    bool repeatStrideMode = false;
    bool strideSizeMode = false;
};

struct GatherMaskParams {
    GatherMaskParams() = default;
    GatherMaskParams(uint32_t src0_block, uint32_t repeats, uint32_t src0_repeat, uint32_t src1_repeat)
        : src0BlockStride(src0_block),
          repeatTimes(repeats),
          src0RepeatStride(src0_repeat),
          src1RepeatStride(src1_repeat)
    {
    }

    uint32_t src0BlockStride = DEFAULT_BLK_STRIDE;
    uint32_t repeatTimes = 0;
    uint32_t src0RepeatStride = DEFAULT_REPEAT_STRIDE;
    uint32_t src1RepeatStride = DEFAULT_REPEAT_STRIDE;
};

enum class GatherMaskMode : uint8_t { VERSION_V1, VERSION_V2 };
constexpr GatherMaskMode defaultGatherMaskMode = GatherMaskMode::VERSION_V2;

}  // namespace AscendC

namespace tile_simulator {

struct GatherSource {
    LocalOperand tensor;
    LocalOperand offsets;
    uint32_t base;  // added to every offset, in bytes
};

void vector_gather(
    LocalOperand dst, const GatherSource& source, const VectorForm& form, int64_t dst_repeat_stride, Use use);
void vector_gather_count(LocalOperand dst, const GatherSource& source, int64_t count, Use use);
void vector_gather_blocks(LocalOperand dst, LocalOperand src, LocalOperand offsets, int64_t repeats,
    const AscendC::GatherRepeatParams& strides, Use use);

// A built-in pattern, or a tensor of bits when `bits` is not null. Returns how many elements were kept.
struct GatherPattern {
    const LocalOperand* bits;
    uint32_t built_in;
};
uint64_t vector_gather_mask(LocalOperand dst, LocalOperand src, const GatherPattern& pattern, bool counter,
    uint32_t mask, const AscendC::GatherMaskParams& strides, Use use);
int64_t gather_mask_count(Use use);

template <class T>
constexpr bool gatherable = is_one_of<T, half, bfloat16_t, int16_t, uint16_t, float, int32_t, uint32_t>;

}  // namespace tile_simulator

namespace AscendC {

// dst[i] = the element of src at byte srcBaseAddr + srcOffset[i]
template <class T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
    const uint32_t srcBaseAddr, const uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::gatherable<T>, "Gather: 16- and 32-bit types only on 910B");
    tile_simulator::vector_gather_count(
        dst.operand(), {src.operand(), srcOffset.operand(), srcBaseAddr}, count, {"Gather", at});
}
template <class T>
inline void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& srcOffset,
    const uint32_t srcBaseAddr, tile_simulator::Mask mask, const int32_t repeatTime, const uint32_t dstRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::gatherable<T>, "Gather: 16- and 32-bit types only on 910B");
    tile_simulator::vector_gather(dst.operand(), {src.operand(), srcOffset.operand(), srcBaseAddr},
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), dstRepStride, {"Gather", at});
}

// Eight blocks per repeat: block i = the 32 B of src at byte offset[i]
template <class T>
inline void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint32_t>& offset,
    const int32_t repeatTime, const GatherRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, uint16_t, uint32_t>, "Gatherb: uint16 and uint32 only on 910B");
    tile_simulator::vector_gather_blocks(
        dst.operand(), src.operand(), offset.operand(), repeatTime, repeatParams, {"Gatherb", at});
}

// Keeps the elements whose bit is set, one after the other; rsvdCnt is how many.
template <class T, class U, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<U>& src1Pattern,
    const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
    Where at = Where::here())
{
    static_assert(tile_simulator::gatherable<T>, "GatherMask: 16- and 32-bit types only on 910B");
    static_assert(std::is_same_v<U, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>,
        "GatherMask: src1Pattern is a uint16 tensor for 16-bit types and a uint32 tensor for 32-bit types");
    const tile_simulator::LocalOperand bits = src1Pattern.operand();
    rsvdCnt = tile_simulator::vector_gather_mask(
        dst.operand(), src0.operand(), {&bits, 0}, reduceMode, mask, gatherMaskParams, {"GatherMask", at});
}
template <class T, GatherMaskMode mode = defaultGatherMaskMode>
inline void GatherMask(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const uint8_t src1Pattern,
    const bool reduceMode, const uint32_t mask, const GatherMaskParams& gatherMaskParams, uint64_t& rsvdCnt,
    Where at = Where::here())
{
    static_assert(tile_simulator::gatherable<T>, "GatherMask: 16- and 32-bit types only on 910B");
    rsvdCnt = tile_simulator::vector_gather_mask(dst.operand(), src0.operand(), {nullptr, src1Pattern}, reduceMode,
        mask, gatherMaskParams, {"GatherMask", at});
}

// How many elements the last GatherMask kept.
inline int64_t GetGatherMaskRemainCount(Where at = Where::here())
{
    return tile_simulator::gather_mask_count({"GetGatherMaskRemainCount", at});
}

}  // namespace AscendC
