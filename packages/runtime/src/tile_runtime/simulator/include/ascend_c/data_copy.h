// Movement between GM, L1 and UB: DataCopy (contiguous, strided, ND to NZ) and DataCopyPad (byte granular).
//
// Fields are wider than on the device, so that a value that does not fit is reported instead of cut.
#pragma once

#include "tensor.h"

namespace AscendC {

// Lengths and gaps (end to start) in 32 B blocks.
struct DataCopyParams {
    DataCopyParams() = default;
    DataCopyParams(uint32_t count, uint32_t length, uint32_t src_gap, uint32_t dst_gap)
        : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap)
    {
    }

    uint32_t blockCount = 1;
    uint32_t blockLen = 0;
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
};

// Length in bytes; gaps in bytes on the GM side and in 32 B blocks on the UB side.
struct DataCopyExtParams {
    DataCopyExtParams() = default;
    DataCopyExtParams(uint32_t count, uint32_t length, uint32_t src_gap, uint32_t dst_gap, uint32_t reserved)
        : blockCount(count), blockLen(length), srcStride(src_gap), dstStride(dst_gap), rsv(reserved)
    {
    }

    uint32_t blockCount = 1;
    uint32_t blockLen = 0;
    uint32_t srcStride = 0;
    uint32_t dstStride = 0;
    uint32_t rsv = 0;
};

struct DataCopyPadParams {
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, uint32_t left, uint32_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }

    bool isPad = false;
    uint32_t leftPadding = 0;
    uint32_t rightPadding = 0;
    uint64_t paddingValue = 0;
};

template <class T>
struct DataCopyPadExtParams {
    DataCopyPadExtParams() = default;
    DataCopyPadExtParams(bool pad, uint32_t left, uint32_t right, T value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value)
    {
    }

    bool isPad = false;
    uint32_t leftPadding = 0;
    uint32_t rightPadding = 0;
    T paddingValue = T(0);
};

// n rows of d elements; see the vendor's ND2NZ page for the units.
struct Nd2NzParams {
    Nd2NzParams() = default;
    Nd2NzParams(uint32_t nd, uint32_t n, uint32_t d, uint32_t src_matrix, uint32_t src_row, uint32_t dst_c0,
        uint32_t dst_n, uint32_t dst_matrix)
        : ndNum(nd),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(src_matrix),
          srcDValue(src_row),
          dstNzC0Stride(dst_c0),
          dstNzNStride(dst_n),
          dstNzMatrixStride(dst_matrix)
    {
    }

    uint32_t ndNum = 0;
    uint32_t nValue = 0;
    uint32_t dValue = 0;
    uint32_t srcNdMatrixStride = 0;
    uint32_t srcDValue = 0;
    uint32_t dstNzC0Stride = 0;
    uint32_t dstNzNStride = 0;
    uint32_t dstNzMatrixStride = 0;
};

}  // namespace AscendC

namespace tile_simulator {

// Left and right padding of every block, in elements, and the raw bits of the value.
struct Padding {
    bool enabled;
    uint32_t left;
    uint32_t right;
    uint64_t bits;
};

void copy_in(LocalOperand dst, GlobalOperand src, const AscendC::DataCopyParams& params, Use use);
void copy_out(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyParams& params, Use use);
void copy_local(LocalOperand dst, LocalOperand src, const AscendC::DataCopyParams& params, Use use);
void copy_in_count(LocalOperand dst, GlobalOperand src, uint64_t elements, Use use);
void copy_out_count(GlobalOperand dst, LocalOperand src, uint64_t elements, Use use);
void copy_local_count(LocalOperand dst, LocalOperand src, uint64_t elements, Use use);
void copy_in_padded(
    LocalOperand dst, GlobalOperand src, const AscendC::DataCopyExtParams& params, const Padding& padding, Use use);
void copy_out_padded(GlobalOperand dst, LocalOperand src, const AscendC::DataCopyExtParams& params, Use use);
void copy_nd_to_nz(LocalOperand dst, GlobalOperand src, const AscendC::Nd2NzParams& params, Use use);

inline AscendC::DataCopyExtParams extended(const AscendC::DataCopyParams& params)
{
    return {params.blockCount, params.blockLen, params.srcStride, params.dstStride, 0};
}

}  // namespace tile_simulator

namespace AscendC {

template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params, Where at = Where::here())
{
    tile_simulator::copy_in(dst.operand(), src.operand(), params, {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, Where at = Where::here())
{
    tile_simulator::copy_out(dst.operand(), src.operand(), params, {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, Where at = Where::here())
{
    tile_simulator::copy_local(dst.operand(), src.operand(), params, {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_in_count(dst.operand(), src.operand(), uint64_t(count) * sizeof(T), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_out_count(dst.operand(), src.operand(), uint64_t(count) * sizeof(T), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_local_count(dst.operand(), src.operand(), uint64_t(count) * sizeof(T), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params, Where at = Where::here())
{
    tile_simulator::copy_nd_to_nz(dst.operand(), src.operand(), params, {"DataCopy(ND2NZ)", at});
}

template <class T>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyExtParams& params,
    const DataCopyPadExtParams<T>& pad, Where at = Where::here())
{
    tile_simulator::copy_in_padded(dst.operand(), src.operand(), params,
        {pad.isPad, pad.leftPadding, pad.rightPadding, tile_simulator::scalar_of(pad.paddingValue).bits},
        {"DataCopyPad", at});
}
template <class T>
inline void DataCopyPad(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const DataCopyParams& params,
    const DataCopyPadParams& pad, Where at = Where::here())
{
    tile_simulator::copy_in_padded(dst.operand(), src.operand(), tile_simulator::extended(params),
        {pad.isPad, pad.leftPadding, pad.rightPadding, pad.paddingValue}, {"DataCopyPad", at});
}
template <class T>
inline void DataCopyPad(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyExtParams& params, Where at = Where::here())
{
    tile_simulator::copy_out_padded(dst.operand(), src.operand(), params, {"DataCopyPad", at});
}
template <class T>
inline void DataCopyPad(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const DataCopyParams& params, Where at = Where::here())
{
    tile_simulator::copy_out_padded(
        dst.operand(), src.operand(), tile_simulator::extended(params), {"DataCopyPad", at});
}

}  // namespace AscendC
