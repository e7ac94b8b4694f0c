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

// NZ matrices of 16-wide columns in UB to rows in GM.
struct Nz2NdParamsFull {
    Nz2NdParamsFull() = default;
    Nz2NdParamsFull(uint32_t nd, uint32_t n, uint32_t d, uint32_t src_matrix, uint32_t src_n, uint32_t dst_row,
        uint32_t dst_matrix)
        : ndNum(nd),
          nValue(n),
          dValue(d),
          srcNdMatrixStride(src_matrix),
          srcNStride(src_n),
          dstDStride(dst_row),
          dstNdMatrixStride(dst_matrix)
    {
    }

    uint32_t ndNum = 1;
    uint32_t nValue = 0;
    uint32_t dValue = 0;
    uint32_t srcNdMatrixStride = 1;  // 256 elements
    uint32_t srcNStride = 0;         // 16 elements
    uint32_t dstDStride = 0;
    uint32_t dstNdMatrixStride = 1;
};

// One dimension of a sliced copy: positions startIndex..endIndex in pieces of burstLen (32 B, first dimension) or 1,
// `stride` positions apart (end to start), of a dimension of shapeValue positions.
struct SliceInfo {
    SliceInfo() = default;
    SliceInfo(uint32_t start, uint32_t end, uint32_t gap, uint32_t length, uint32_t shape = 0)
        : startIndex(start), endIndex(end), stride(gap), burstLen(length), shapeValue(shape)
    {
    }

    uint32_t startIndex = 0;
    uint32_t endIndex = ONE_BLK_SIZE - 1;
    uint32_t stride = 0;
    uint32_t burstLen = ONE_BLK_SIZE;
    uint32_t shapeValue = 0;
};

enum class BlockMode : uint8_t {
    BLOCK_MODE_NORMAL,
    BLOCK_MODE_MATRIX,
    BLOCK_MODE_VECTOR,
    BLOCK_MODE_SMALL_CHANNEL,
    BLOCK_MODE_DEPTHWISE,
};
enum class DeqScale : uint8_t { DEQ_NONE, DEQ, VDEQ, DEQ8, VDEQ8, DEQ16, VDEQ16 };
enum class pad_t : uint8_t { PAD_NONE, PAD_MODE1, PAD_MODE2, PAD_MODE3, PAD_MODE4, PAD_MODE5 };

// What older chips do on the way; here every field must keep its default.
struct DataCopyEnhancedParams {
    DataCopyEnhancedParams() = default;
    DataCopyEnhancedParams(BlockMode mode, DeqScale scale, uint64_t value, uint8_t sid, bool relu, pad_t pad,
        uint64_t pad_value)
        : blockMode(mode),
          deqScale(scale),
          deqValue(value),
          sidStoreMode(sid),
          isRelu(relu),
          padMode(pad),
          padValue(pad_value)
    {
    }

    BlockMode blockMode = BlockMode::BLOCK_MODE_NORMAL;
    DeqScale deqScale = DeqScale::DEQ_NONE;
    uint64_t deqValue = 0;
    uint8_t sidStoreMode = 0;
    bool isRelu = false;
    pad_t padMode = pad_t::PAD_NONE;
    uint64_t padValue = 0;
    uint64_t deqTensorAddr = 0;
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

void copy_nz_to_nd(GlobalOperand dst, LocalOperand src, const AscendC::Nz2NdParamsFull& params, Use use);
void copy_slices_in(LocalOperand dst, GlobalOperand src, const AscendC::SliceInfo* dst_slices,
    const AscendC::SliceInfo* src_slices, uint32_t dimensions, Use use);
void copy_slices_out(GlobalOperand dst, LocalOperand src, const AscendC::SliceInfo* dst_slices,
    const AscendC::SliceInfo* src_slices, uint32_t dimensions, Use use);
void set_copy_padding(uint64_t bits);
void require_plain_copy(const AscendC::DataCopyEnhancedParams& params, Use use);
[[noreturn]] void raise_ub_to_l1(Use use);

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
// UB to UB, L1 to BT (half to float too), L1 to FB.
template <class T, class S>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<S>& src, const DataCopyParams& params, Where at = Where::here())
{
    tile_simulator::copy_local(dst.operand(), src.operand(), params, {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_in_count(dst.operand(), src.operand(), tile_simulator::bytes_of<T>(count), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_out_count(dst.operand(), src.operand(), tile_simulator::bytes_of<T>(count), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t count, Where at = Where::here())
{
    tile_simulator::copy_local_count(dst.operand(), src.operand(), tile_simulator::bytes_of<T>(count), {"DataCopy", at});
}
template <class T>
inline void DataCopy(
    const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params, Where at = Where::here())
{
    tile_simulator::copy_nd_to_nz(dst.operand(), src.operand(), params, {"DataCopy(ND2NZ)", at});
}

template <class T>
inline void DataCopy(
    const LocalTensor<T>&, const LocalTensor<T>&, const Nd2NzParams&, Where at = Where::here())
{
    tile_simulator::raise_ub_to_l1({"DataCopy(ND2NZ)", at});
}
template <class T>
inline void DataCopy(
    const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& params, Where at = Where::here())
{
    tile_simulator::copy_nz_to_nd(dst.operand(), src.operand(), params, {"DataCopy(NZ2ND)", at});
}
template <class T>
inline void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dst_slices[],
    const SliceInfo src_slices[], const uint32_t dimensions = 1, Where at = Where::here())
{
    tile_simulator::copy_slices_in(
        dst.operand(), src.operand(), dst_slices, src_slices, dimensions, {"DataCopy(slices)", at});
}
template <class T>
inline void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dst_slices[],
    const SliceInfo src_slices[], const uint32_t dimensions = 1, Where at = Where::here())
{
    tile_simulator::copy_slices_out(
        dst.operand(), src.operand(), dst_slices, src_slices, dimensions, {"DataCopy(slices)", at});
}
template <class D, class S>
inline void DataCopy(const D& dst, const S& src, const DataCopyParams& params, const DataCopyEnhancedParams& enhanced,
    Where at = Where::here())
{
    tile_simulator::require_plain_copy(enhanced, {"DataCopy", at});
    DataCopy(dst, src, params, at);
}

// What DataCopyPad with isPad = false fills its padding with.
template <class T, TPosition position = TPosition::MAX>
inline void SetPadValue(T value)
{
    static_assert(position == TPosition::MAX || position == TPosition::VECIN || position == TPosition::VECOUT,
        "SetPadValue: VECIN or VECOUT only");
    tile_simulator::set_copy_padding(tile_simulator::scalar_of(value).bits);
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

template <class T, class P>
inline void DataCopyPad(
    const LocalTensor<T>&, const LocalTensor<T>&, const P&, const Nd2NzParams&, Where at = Where::here())
{
    tile_simulator::raise_ub_to_l1({"DataCopyPad(ND2NZ)", at});
}

}  // namespace AscendC
