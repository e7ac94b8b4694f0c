// CreateVecIndex: first, first + 1, first + 2, ... in UB. Scalar stores begin it, Adds continue it. PIPE_S and PIPE_V.
#pragma once

#include "tensor.h"

namespace tile_simulator {

void create_index_count(LocalOperand dst, Scalar first, int64_t count, Use use);
void create_index(LocalOperand dst, Scalar first, const VectorForm& form, int64_t block_stride, int64_t repeat_stride,
    Use use);

template <class T>
constexpr bool indexable = is_one_of<T, int16_t, half, int32_t, float>;

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void CreateVecIndex(LocalTensor<T> dst, const T& firstValue, uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::indexable<T>, "CreateVecIndex: int16, half, int32 and float only");
    tile_simulator::create_index_count(
        dst.operand(), tile_simulator::scalar_of(firstValue), count, {"CreateVecIndex", at});
}
template <class T>
inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask, int32_t repeatTime,
    uint32_t dstBlkStride, uint32_t dstRepStride, Where at = Where::here())
{
    static_assert(tile_simulator::indexable<T>, "CreateVecIndex: int16, half, int32 and float only");
    tile_simulator::create_index(dst.operand(), tile_simulator::scalar_of(firstValue),
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), dstBlkStride, dstRepStride,
        {"CreateVecIndex", at});
}
template <class T>
inline void CreateVecIndex(LocalTensor<T>& dst, const T& firstValue, uint64_t mask[], int32_t repeatTime,
    uint32_t dstBlkStride, uint32_t dstRepStride, Where at = Where::here())
{
    static_assert(tile_simulator::indexable<T>, "CreateVecIndex: int16, half, int32 and float only");
    tile_simulator::create_index(dst.operand(), tile_simulator::scalar_of(firstValue),
        tile_simulator::VectorForm::of_mask(true, mask, repeatTime), dstBlkStride, dstRepStride,
        {"CreateVecIndex", at});
}

}  // namespace AscendC
