// Vector operations with one source and a scalar: dst = op(src, scalar), on UB, PIPE_V.
// Two forms each, see vector_binary.h.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

enum class ScalarOp : uint8_t { adds, muls, maxs, mins, leaky_relu, shift_left, shift_right, shift_right_round, axpy };

void vector_scalar(ScalarOp op, LocalOperand dst, LocalOperand src, Scalar scalar, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use);

template <ScalarOp op, class... Allowed, class T>
inline void with_scalar(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, T scalar,
    const VectorForm& form, const AscendC::UnaryRepeatParams& strides, Use use)
{
    static_assert(is_one_of<T, Allowed...>, "this vector operation does not exist for this data type on 910B");
    vector_scalar(op, dst.operand(), src.operand(), scalar_of(scalar), form, strides, use);
}

}  // namespace tile_simulator

namespace AscendC {

// dst = src + scalar
template <class T, bool isSetMask = true>
inline void Adds(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::adds, half, float, int16_t, int32_t>(dst, src, scalar,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Adds", at});
}
template <class T, bool isSetMask = true>
inline void Adds(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::adds, half, float, int16_t, int32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"Adds", at});
}

// dst = src * scalar
template <class T, bool isSetMask = true>
inline void Muls(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::muls, half, float, int16_t, int32_t>(dst, src, scalar,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Muls", at});
}
template <class T, bool isSetMask = true>
inline void Muls(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::muls, half, float, int16_t, int32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"Muls", at});
}

// dst = max(src, scalar)
template <class T, bool isSetMask = true>
inline void Maxs(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::maxs, half, float, int16_t, int32_t>(dst, src, scalar,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Maxs", at});
}
template <class T, bool isSetMask = true>
inline void Maxs(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::maxs, half, float, int16_t, int32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"Maxs", at});
}

// dst = min(src, scalar)
template <class T, bool isSetMask = true>
inline void Mins(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::mins, half, float, int16_t, int32_t>(dst, src, scalar,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Mins", at});
}
template <class T, bool isSetMask = true>
inline void Mins(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::mins, half, float, int16_t, int32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"Mins", at});
}

// dst = src >= 0 ? src : src * scalar
template <class T, bool isSetMask = true>
inline void LeakyRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::leaky_relu, half, float>(dst, src, scalar,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"LeakyRelu", at});
}
template <class T, bool isSetMask = true>
inline void LeakyRelu(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::leaky_relu, half, float>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"LeakyRelu", at});
}

// dst = src << scalar
template <class T, bool isSetMask = true>
inline void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::shift_left, int16_t, uint16_t, int32_t, uint32_t>(dst, src,
        scalar, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"ShiftLeft", at});
}
template <class T, bool isSetMask = true>
inline void ShiftLeft(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::shift_left, int16_t, uint16_t, int32_t, uint32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"ShiftLeft", at});
}

// dst = src >> scalar, arithmetic for signed types; roundEn adds the last bit shifted out (signed types)
template <class T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, bool roundEn = false, Where at = Where::here())
{
    const auto form = tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes);
    static_assert(
        tile_simulator::is_one_of<T, int16_t, uint16_t, int32_t, uint32_t>, "ShiftRight: 16- and 32-bit integers only");
    tile_simulator::vector_scalar(
        roundEn ? tile_simulator::ScalarOp::shift_right_round : tile_simulator::ScalarOp::shift_right, dst.operand(),
        src.operand(), tile_simulator::scalar_of(scalar), form, repeatParams, {"ShiftRight", at});
}
template <class T, bool isSetMask = true>
inline void ShiftRight(const LocalTensor<T>& dst, const LocalTensor<T>& src, const T& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::with_scalar<tile_simulator::ScalarOp::shift_right, int16_t, uint16_t, int32_t, uint32_t>(
        dst, src, scalar, tile_simulator::VectorForm::of_count(isSetMask, count), {}, {"ShiftRight", at});
}

// dst += src * scalar; the source may be half with a float destination
template <class T, class U, bool isSetMask = true>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::vector_scalar(tile_simulator::ScalarOp::axpy, dst.operand(), src.operand(),
        tile_simulator::scalar_of(scalar), tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes),
        repeatParams, {"Axpy", at});
}
template <class T, class U>
inline void Axpy(const LocalTensor<T>& dst, const LocalTensor<U>& src, const U& scalar, const int32_t& count,
    Where at = Where::here())
{
    tile_simulator::vector_scalar(tile_simulator::ScalarOp::axpy, dst.operand(), src.operand(),
        tile_simulator::scalar_of(scalar), tile_simulator::VectorForm::of_count(count), {}, {"Axpy", at});
}

}  // namespace AscendC
