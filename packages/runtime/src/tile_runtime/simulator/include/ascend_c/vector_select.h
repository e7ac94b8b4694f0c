// Compare (to packed bits) and Select (by packed bits), on UB, PIPE_V. half and float; int32 for equality only.
// isSetMask is reserved in these APIs: Compare to a tensor ignores the mask, Select always sets it.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

// The right side of Compare and Select: a tensor, or a scalar when `tensor` is null.
struct TensorOrScalar {
    const LocalOperand* tensor;
    Scalar scalar;
};

void vector_compare(LocalOperand dst, LocalOperand src0, const TensorOrScalar& src1, AscendC::CMPMODE mode,
    const VectorForm& form, const AscendC::BinaryRepeatParams& strides, Use use);
void vector_compare_to_register(LocalOperand src0, LocalOperand src1, AscendC::CMPMODE mode, const VectorForm& form,
    const AscendC::BinaryRepeatParams& strides, Use use);
void vector_select(LocalOperand dst, LocalOperand bits, LocalOperand src0, const TensorOrScalar& src1,
    AscendC::SELMODE mode, const VectorForm& form, const AscendC::BinaryRepeatParams& strides, Use use);
// Without a mask parameter: lanes as the mask register stands; bits, their address, or the scalar as the compare mask
// register stands.
void vector_select_register(LocalOperand dst, LocalOperand src0, LocalOperand src1, bool address, int64_t repeats,
    const AscendC::BinaryRepeatParams& strides, Use use);
void vector_select_register_scalar(LocalOperand dst, LocalOperand bits, LocalOperand src0, int64_t repeats,
    const AscendC::BinaryRepeatParams& strides, Use use);
void move_compare_mask(LocalOperand tensor, bool to_register, Use use);

template <class T>
constexpr bool comparable = is_one_of<T, half, float, int32_t>;

}  // namespace tile_simulator

namespace AscendC {

template <class T, class U, bool isSetMask = true>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::comparable<T>, "Compare: half, float or (EQ only) int32");
    const tile_simulator::LocalOperand right = src1.operand();
    tile_simulator::vector_compare(dst.operand(), src0.operand(), {&right, {}}, cmpMode,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Compare", at});
}
template <class T, class U>
inline void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
    uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::comparable<T>, "Compare: half, float or (EQ only) int32");
    const tile_simulator::LocalOperand right = src1.operand();
    tile_simulator::vector_compare(dst.operand(), src0.operand(), {&right, {}}, cmpMode,
        tile_simulator::VectorForm::of_count(count), {}, {"Compare", at});
}
// One repeat, into the compare mask register that Select mode 0 reads.
template <class T, bool isSetMask = true>
inline void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, tile_simulator::Mask mask,
    const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::vector_compare_to_register(src0.operand(), src1.operand(), cmpMode,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, 1), repeatParams, {"Compare", at});
}

template <class T, class U, bool isSetMask = true>
inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE cmpMode,
    tile_simulator::Mask mask, int32_t repeatTimes, const UnaryRepeatParams& p, Where at = Where::here())
{
    static_assert(tile_simulator::comparable<T>, "CompareScalar: half, float or (EQ only) int32");
    tile_simulator::vector_compare(dst.operand(), src0.operand(), {nullptr, tile_simulator::scalar_of(src1)}, cmpMode,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes),
        {p.dstBlkStride, p.srcBlkStride, 1, p.dstRepStride, p.srcRepStride, 8}, {"CompareScalar", at});
}
template <class T, class U>
inline void CompareScalar(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const T src1, CMPMODE cmpMode,
    uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::comparable<T>, "CompareScalar: half, float or (EQ only) int32");
    tile_simulator::vector_compare(dst.operand(), src0.operand(), {nullptr, tile_simulator::scalar_of(src1)}, cmpMode,
        tile_simulator::VectorForm::of_count(count), {}, {"CompareScalar", at});
}

template <class T, class U, bool isSetMask = true>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
    const LocalTensor<T>& src1, SELMODE selMode, tile_simulator::Mask mask, int32_t repeatTimes,
    const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    const tile_simulator::LocalOperand right = src1.operand();
    tile_simulator::vector_select(dst.operand(), selMask.operand(), src0.operand(), {&right, {}}, selMode,
        tile_simulator::VectorForm::of_mask(true, mask, repeatTimes), repeatParams, {"Select", at});
}
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
    const LocalTensor<T>& src1, SELMODE selMode, uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    const tile_simulator::LocalOperand right = src1.operand();
    tile_simulator::vector_select(dst.operand(), selMask.operand(), src0.operand(), {&right, {}}, selMode,
        tile_simulator::VectorForm::of_count(count), {}, {"Select", at});
}
template <class T, class U, bool isSetMask = true>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
    SELMODE selMode, tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams,
    Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    tile_simulator::vector_select(dst.operand(), selMask.operand(), src0.operand(),
        {nullptr, tile_simulator::scalar_of(src1)}, selMode,
        tile_simulator::VectorForm::of_mask(true, mask, repeatTimes), repeatParams, {"Select", at});
}
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0, T src1,
    SELMODE selMode, uint32_t count, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    tile_simulator::vector_select(dst.operand(), selMask.operand(), src0.operand(),
        {nullptr, tile_simulator::scalar_of(src1)}, selMode, tile_simulator::VectorForm::of_count(count), {},
        {"Select", at});
}

// After SetVectorMask and SetCmpMask. Mode 0: the register's bits; mode 2: the bits at the address in the register.
template <class T, SELMODE selMode>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    static_assert(selMode != SELMODE::VSEL_TENSOR_SCALAR_MODE, "Select: the form with a scalar takes selMask");
    tile_simulator::vector_select_register(dst.operand(), src0.operand(), src1.operand(),
        selMode == SELMODE::VSEL_TENSOR_TENSOR_MODE, repeatTimes, repeatParams, {"Select", at});
}
// Mode 1 with the scalar in the register.
template <class T, class U>
inline void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
    int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, half, float>, "Select: half and float only");
    tile_simulator::vector_select_register_scalar(
        dst.operand(), selMask.operand(), src0.operand(), repeatTimes, repeatParams, {"Select", at});
}

template <class T>
inline void GetCmpMask(const LocalTensor<T>& dst, Where at = Where::here())
{
    tile_simulator::move_compare_mask(dst.operand(), false, {"GetCmpMask", at});
}
template <class T>
inline void SetCmpMask(const LocalTensor<T>& src, Where at = Where::here())
{
    tile_simulator::move_compare_mask(src.operand(), true, {"SetCmpMask", at});
}

}  // namespace AscendC
