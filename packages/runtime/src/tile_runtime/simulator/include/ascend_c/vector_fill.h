// Duplicate (scalar fill), Copy (masked UB to UB) and Brcb (one element to one block), on UB, PIPE_V.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

void vector_duplicate(LocalOperand dst, Scalar scalar, const VectorForm& form, uint32_t dst_block_stride,
    uint32_t dst_repeat_stride, Use use);
void vector_copy(
    LocalOperand dst, LocalOperand src, const VectorForm& form, const AscendC::CopyRepeatParams& strides, Use use);
// Of the last elements, those behind the first `wanted` may hold nothing; 0: all of them are wanted.
void vector_brcb(LocalOperand dst, LocalOperand src, int64_t repeats, const AscendC::BrcbRepeatParams& strides, Use use,
    uint64_t wanted = 0);

template <class T>
constexpr bool fillable = is_one_of<T, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>;

}  // namespace tile_simulator

namespace AscendC {

template <class T, bool isSetMask = true>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalar, tile_simulator::Mask mask, int32_t repeatTimes,
    uint32_t dstBlockStride, uint32_t dstRepeatStride, Where at = Where::here())
{
    static_assert(tile_simulator::fillable<T>, "Duplicate: 16- and 32-bit types only on 910B");
    tile_simulator::vector_duplicate(dst.operand(), tile_simulator::scalar_of(scalar),
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), dstBlockStride, dstRepeatStride,
        {"Duplicate", at});
}
template <class T>
inline void Duplicate(const LocalTensor<T>& dst, const T& scalar, const int32_t& count, Where at = Where::here())
{
    static_assert(tile_simulator::fillable<T>, "Duplicate: 16- and 32-bit types only on 910B");
    tile_simulator::vector_duplicate(dst.operand(), tile_simulator::scalar_of(scalar),
        tile_simulator::VectorForm::of_count(count), 1, 8, {"Duplicate", at});
}

template <class T, bool isSetMask = true>
inline void Copy(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const CopyRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::fillable<T>, "Copy: 16- and 32-bit types only on 910B");
    tile_simulator::vector_copy(dst.operand(), src.operand(),
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Copy", at});
}

// Every repeat takes 8 elements and spreads each over one 32 B block.
template <class T>
inline void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src, int32_t repeatTimes,
    const BrcbRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::fillable<T>, "Brcb: 16- and 32-bit types only on 910B");
    tile_simulator::vector_brcb(dst.operand(), src.operand(), repeatTimes, repeatParams, {"Brcb", at});
}

}  // namespace AscendC
