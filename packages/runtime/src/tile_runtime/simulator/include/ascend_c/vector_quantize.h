// Vector operations that also convert: AddReluCast, SubReluCast, MulCast, CastDeq, AddDeqRelu, and the scale register
// (SetDeqScale) of those that quantise. On UB, PIPE_V; forms as in vector_binary.h.
#pragma once

#include "repeat_parameters.h"
#include "tensor.h"
#include "vector_cast.h"

namespace AscendC {

constexpr int32_t VDEQ_TENSOR_SIZE = 16;

// Sixteen groups of parameters, one for each element of a block.
struct VdeqInfo {
    VdeqInfo() = default;
    VdeqInfo(const float scale[VDEQ_TENSOR_SIZE], const int16_t offset[VDEQ_TENSOR_SIZE],
        const bool is_signed[VDEQ_TENSOR_SIZE])
    {
        for (int32_t i = 0; i < VDEQ_TENSOR_SIZE; ++i) {
            vdeqScale[i] = scale[i];
            vdeqOffset[i] = offset[i];
            vdeqSignMode[i] = is_signed[i];
        }
    }

    float vdeqScale[VDEQ_TENSOR_SIZE] = {};
    int16_t vdeqOffset[VDEQ_TENSOR_SIZE] = {};
    bool vdeqSignMode[VDEQ_TENSOR_SIZE] = {};
};

}  // namespace AscendC

namespace tile_simulator {

enum class ConvertingOp : uint8_t { add_relu, sub_relu, mul };

void vector_converting(ConvertingOp op, LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& strides, Use use);
void add_dequantize_relu(LocalOperand dst, LocalOperand src0, LocalOperand src1, const VectorForm& form,
    const AscendC::BinaryRepeatParams& strides, Use use);

// int16 to 8 bits: to the high or the low half of the destination blocks, with one scale or a table of them.
struct QuantizeTarget {
    bool table;
    bool high;
};
void vector_quantize(LocalOperand dst, LocalOperand src, QuantizeTarget target, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use);

void set_half_scale(float scale, Use use);
void set_quantization(float scale, int32_t offset, bool is_signed, Use use);
void set_quantization_table(LocalOperand table, const AscendC::VdeqInfo& info, Use use);

template <ConvertingOp op, class T, class U>
constexpr bool converts =
    op == ConvertingOp::mul
        ? std::is_same_v<U, half> && is_one_of<T, int8_t, uint8_t>
        : (is_one_of<U, half, int16_t> && std::is_same_v<T, int8_t>) ||
              (std::is_same_v<U, float> && std::is_same_v<T, half>);

template <ConvertingOp op, class T, class U>
inline void converting(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src0,
    const AscendC::LocalTensor<U>& src1, const VectorForm& form, const AscendC::BinaryRepeatParams& strides, Use use)
{
    static_assert(converts<op, T, U>, "this conversion does not exist on 910B");
    vector_converting(op, dst.operand(), src0.operand(), src1.operand(), form, strides, use);
}

template <bool table, bool high, class T, class U>
inline void quantize(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& src, const VectorForm& form,
    const AscendC::UnaryRepeatParams& strides, Use use)
{
    static_assert((std::is_same_v<U, int32_t> && std::is_same_v<T, half>) ||
                      (std::is_same_v<U, int16_t> && is_one_of<T, int8_t, uint8_t>),
        "CastDeq: int32 to half, int16 to int8 or uint8 only");
    if constexpr (std::is_same_v<U, int32_t>) {
        vector_cast(dst.operand(), src.operand(), AscendC::RoundMode::CAST_NONE, form, strides, use);
    } else {
        vector_quantize(dst.operand(), src.operand(), {table, high}, form, strides, use);
    }
}

}  // namespace tile_simulator

namespace AscendC {

// dst = cast(max(src0 + src1, 0))
template <class T, class U, bool isSetMask = true>
inline void AddReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask, int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::add_relu>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"AddReluCast", at});
}
template <class T, class U, bool isSetMask = true>
inline void AddReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::add_relu>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"AddReluCast", at});
}
template <class T, class U>
inline void AddReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const uint32_t count, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::add_relu>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"AddReluCast", at});
}

// dst = cast(max(src0 - src1, 0))
template <class T, class U, bool isSetMask = true>
inline void SubReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask, int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::sub_relu>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"SubReluCast", at});
}
template <class T, class U, bool isSetMask = true>
inline void SubReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::sub_relu>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"SubReluCast", at});
}
template <class T, class U>
inline void SubReluCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const uint32_t count, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::sub_relu>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"SubReluCast", at});
}

// dst = cast(src0 * src1)
template <class T, class U, bool isSetMask = true>
inline void MulCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,
    int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::mul>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"MulCast", at});
}
template <class T, class U, bool isSetMask = true>
inline void MulCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask[],
    int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::mul>(dst, src0, src1,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"MulCast", at});
}
template <class T, class U>
inline void MulCast(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint32_t count,
    Where at = Where::here())
{
    tile_simulator::converting<tile_simulator::ConvertingOp::mul>(
        dst, src0, src1, tile_simulator::VectorForm::of_count(count), {}, {"MulCast", at});
}

// dst = max(half((src0 + src1) * scale), 0); the sources are used as temporary space, and 8 KB at the end of UB too
template <class T, class U, bool isSetMask = true>
inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1, uint64_t mask,
    int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(std::is_same_v<T, half> && std::is_same_v<U, int32_t>, "AddDeqRelu: int32 to half only");
    tile_simulator::add_dequantize_relu(dst.operand(), src0.operand(), src1.operand(),
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"AddDeqRelu", at});
}
template <class T, class U, bool isSetMask = true>
inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    static_assert(std::is_same_v<T, half> && std::is_same_v<U, int32_t>, "AddDeqRelu: int32 to half only");
    tile_simulator::add_dequantize_relu(dst.operand(), src0.operand(), src1.operand(),
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams, {"AddDeqRelu", at});
}
template <bool isSetMask>
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
    uint64_t mask, int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}
template <bool isSetMask>
inline void AddDeqRelu(const LocalTensor<half>& dst, const LocalTensor<int32_t>& src0, const LocalTensor<int32_t>& src1,
    uint64_t mask[], int32_t repeatTime, const BinaryRepeatParams& repeatParams, Where at = Where::here())
{
    AddDeqRelu<half, int32_t, isSetMask>(dst, src0, src1, mask, repeatTime, repeatParams, at);
}
template <class T, class U>
inline void AddDeqRelu(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
    const int32_t& count, Where at = Where::here())
{
    static_assert(std::is_same_v<T, half> && std::is_same_v<U, int32_t>, "AddDeqRelu: int32 to half only");
    tile_simulator::add_dequantize_relu(dst.operand(), src0.operand(), src1.operand(),
        tile_simulator::VectorForm::of_count(count), {}, {"AddDeqRelu", at});
}

// dst = cast(src * scale + offset), as SetDeqScale says
template <class T, class U, bool isSetMask = true, bool isVecDeq = true, bool halfBlock = true>
inline void CastDeq(const LocalTensor<T>& dst, const LocalTensor<U>& src, tile_simulator::Mask mask, int32_t repeatTime,
    const UnaryRepeatParams& repeatParams, Where at = Where::here())
{
    tile_simulator::quantize<isVecDeq, halfBlock>(dst, src,
        tile_simulator::VectorForm::of_mask(isSetMask, mask, repeatTime), repeatParams,
        {"CastDeq", at});
}
template <class T, class U, bool isVecDeq = true, bool halfBlock = true>
inline void CastDeq(
    const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::quantize<isVecDeq, halfBlock>(
        dst, src, tile_simulator::VectorForm::of_count(count), {}, {"CastDeq", at});
}

// Scale of int32 to half: Cast, CastDeq, AddDeqRelu.
inline void SetDeqScale(half scale, Where at = Where::here())
{
    tile_simulator::set_half_scale(scale, {"SetDeqScale", at});
}
// One scale (of which 1 + 8 + 10 bits count), offset (9 bits) and sign for int16 to 8 bits.
inline void SetDeqScale(float scale, int16_t offset, bool signMode, Where at = Where::here())
{
    tile_simulator::set_quantization(scale, offset, signMode, {"SetDeqScale", at});
}
// The same for each of the 16 elements of a block, kept in 128 bytes of UB.
template <class T>
inline void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo, Where at = Where::here())
{
    static_assert(std::is_same_v<T, uint64_t>, "SetDeqScale: the table is a uint64 tensor");
    tile_simulator::set_quantization_table(vdeq.operand(), vdeqInfo, {"SetDeqScale", at});
}

}  // namespace AscendC
