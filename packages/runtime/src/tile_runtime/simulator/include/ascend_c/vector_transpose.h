// Transpose (16 x 16 elements of 16 bits; NCHW <-> NHWC) and TransDataTo5HD (16 blocks by lists of addresses), on UB.
#pragma once

#include "tensor.h"

namespace AscendC {

constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;

struct TransDataTo5HDParams {
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst_high, bool src_high, uint32_t repeats, uint32_t dst_repeat, uint32_t src_repeat)
        : dstHighHalf(dst_high),
          srcHighHalf(src_high),
          repeatTimes(repeats),
          dstRepStride(dst_repeat),
          srcRepStride(src_repeat)
    {
    }

    bool dstHighHalf = false;  // 8-bit types: which half of the destination blocks is written
    bool srcHighHalf = false;
    uint32_t repeatTimes = 1;
    uint32_t dstRepStride = 0;
    uint32_t srcRepStride = 0;
};

enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW,
};

struct TransposeParamsExt {
    TransposeParamsExt() = default;
    TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type)
    {
    }

    uint16_t nSize = 0;
    uint16_t cSize = 0;
    uint16_t hSize = 0;
    uint16_t wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
};

}  // namespace AscendC

namespace tile_simulator {

void vector_transpose(LocalOperand dst, LocalOperand src, Use use);
void vector_transpose_images(LocalOperand dst, LocalOperand src, LocalOperand temporary, uint32_t temporary_bytes,
    const AscendC::TransposeParamsExt& shape, Use use);
void vector_transpose_lists(const LocalOperand* dst, const LocalOperand* src, DataType type,
    const AscendC::TransDataTo5HDParams& parameters, Use use);
// The same with host addresses of UB, as LocalTensor::GetPhyAddr gives them.
void vector_transpose_addresses(const uint64_t* dst, const uint64_t* src, DataType type,
    const AscendC::TransDataTo5HDParams& parameters, Use use);
void vector_transpose_address_tensors(LocalOperand dst, LocalOperand src, DataType type,
    const AscendC::TransDataTo5HDParams& parameters, Use use);

template <class T>
constexpr bool transposable_lists =
    is_one_of<T, int8_t, uint8_t, int16_t, uint16_t, half, int32_t, uint32_t, float>;

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, Where at = Where::here())
{
    static_assert(tile_simulator::is_one_of<T, int16_t, uint16_t, half>, "Transpose: int16, uint16 and half only");
    tile_simulator::vector_transpose(dst.operand(), src.operand(), {"Transpose", at});
}
template <class T>
inline void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<uint8_t>& sharedTmpBuffer,
    const TransposeParamsExt& transposeParams, Where at = Where::here())
{
    static_assert(tile_simulator::transposable_lists<T>, "Transpose: 8-, 16- and 32-bit types but bfloat16 only");
    tile_simulator::vector_transpose_images(dst.operand(), src.operand(), sharedTmpBuffer.operand(),
        sharedTmpBuffer.GetLength(), transposeParams, {"Transpose", at});
}

template <class T>
inline void TransDataTo5HD(const LocalTensor<T> (&dstList)[NCHW_CONV_ADDR_LIST_SIZE],
    const LocalTensor<T> (&srcList)[NCHW_CONV_ADDR_LIST_SIZE], const TransDataTo5HDParams& nchwconvParams,
    Where at = Where::here())
{
    static_assert(tile_simulator::transposable_lists<T>, "TransDataTo5HD: 8-, 16- and 32-bit types but bfloat16 only");
    tile_simulator::LocalOperand dst[NCHW_CONV_ADDR_LIST_SIZE];
    tile_simulator::LocalOperand src[NCHW_CONV_ADDR_LIST_SIZE];
    for (int32_t i = 0; i < NCHW_CONV_ADDR_LIST_SIZE; ++i) {
        dst[i] = dstList[i].operand();
        src[i] = srcList[i].operand();
    }
    tile_simulator::vector_transpose_lists(
        dst, src, tile_simulator::type_code<T>::value, nchwconvParams, {"TransDataTo5HD", at});
}
template <class T>
inline void TransDataTo5HD(uint64_t dstList[NCHW_CONV_ADDR_LIST_SIZE], uint64_t srcList[NCHW_CONV_ADDR_LIST_SIZE],
    const TransDataTo5HDParams& nchwconvParams, Where at = Where::here())
{
    static_assert(tile_simulator::transposable_lists<T>, "TransDataTo5HD: 8-, 16- and 32-bit types but bfloat16 only");
    tile_simulator::vector_transpose_addresses(
        dstList, srcList, tile_simulator::type_code<T>::value, nchwconvParams, {"TransDataTo5HD", at});
}
template <class T>
inline void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
    const TransDataTo5HDParams& nchwconvParams, Where at = Where::here())
{
    static_assert(tile_simulator::transposable_lists<T>, "TransDataTo5HD: 8-, 16- and 32-bit types but bfloat16 only");
    tile_simulator::vector_transpose_address_tensors(
        dst.operand(), src.operand(), tile_simulator::type_code<T>::value, nchwconvParams, {"TransDataTo5HD", at});
}

}  // namespace AscendC
