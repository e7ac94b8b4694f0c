// Reductions of a whole tensor: ReduceSum, ReduceMax, ReduceMin, on UB. half and float.
//
// Two forms, see vector_binary.h: `count` elements, or the lanes of `mask`. Each is
// several vector and scalar instructions. Sums of the count form are added repeat by repeat and leave the temporary
// tensor alone; the other forms keep partial results in it.
#pragma once

#include "tensor.h"
#include "vector_reduce.h"

namespace tile_simulator {

void reduce_all(ReduceOp op, LocalOperand dst, LocalOperand src, LocalOperand work, const VectorForm& form,
    int64_t src_stride, bool index, Use use);
void reduce_extremum_count(
    ReduceOp op, LocalOperand dst, LocalOperand src, LocalOperand work, int64_t count, bool index, Use use);
void reduce_sum_count(LocalOperand dst, LocalOperand src, const VectorForm& form, Use use);
void read_sum(DataType type, void* value, Use use);
void read_extremum(DataType type, void* value, void* index, Use use);

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isSetMask = true>
inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceSum: half and float only");
    (void)sharedTmpBuffer;
    tile_simulator::reduce_sum_count(dst.operand(), src.operand(),
        tile_simulator::VectorForm::of_count(isSetMask, count), {"ReduceSum", at});
}
template <class T>
inline void ReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    tile_simulator::Mask mask, const int32_t repeatTime, const int32_t srcRepStride, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceSum: half and float only");
    tile_simulator::reduce_all(tile_simulator::ReduceOp::sum, dst.operand(), src.operand(), sharedTmpBuffer.operand(),
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), srcRepStride, false,
        {"ReduceSum", at});
}

template <class T>
inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, bool calIndex = false, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceMax: half and float only");
    tile_simulator::reduce_extremum_count(tile_simulator::ReduceOp::max, dst.operand(), src.operand(),
        sharedTmpBuffer.operand(), count, calIndex, {"ReduceMax", at});
}
template <class T>
inline void ReduceMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    tile_simulator::Mask mask, const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = false,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceMax: half and float only");
    tile_simulator::reduce_all(tile_simulator::ReduceOp::max, dst.operand(), src.operand(), sharedTmpBuffer.operand(),
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), srcRepStride, calIndex,
        {"ReduceMax", at});
}

template <class T>
inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    const int32_t count, bool calIndex = false, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceMin: half and float only");
    tile_simulator::reduce_extremum_count(tile_simulator::ReduceOp::min, dst.operand(), src.operand(),
        sharedTmpBuffer.operand(), count, calIndex, {"ReduceMin", at});
}
template <class T>
inline void ReduceMin(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& sharedTmpBuffer,
    tile_simulator::Mask mask, const int32_t repeatTime, const int32_t srcRepStride, bool calIndex = false,
    Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "ReduceMin: half and float only");
    tile_simulator::reduce_all(tile_simulator::ReduceOp::min, dst.operand(), src.operand(), sharedTmpBuffer.operand(),
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), srcRepStride, calIndex,
        {"ReduceMin", at});
}

// What the last ReduceSum(count) computed.
template <class T>
inline T GetAccVal(Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "GetAccVal: half and float only");
    T value = T(0);
    tile_simulator::read_sum(tile_simulator::type_code<T>::value, &value, {"GetAccVal", at});
    return value;
}
// What the last WholeReduceMax or WholeReduceMin found in all its repeats; the index is stored in the value's type.
template <class T>
inline void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex, Where at = Where::here())
{
    static_assert(tile_simulator::reducible<T>, "GetReduceMaxMinCount: half and float only");
    tile_simulator::read_extremum(
        tile_simulator::type_code<T>::value, &maxMinValue, &maxMinIndex, {"GetReduceMaxMinCount", at});
}

}  // namespace AscendC
