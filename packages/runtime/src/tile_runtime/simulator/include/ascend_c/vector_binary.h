// Vector operations with two sources: dst = op(src0, src1), on UB, PIPE_V.
//
// Every operation has two forms: the first `count` elements; of every repeat the lanes of `mask`, which is their number
// or an array with a bit for each. isSetMask = false leaves the mask register as SetVectorMask left it.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

enum class BinaryOp : uint8_t {
    add,
    sub,
    mul,
    div,
    max,
    min,
    bit_and,
    bit_or,
    add_relu,
    sub_relu,
    fused_mul_add,
    fused_mul_add_relu,
    mul_add_dst,
};

void vector_binary(BinaryOp op, LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& strides, Use use);

template <BinaryOp op, class... Allowed, class T>
inline void binary(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src0,
    const AscendC::LocalTensor<T>& src1, const VectorForm& form, const AscendC::BinaryRepeatParams& strides, Use use)
{
    static_assert(is_one_of<T, Allowed...>, "this vector operation does not exist for this data type on 910B");
    vector_binary(op, dst.operand(), src0.operand(), src1.operand(), form, strides, use);
}

}  // namespace tile_simulator

namespace AscendC {

// dst = src0 + src1
template <class T, bool isSetMask = true>
inline void Add(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::add, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Add", at});
}
template <class T>
inline void Add(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::add, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Add", at});
}

// dst = src0 - src1
template <class T, bool isSetMask = true>
inline void Sub(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::sub, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Sub", at});
}
template <class T>
inline void Sub(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::sub, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Sub", at});
}

// dst = src0 * src1
template <class T, bool isSetMask = true>
inline void Mul(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::mul, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Mul", at});
}
template <class T>
inline void Mul(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::mul, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Mul", at});
}

// dst = src0 / src1
template <class T, bool isSetMask = true>
inline void Div(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::div, half, float>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Div", at});
}
template <class T>
inline void Div(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::div, half, float>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Div", at});
}

// dst = max(src0, src1); NaN wins
template <class T, bool isSetMask = true>
inline void Max(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::max, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Max", at});
}
template <class T>
inline void Max(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::max, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Max", at});
}

// dst = min(src0, src1); NaN wins
template <class T, bool isSetMask = true>
inline void Min(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::min, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Min", at});
}
template <class T>
inline void Min(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::min, half, float, int16_t, int32_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Min", at});
}

// dst = src0 & src1
template <class T, bool isSetMask = true>
inline void And(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::bit_and, int16_t, uint16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"And", at});
}
template <class T>
inline void And(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::bit_and, int16_t, uint16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"And", at});
}

// dst = src0 | src1
template <class T, bool isSetMask = true>
inline void Or(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::bit_or, int16_t, uint16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Or", at});
}
template <class T>
inline void Or(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::bit_or, int16_t, uint16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"Or", at});
}

// dst = max(src0 + src1, 0)
template <class T, bool isSetMask = true>
inline void AddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::add_relu, half, float, int16_t>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"AddRelu", at});
}
template <class T>
inline void AddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::add_relu, half, float, int16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"AddRelu", at});
}

// dst = max(src0 - src1, 0)
template <class T, bool isSetMask = true>
inline void SubRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::sub_relu, half, float, int16_t>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"SubRelu", at});
}
template <class T>
inline void SubRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::sub_relu, half, float, int16_t>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"SubRelu", at});
}

// dst = src0 * dst + src1
template <class T, bool isSetMask = true>
inline void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::fused_mul_add, half, float>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"FusedMulAdd", at});
}
template <class T>
inline void FusedMulAdd(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::fused_mul_add, half, float>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"FusedMulAdd", at});
}

// dst = max(src0 * dst + src1, 0)
template <class T, bool isSetMask = true>
inline void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::fused_mul_add_relu, half, float>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"FusedMulAddRelu", at});
}
template <class T>
inline void FusedMulAddRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
    const int32_t& count, Where at = Where::here())
{
    tile_simulator::binary<tile_simulator::BinaryOp::fused_mul_add_relu, half, float>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"FusedMulAddRelu", at});
}

// dst += src0 * src1; the sources may be half with a float destination
template <class T, class U, bool isSetMask = true>
inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    tile_simulator::Mask mask, int32_t repeatTimes, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::vector_binary(tile_simulator::BinaryOp::mul_add_dst, dst.operand(), src0.operand(), src1.operand(),
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"MulAddDst", at});
}
template <class T, class U>
inline void MulAddDst(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const int32_t& count, Where at = Where::here())
{
    tile_simulator::vector_binary(tile_simulator::BinaryOp::mul_add_dst, dst.operand(), src0.operand(), src1.operand(),
        tile_simulator::VectorForm::of_count(count), {}, {"MulAddDst", at});
}

}  // namespace AscendC
