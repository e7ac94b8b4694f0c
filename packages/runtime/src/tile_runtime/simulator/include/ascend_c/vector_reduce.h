// Reductions inside a repeat, on UB, PIPE_V. half and float.
//
// WholeReduce*: one result per repeat. BlockReduce*: one result per 32 B block. PairReduceSum: one per two neighbours.
// Strides: source in 32 B blocks; destination repeat stride in units of one repeat's results.
#pragma once

#include "tensor.h"

namespace tile_simulator {

enum class ReduceOp : uint8_t { sum, max, min };
enum class ReduceSpan : uint8_t { repeat, block, pair };

struct ReduceStrides {
    int64_t dst_repeat;
    int64_t src_block;
    int64_t src_repeat;
};

void vector_reduce(ReduceOp op, ReduceSpan span, LocalOperand dst, LocalOperand src, const VectorForm& form,
    const ReduceStrides& strides, AscendC::ReduceOrder order, Use use);

template <class T>
constexpr bool reducible = is_one_of<T, half, float>;

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isSetMask = true>
inline void WholeReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask,
    const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "WholeReduceSum: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::sum, tile_simulator::ReduceSpan::repeat, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"WholeReduceSum", at});
}

template <class T, bool isSetMask = true>
inline void WholeReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask,
    const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "WholeReduceMax: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::max, tile_simulator::ReduceSpan::repeat, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes),
        {dstRepStride, srcBlkStride, srcRepStride}, order, {"WholeReduceMax", at});
}

template <class T, bool isSetMask = true>
inline void WholeReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask,
    const int32_t repeatTimes, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "WholeReduceMin: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::min, tile_simulator::ReduceSpan::repeat, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes),
        {dstRepStride, srcBlkStride, srcRepStride}, order, {"WholeReduceMin", at});
}

template <class T, bool isSetMask = true>
inline void BlockReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
    tile_simulator::Mask mask, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "BlockReduceSum: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::sum, tile_simulator::ReduceSpan::block, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeat),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"BlockReduceSum", at});
}

template <class T, bool isSetMask = true>
inline void BlockReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
    tile_simulator::Mask mask, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "BlockReduceMax: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::max, tile_simulator::ReduceSpan::block, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeat),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"BlockReduceMax", at});
}

template <class T, bool isSetMask = true>
inline void BlockReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
    tile_simulator::Mask mask, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "BlockReduceMin: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::min, tile_simulator::ReduceSpan::block, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeat),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"BlockReduceMin", at});
}

template <class T, bool isSetMask = true>
inline void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
    tile_simulator::Mask mask, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "PairReduceSum: half and float only");
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::sum, tile_simulator::ReduceSpan::pair, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeat),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"PairReduceSum", at});
}

// WholeReduceSum under its older name; dstBlkStride has no effect.
template <class T, bool isSetMask = true>
inline void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t repeat,
    const int32_t elemsInOneRepeat, const int32_t dstBlkStride, const int32_t srcBlkStride, const int32_t dstRepStride,
    const int32_t srcRepStride, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "RepeatReduceSum: half and float only");
    (void)dstBlkStride;
    tile_simulator::vector_reduce(tile_simulator::ReduceOp::sum, tile_simulator::ReduceSpan::repeat, dst.operand(),
        src.operand(), tile_simulator::VectorForm::of_mask(isSetMask, static_cast<uint64_t>(elemsInOneRepeat), repeat),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"RepeatReduceSum", at});
}

}  // namespace AscendC
