// Vector APIs under the names CANN 9.x gives them; the 8.x names are in the headers of the families.
//
// The vendor's list of changed names: MulAddRelu (FusedMulAddRelu), CastDequant (CastDeq), Compares (CompareScalar),
// GetReduceRepeatSumSpr (GetAccVal), GetReduceRepeatMaxMinSpr (GetReduceMaxMinCount), DisableDmaAtomic (SetAtomicNone),
// ReduceDataBlock (BlockReduce*), ReduceRepeat (WholeReduce*, RepeatReduceSum), ReducePairElem (PairReduceSum); the
// last three take the mask before the number of repeats.
#pragma once

#include "atomic.h"
#include "vector_binary.h"
#include "vector_quantize.h"
#include "vector_reduce.h"
#include "vector_reduce_all.h"
#include "vector_select.h"

namespace AscendC {

enum class ReduceType { NONE = -1, SUM, MAX, MIN };

}  // namespace AscendC

namespace tile_simulator {

template <AscendC::ReduceType type>
constexpr ReduceOp reduce_op = type == AscendC::ReduceType::SUM   ? ReduceOp::sum
                               : type == AscendC::ReduceType::MAX ? ReduceOp::max
                                                                  : ReduceOp::min;

template <AscendC::ReduceType type, ReduceSpan span, class T, class U>
inline void reduce_as(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src, const VectorForm& form,
    const ReduceStrides& strides, AscendC::ReduceOrder order, Use use)
{
    static_assert(type != AscendC::ReduceType::NONE, "reductions: ReduceType::SUM, MAX or MIN");
    static_assert(span != ReduceSpan::pair || type == AscendC::ReduceType::SUM, "ReducePairElem: ReduceType::SUM only");
    static_assert(reducible<T> && std::is_same_v<T, U>, "reductions: half or float, the same for dst and src");
    vector_reduce(reduce_op<type>, span, dst.operand(), src.operand(), form, strides,
        type == AscendC::ReduceType::SUM ? AscendC::ReduceOrder::ORDER_ONLY_VALUE : order, use);
}

}  // namespace tile_simulator

namespace AscendC {

template <ReduceType reduceType, class T, class U, bool isSetMask = true>
inline void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, tile_simulator::Mask mask,
    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, Where at = Where::here())
{
    tile_simulator::reduce_as<reduceType, tile_simulator::ReduceSpan::repeat>(dst, src,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime),
        {dstRepStride, srcBlkStride, srcRepStride}, order, {"ReduceRepeat", at});
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
inline void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, tile_simulator::Mask mask,
    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    tile_simulator::reduce_as<reduceType, tile_simulator::ReduceSpan::block>(dst, src,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"ReduceDataBlock", at});
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
inline void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, tile_simulator::Mask mask,
    const int32_t repeatTime, const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,
    Where at = Where::here())
{
    tile_simulator::reduce_as<reduceType, tile_simulator::ReduceSpan::pair>(dst, src,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime),
        {dstRepStride, srcBlkStride, srcRepStride}, ReduceOrder::ORDER_ONLY_VALUE, {"ReducePairElem", at});
}

template <class T>
inline T GetReduceRepeatSumSpr(Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "GetReduceRepeatSumSpr: half and float only");
    T value = T(0);
    tile_simulator::read_sum(tile_simulator::type_code<T>::value, &value, {"GetReduceRepeatSumSpr", at});
    return value;
}
template <class T>
inline void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "GetReduceRepeatMaxMinSpr: half and float only");
    tile_simulator::read_extremum(
        tile_simulator::type_code<T>::value, &maxMinValue, &maxMinIndex, {"GetReduceRepeatMaxMinSpr", at});
}

template <class T, class U, bool isSetMask = true>
inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
    tile_simulator::Mask mask, int32_t repeatTime, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    CompareScalar<T, U, isSetMask>(dst, src0, src1Scalar, cmpMode, mask, repeatTime, repeatParams, at);
}
template <class T, class U>
inline void Compares(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1Scalar, CMPMODE cmpMode,
    uint32_t count, Where at = Where::here())
{
    CompareScalar(dst, src0, src1Scalar, cmpMode, count, at);
}

template <class T, bool isSetMask = true>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask,
    int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}
template <class T, bool isSetMask = true>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    FusedMulAddRelu<T, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}
template <class T>
inline void MulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count, Where at = Where::here())
{
    FusedMulAddRelu(dst, src0, src1, count, at);
}

template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
inline void CastDequant(const LocalTensor<T>& dst, const LocalTensor<U>& src, tile_simulator::Mask mask,
    int32_t repeatTime, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    CastDeq<T, U, isSetMask, isVecDeq, halfBlock>(dst, src, mask, repeatTime, repeatParams, at);
}
template <class T, class U, bool isVecDeq = true, bool halfBlock = true>
inline void CastDequant(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, Where at = Where::here())
{
    CastDeq<T, U, isVecDeq, halfBlock>(dst, src, count, at);
}

inline void DisableDmaAtomic()
{
    SetAtomicNone();
}

}  // namespace AscendC
