// Vector operations with one source: dst = op(src), on UB, PIPE_V. Two forms each, see vector_binary.h.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"

namespace tile_simulator {

enum class UnaryOp : uint8_t { relu, abs, exp, ln, sqrt, rsqrt, reciprocal, bit_not };

void vector_unary(UnaryOp op, LocalOperand dst, LocalOperand src, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use);

template <UnaryOp op, class... Allowed, class T>
inline void unary(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& src, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use)
{
    static_assert(is_one_of<T, Allowed...>, "this vector operation does not exist for this data type on 910B");
    vector_unary(op, dst.operand(), src.operand(), form, strides, use);
}

}  // namespace tile_simulator

namespace AscendC {

// dst = max(src, 0)
template <class T, bool isSetMask = true>
inline void Relu(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::relu, half, float, int32_t>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Relu", at});
}
template <class T>
inline void Relu(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::relu, half, float, int32_t>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Relu", at});
}

// dst = |src|
template <class T, bool isSetMask = true>
inline void Abs(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::abs, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Abs", at});
}
template <class T>
inline void Abs(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::abs, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Abs", at});
}

// dst = e^src
template <class T, bool isSetMask = true>
inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::exp, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Exp", at});
}
template <class T>
inline void Exp(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::exp, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Exp", at});
}

// dst = natural logarithm of src
template <class T, bool isSetMask = true>
inline void Ln(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::ln, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Ln", at});
}
template <class T>
inline void Ln(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::ln, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Ln", at});
}

// dst = square root of src
template <class T, bool isSetMask = true>
inline void Sqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::sqrt, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Sqrt", at});
}
template <class T>
inline void Sqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::sqrt, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Sqrt", at});
}

// dst = 1 / sqrt(src); approximate on the device, rounded once here
template <class T, bool isSetMask = true>
inline void Rsqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::rsqrt, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Rsqrt", at});
}
template <class T>
inline void Rsqrt(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::rsqrt, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Rsqrt", at});
}

// dst = 1 / src; approximate on the device, rounded once here
template <class T, bool isSetMask = true>
inline void Reciprocal(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask,
    int32_t repeatTimes, const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::reciprocal, half, float>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Reciprocal", at});
}
template <class T>
inline void Reciprocal(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::reciprocal, half, float>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Reciprocal", at});
}

// dst = ~src
template <class T, bool isSetMask = true>
inline void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, tile_simulator::Mask mask, int32_t repeatTimes,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::bit_not, int16_t, uint16_t>(
        dst, src, tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTimes), repeatParams, {"Not", at});
}
template <class T>
inline void Not(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t& count, Where at = Where::here())
{
    tile_simulator::unary<tile_simulator::UnaryOp::bit_not, int16_t, uint16_t>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"Not", at});
}

}  // namespace AscendC
